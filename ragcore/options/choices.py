"""What some options may be set to, with their words."""

from __future__ import annotations

from ragcore.labels import gettext_noop as _
from ragcore.options.declaration import Choice

MODE_CHOICES = (
    Choice("basic", _("basic: one search")),
    Choice("enhanced", _("enhanced: rewriting, reranking, compression")),
    Choice("agentic", _("agentic: searches until the evidence is enough")),
    Choice("ultimate", _("ultimate: all of the above")),
)
STRATEGY_CHOICES = (
    Choice("standard", _("standard: search, then answer")),
    Choice("adaptive", _("adaptive: by question type")),
    Choice("self_rag", _("self_rag: grades passages and answers, retries")),
)
SWITCH_CHOICES = (Choice("", _("depends on mode")), Choice("on", _("always")), Choice("off", _("never")))
PRESET_CHOICES = (
    Choice("", _("none")),
    Choice("accurate", _("accurate: checks itself, slowest")),
    Choice("fast", _("fast: search and answer only")),
    Choice("balanced", _("balanced: several query variants")),
    Choice("cheap", _("cheap: few tokens, light model")),
)
STYLE_CHOICES = (
    Choice("simple", _("simple: short")),
    Choice("advanced", _("advanced: detailed")),
    Choice("precise", _("precise: closely follows the sources")),
    Choice("report", _("report: conclusion first, structured")),
)
REWRITE_CHOICES = (
    Choice("auto", _("auto: by length and conversation")),
    Choice("none", _("none: as written")),
    Choice("multi", _("multi: two more phrasings")),
    Choice("hyde", _("hyde: searches with a hypothetical answer")),
    Choice("expand", _("expand: synonyms and terms")),
    Choice("decompose", _("decompose: sub-questions")),
    Choice("step_back", _("step_back: a more general question")),
    Choice("variants", _("variants: alternative names of terms")),
    Choice("simplify", _("simplify: without filler words")),
    Choice("clarify", _("clarify: abbreviations spelt out, topics as questions")),
    Choice("domain", _("domain: terms of the field")),
)
COMPRESSION_CHOICES = (
    Choice("none", _("none: passages unchanged")),
    Choice("sentence_extraction", _("sentence_extraction: key sentences only")),
    Choice("llm_compression", _("llm_compression: by the language model")),
    Choice("hybrid", _("hybrid: sentences, then the language model")),
)
GRAPH_CHOICES = (
    Choice("auto", _("auto: where several passages answer together")),
    Choice("on", _("on: every question")),
    Choice("off", _("off: never")),
)
OVERFLOW_CHOICES = (
    Choice("", _("drop; shorter ones after them may still fit")),
    Choice("truncate", _("truncate: cut the first, drop the rest")),
    Choice("top_k", _("top_k: drop it and all after it")),
    Choice("summarise", _("summarise: shorten to key points")),
)
