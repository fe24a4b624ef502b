"""Options in the words of their forms: label and help by (group, name)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

GROUP_NAMES: Mapping[str, Any] = {
    "parsing": _("Reading files"),
    "cleaning": _("Cleaning"),
    "chunking": _("Cutting into passages"),
    "representations": _("Describing passages"),
    "retrieval": _("Searching"),
    "answer": _("Answering"),
}

OPTION_WORDS: Mapping[tuple[str, str], tuple[Any, Any]] = {
    ("parsing", "recognise_pages"): (_("Read scanned pages"), _("Character recognition where a page has no text.")),
    ("parsing", "recognise_pictures"): (_("Read pictures"), _("Character recognition of pictures in documents.")),
    ("parsing", "keep_pictures"): (_("Keep pictures"), _("So that answers and passages can show them.")),
    ("parsing", "max_pictures"): (_("Pictures a document"), _("The first ones are kept.")),
    ("cleaning", "log_timestamps"): (_("Strip times of logs"), _("The time at the beginning of lines.")),
    ("cleaning", "contents"): (_("Drop tables of contents"), ""),
    ("cleaning", "covers"): (_("Drop cover pages"), _("A first page with a title and little else.")),
    ("cleaning", "side_notes"): (_("Drop side notes"), _("Text in the margin that repeats or is turned.")),
    ("chunking", "section_tokens"): (
        _("Section in one piece up to (tokens)"),
        _("A longer section with subsections is cut; a summary stands for it."),
    ),
    ("chunking", "min_tokens"): (_("Passage from (tokens)"), _("Smaller neighbours share a passage.")),
    ("chunking", "max_tokens"): (_("Passage up to (tokens)"), ""),
    ("chunking", "overlap"): (_("Overlap"), _("Share of a passage that repeats the end of the one before.")),
    ("chunking", "split"): (_("Cut into passages"), _("If not, a document is one passage with several entries.")),
    ("representations", "sections"): (_("Summaries of long sections"), ""),
    ("representations", "tables"): (_("Tables as sentences"), _("Each row is found by its column names, too.")),
    ("representations", "captions"): (_("Captions of pictures"), _("The words around a picture make it findable.")),
    ("representations", "summaries"): (_("Summaries of passages"), ""),
    ("representations", "questions"): (_("Questions that a passage answers"), _("Up to three of each passage.")),
    ("representations", "language_model"): (
        _("Use the language model"),
        _("Where one is configured. Otherwise sentences are extracted."),
    ),
    ("retrieval", "coarse_limit"): (_("Candidates of the first stage"), _("By words and by meaning, each.")),
    ("retrieval", "fine_limit"): (_("Candidates of the second stage"), _("By words and by meaning, each.")),
    ("retrieval", "fused_limit"): (_("Candidates for reranking"), _("After both lists are merged.")),
    ("retrieval", "top_k"): (_("Passages found"), _("Where the request does not say how many.")),
    ("retrieval", "rerank"): (_("Rerank"), _("Slower; the order of the first hits becomes better.")),
    ("retrieval", "cliff"): (_("Cut at a score cliff"), _("What is far below the hit before it is left out.")),
    ("retrieval", "alpha_centre"): (_("Words at which meaning counts half"), ""),
    ("retrieval", "alpha_slope"): (_("How fast that changes"), ""),
    ("retrieval", "vector_weight"): (_("Fixed weight of meaning"), _("-1: by the length of the question.")),
    ("retrieval", "vector_weight_zh"): (_("Fixed weight of meaning, Chinese"), _("-1: like the one for all.")),
    ("retrieval", "vector_weight_en"): (_("Fixed weight of meaning, English"), _("-1: like the one for all.")),
    ("retrieval", "fuzzy"): (_("Forgive typing errors"), _("Words and titles that are spelt nearly the same.")),
    ("retrieval", "title_weight"): (_("Weight of title and headings"), _("0: like any other text.")),
    ("retrieval", "title_boost"): (_("Most that a title like the question adds"), ""),
    ("retrieval", "profile"): (_("Use the profile"), _("What the asker works on, where they want that.")),
    ("retrieval", "profile_shift"): (_("Most that the profile moves the weight of meaning"), ""),
    ("retrieval", "profile_boost"): (_("Most that the profile adds"), _("As a share of the score.")),
    ("retrieval", "quality"): (_("Weigh quality"), _("Length, rating and weight of the document.")),
    ("retrieval", "deduplicate"): (_("Drop repetitions"), ""),
    ("retrieval", "duplicate_similarity"): (_("Repeated from a likeness of"), ""),
    ("retrieval", "neighbours"): (_("Neighbours that are read, too"), _("Passages before and after each one.")),
    ("retrieval", "min_match"): (
        _("Match of words that suffices alone"),
        _("Where the shares of this and the next one add up to less than 1, search results are shown. 0: never."),
    ),
    ("retrieval", "min_cosine"): (_("Match of meaning that suffices alone"), ""),
    ("answer", "mode"): (_("Mode"), _("How much work goes into an answer. What fails falls back to basic.")),
    ("answer", "strategy"): (_("Strategy"), _("Whether the question or the answer is judged on the way.")),
    ("answer", "agentic"): (_("Agentic rounds"), _("Judge what was found and written, and ask again.")),
    ("answer", "preset"): (_("Preset"), _("One word for several options. Options that are set themselves win.")),
    ("answer", "style"): (_("Style"), _("Form and length of the answer.")),
    ("answer", "rewrite_method"): (_("Rewriting of questions"), _("By a language model, by rules without one.")),
    ("answer", "temperature"): (_("Temperature"), _("0: the same words each time. Higher: freer wording.")),
    ("answer", "max_tokens"): (_("Longest answer (tokens)"), ""),
    ("answer", "max_chunks"): (_("Passages in the prompt"), ""),
    ("answer", "context_tokens"): (_("Length of the context (tokens)"), _("All passages in the prompt together.")),
    ("answer", "whole_sections"): (
        _("Whole sections"),
        _("Sections instead of passages where the length of the context allows it."),
    ),
    ("answer", "compression_method"): (_("Compression of the context"), _("Leaves more room for other passages.")),
    ("answer", "compression_ratio"): (_("Compressed to"), _("Share of the context that is left.")),
    ("answer", "overflow"): (_("Passages that do not fit"), _("Into the length of the context.")),
    ("answer", "max_agentic_iterations"): (_("Rounds of the agentic mode"), _("At most.")),
    ("answer", "confidence_threshold"): (
        _("Confidence that ends the rounds"),
        _("The agentic mode stops searching from it."),
    ),
    ("answer", "self_rag_rounds"): (_("Rounds of Self-RAG"), _("At most.")),
    ("answer", "self_rag_quality"): (
        _("Grade that is good enough"),
        _("Of passages and of the answer, out of 10; Self-RAG tries again below it."),
    ),
    ("answer", "tiered"): (_("Choose the model by the question"), _("Simple questions get the light model.")),
    ("answer", "prefer_api_models"): (_("Prefer remote models"), _("Where a local one could answer, too.")),
    ("answer", "max_cost"): (
        _("Most that an answer may cost"),
        _("In the currency of the price table. 0: no limit."),
    ),
    ("answer", "max_latency"): (
        _("Longest expected time (seconds)"),
        _("A model that is expected to take longer is not chosen. 0: no limit."),
    ),
    ("answer", "loop_seconds"): (_("Time for all rounds (seconds)"), _("The best answer so far is given after it.")),
    ("answer", "loop_tokens"): (_("Tokens for all rounds"), _("Of questions to the model and its answers together.")),
    ("answer", "false_refusals"): (
        _("Refusals that may be wrong"),
        _("Without a language model: share of answerable questions. 0: refuse only where nothing fits."),
    ),
    ("answer", "citation_threshold"): (_("A citation is weak below"), _("Confidence between 0 and 1.")),
    ("answer", "support_threshold"): (_("A sentence is supported from"), _("Support between 0 and 1.")),
    ("answer", "own_prompts"): (
        _("Clients may add a prompt of their own"),
        _("It stands behind the rules, which come first."),
    ),
    ("answer", "judge_support"): (
        _("Ask the language model about doubtful sentences"),
        _("One more request for each answer; otherwise rules alone decide."),
    ),
}

# The words that an option may be, as its form lists them; a word of a program stays what it is.
CHOICE_WORDS: Mapping[tuple[str, str], Any] = {
    ("mode", "basic"): _("basic: one search"),
    ("mode", "enhanced"): _("enhanced: rewriting, reranking, compression"),
    ("mode", "agentic"): _("agentic: searches until the evidence is enough"),
    ("mode", "ultimate"): _("ultimate: everything together"),
    ("strategy", "standard"): _("standard: search, then answer"),
    ("strategy", "adaptive"): _("adaptive: by the kind of question"),
    ("strategy", "self_rag"): _("self_rag: grades passages and answers, tries again"),
    ("agentic", ""): _("as the mode does"),
    ("agentic", "on"): _("in every mode"),
    ("agentic", "off"): _("in no mode"),
    ("preset", ""): _("none"),
    ("preset", "accurate"): _("accurate: checks itself, slowest"),
    ("preset", "fast"): _("fast: nothing beyond search and answer"),
    ("preset", "balanced"): _("balanced: several forms of the question"),
    ("preset", "cheap"): _("cheap: few tokens, light model"),
    ("style", "simple"): _("simple: short"),
    ("style", "advanced"): _("advanced: detailed"),
    ("style", "precise"): _("precise: only what the sources say, word by word"),
    ("style", "report"): _("report: conclusion first, structured"),
    ("rewrite_method", "auto"): _("auto: by length and conversation"),
    ("rewrite_method", "none"): _("none: as written"),
    ("rewrite_method", "multi"): _("multi: two more wordings"),
    ("rewrite_method", "hyde"): _("hyde: a possible answer is searched for"),
    ("rewrite_method", "expand"): _("expand: synonyms and terms"),
    ("rewrite_method", "decompose"): _("decompose: partial questions"),
    ("rewrite_method", "step_back"): _("step_back: the more general question"),
    ("rewrite_method", "variants"): _("variants: other names of terms, and what belongs to a definition"),
    ("rewrite_method", "simplify"): _("simplify: without courtesies and asides"),
    ("rewrite_method", "clarify"): _("clarify: abbreviations written out, a topic as a question"),
    ("rewrite_method", "domain"): _("domain: the usual names of the field"),
    ("compression_method", "none"): _("none: passages as they are"),
    ("compression_method", "sentence_extraction"): _("sentence_extraction: the sentences that matter"),
    ("compression_method", "llm_compression"): _("llm_compression: by the language model"),
    ("compression_method", "hybrid"): _("hybrid: sentences, then the language model"),
    ("overflow", ""): _("dropped; shorter ones behind them may fit"),
    ("overflow", "truncate"): _("truncate: the first one is cut, the others are dropped"),
    ("overflow", "top_k"): _("top_k: dropped, with all behind them"),
    ("overflow", "summarise"): _("summarise: shortened to what matters"),
}


def choice_words(option: str, word: str) -> str:
    """How a form lists a word of an option; a word without an entry stands for itself."""
    return str(CHOICE_WORDS.get((option, word), word))
