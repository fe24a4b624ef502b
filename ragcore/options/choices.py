"""What some options may be set to, with their words: chat, admin and docs all take them from here."""

from __future__ import annotations

from ragcore.labels import gettext_noop as _
from ragcore.options.declaration import Choice

MODE_CHOICES = (
    Choice("basic", _("Fast: one search"), _("Fast")),
    Choice("enhanced", _("Thorough: rewriting, reranking, compression"), _("Thorough")),
    Choice("agentic", _("Agentic: searches until the evidence is enough"), _("Agentic")),
    Choice("ultimate", _("Research: all of the above"), _("Research")),
)
STRATEGY_CHOICES = (
    Choice("standard", _("Standard: search, then answer"), _("Standard")),
    Choice("adaptive", _("Adaptive: by question type"), _("Adaptive")),
    Choice("self_rag", _("Self-RAG: grades passages and answers, retries"), _("Self-RAG")),
)
SWITCH_CHOICES = (Choice("", _("depends on mode")), Choice("on", _("always")), Choice("off", _("never")))
PRESET_CHOICES = (
    Choice("", _("none")),
    Choice("accurate", _("Accurate: checks itself, slowest"), _("Accurate")),
    Choice("fast", _("Fast: search and answer only"), _("Fast")),
    Choice("balanced", _("Balanced: several query variants"), _("Balanced")),
    Choice("cheap", _("Economical: few tokens, light model"), _("Economical")),
)
STYLE_CHOICES = (
    Choice("simple", _("Short: a few plain sentences"), _("Short")),
    Choice("advanced", _("Detailed: combines several sources"), _("Detailed")),
    Choice("precise", _("Precise: closely follows the sources"), _("Precise")),
    Choice("report", _("Report: conclusion first, structured"), _("Report")),
)
REWRITE_CHOICES = (
    Choice("auto", _("Automatic: by length and conversation")),
    Choice("none", _("None: as written")),
    Choice("multi", _("Multiple: two more phrasings")),
    Choice("hyde", _("HyDE: searches with a hypothetical answer")),
    Choice("expand", _("Expand: synonyms and terms")),
    Choice("decompose", _("Decompose: sub-questions"), _("Decompose")),
    Choice("step_back", _("Step back: a more general question")),
    Choice("variants", _("Variants: alternative names of terms")),
    Choice("simplify", _("Simplify: without filler words")),
    Choice("clarify", _("Clarify: abbreviations spelt out, topics as questions")),
    Choice("domain", _("Domain: terms of the field")),
)
COMPRESSION_CHOICES = (
    Choice("none", _("None: passages unchanged")),
    Choice("sentence_extraction", _("Extraction: key sentences only")),
    Choice("llm_compression", _("Language model: compressed by it")),
    Choice("hybrid", _("Hybrid: sentences, then the language model")),
)
FACT_CHOICES = (
    Choice("off", _("Do not read them")),
    Choice("rules", _("By rules")),
    Choice("model", _("By rules, then by the language model: up to 40 passages of a document")),
)
CONFIDENCE_CHOICES = (
    Choice("measured", _("By the rule that read it, as measured")),
    Choice("equal", _("0.7 for every relation")),
)
GRAPH_CHOICES = (
    Choice("auto", _("Automatic: where several passages answer together")),
    Choice("on", _("Always: every question")),
    Choice("off", _("Never: passages alone")),
)
OVERFLOW_CHOICES = (
    Choice("", _("Drop: shorter ones after them may still fit")),
    Choice("truncate", _("Truncate: cut the first, drop the rest")),
    Choice("top_k", _("Cut off: drop it and all after it")),
    Choice("summarise", _("Summarise: shorten to key points")),
)
