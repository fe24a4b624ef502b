"""The options of the core, each declared once: type, default, range, label and help.

Forms, the lab, the settings history, the API and docs/options.md read the declaration. To add an option, add a field
here and read it where it is used. Comments say why a default is what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.labels import gettext_noop as _
from ragcore.options.choices import (
    COMPRESSION_CHOICES,
    CONFIDENCE_CHOICES,
    FACT_CHOICES,
    GRAPH_CHOICES,
    MODE_CHOICES,
    OVERFLOW_CHOICES,
    PRESET_CHOICES,
    REWRITE_CHOICES,
    STRATEGY_CHOICES,
    STYLE_CHOICES,
    SWITCH_CHOICES,
)
from ragcore.options.declaration import choice_values, option, option_group

MODES = choice_values(MODE_CHOICES)
STRATEGIES = choice_values(STRATEGY_CHOICES)
PRESETS = choice_values(PRESET_CHOICES)
REWRITE_METHODS = choice_values(REWRITE_CHOICES)
COMPRESSION_METHODS = choice_values(COMPRESSION_CHOICES)

# ── documents ───────────────────────────────────────────────────────────────────────────────────


@option_group("parsing", _("Parsing"))
@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingOptions:
    """What is read from a file."""

    recognise_pages: bool = option(True, _("Read scanned pages"), _("OCR where a page has no text."), everyday=True)
    recognise_pictures: bool = option(True, _("Read images"), _("OCR of images in documents."), everyday=True)
    keep_pictures: bool = option(True, _("Keep images"), _("Shown in answers and passages."))
    max_pictures: int = option(200, _("Images per document"), _("The first ones are kept."), low=0, high=5000)


@option_group("cleaning", _("Cleaning"))
@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningOptions:
    """Cleaning rules that can be switched."""

    log_timestamps: bool = option(False, _("Strip log timestamps"), _("Timestamps at line starts."))
    contents: bool = option(True, _("Drop tables of contents"), everyday=True)
    covers: bool = option(True, _("Drop cover pages"), _("A first page with a title and little else."), everyday=True)
    side_notes: bool = option(True, _("Drop margin notes"), _("Repeated or rotated text in the margin."))


@option_group("chunking", _("Chunking"))
@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingOptions:
    """Sizes of chunks in model tokens."""

    section_tokens: int = option(
        2000,
        _("Keep sections whole up to (tokens)"),
        _("Longer sections with subsections are split; a summary represents them."),
        low=100,
        high=8000,
        unit="tokens",
    )
    min_tokens: int = option(
        512,
        _("Minimum passage size (tokens)"),
        _("Smaller neighbouring pieces are merged."),
        low=32,
        high=4000,
        unit="tokens",
    )
    max_tokens: int = option(800, _("Maximum passage size (tokens)"), low=64, high=8000, unit="tokens", everyday=True)
    overlap: float = option(
        0.12, _("Overlap"), _("Share of a passage repeated from the end of the previous one."), low=0, high=0.5
    )
    # False: one chunk a document with several index entries
    split: bool = option(
        True,
        _("Split into passages"),
        _("If off, a document is one passage with several index entries."),
        everyday=True,
    )


@option_group("representations", _("Enrichment"))
@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentationOptions:
    """Index entries of a chunk besides its text."""

    tables: bool = option(True, _("Tables as sentences"), _("Rows can also be found by column name."), everyday=True)
    summaries: bool = option(
        False,
        _("Passage summaries"),
        _("Without a language model, also the outlines of long sections are indexed."),
        everyday=True,
    )
    questions: bool = option(False, _("Questions that a passage answers"), _("Up to three per passage."), everyday=True)
    language_model: bool = option(
        True, _("Use the language model"), _("If one is configured. Otherwise sentences are extracted."), everyday=True
    )


@option_group("facts", _("Knowledge graph"))
@dataclass(frozen=True, slots=True, kw_only=True)
class FactOptions:
    """What is read in the documents of a set for its graph."""

    entities: bool = option(
        True,
        _("Index names and terms"),
        _("Names, terms and identifiers with the passages that mention them, for questions over several documents."),
        everyday=True,
    )
    reading: str = option(
        "off",
        _("Read facts in documents"),
        _("Definitions, tables and plain statements become triples with their source."),
        choices=FACT_CHOICES,
        everyday=True,
    )
    confidence: str = option(
        "measured",
        _("Confidence of facts"),
        _("Of facts that rules read. Imported ones have that of their file, those of a language model its own."),
        choices=CONFIDENCE_CHOICES,
    )


# ── questions ───────────────────────────────────────────────────────────────────────────────────


@option_group("retrieval", _("Searching"))
@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """Retrieval, stages 1 to 3."""

    fused_limit: int = option(
        80,
        _("Candidates for reranking"),
        _("After fusion of both lists, each of which has at least twice as many."),
        low=5,
        high=500,
    )
    top_k: int = option(
        10, _("Passages returned"), _("Where the request gives no number."), low=1, high=50, everyday=True
    )
    rerank: bool = option(True, _("Rerank"), _("Slower; improves the order of the top results."), everyday=True)
    cliff: bool = option(
        False, _("Drop results after a score gap"), _("Results far below the previous one are dropped.")
    )
    vector_weight: float = option(
        -1.0, _("Fixed semantic weight"), _("-1: depends on question length."), low=-1, high=1
    )
    # misspelt words and titles are searched by their trigrams
    lexicon: bool = option(
        True, _("Lexicon"), _("Also searches with other names of the terms of the published lexicon.")
    )
    query_adapter: int = option(
        -1,
        _("Fitted query vectors"),
        _("-1: current; 0: none; n: version n, for comparing."),
        low=-1,
        high=1_000_000,
        is_for_comparing=True,
    )
    set_embedder: int = option(
        -1,
        _("Embedding model of the set"),
        _("-1: current; 0: none; n: model n of the set, for comparing."),
        low=-1,
        high=1_000_000,
        is_for_comparing=True,
    )
    embedder_switch: int = option(
        0,
        _("Embedding model being prepared"),
        _("0: current; n: the change of model n whose vectors are ready, for comparing."),
        low=0,
        high=1_000_000_000,
        is_for_comparing=True,
    )
    reranker_model: int = option(
        0,
        _("Reranker"),
        _("0: current; -1: from the environment; n: search model n."),
        low=-1,
        high=1_000_000_000,
    )
    reranker_weights: int = option(
        -1, _("Reranker weights"), _("-1: current; 0: built-in; n: version n."), low=-1, high=999
    )
    fuzzy: bool = option(
        True, _("Typo tolerance"), _("Also matches words and titles with similar spelling."), everyday=True
    )
    # "auto": comparisons, questions of several steps, and those whose names no passage found has together
    graph: str = option(
        "auto",
        _("Search along names"),
        _("Also finds passages that share names with those found."),
        choices=GRAPH_CHOICES,
    )
    profile: bool = option(
        True, _("Use the profile"), _("The user's work profile, where they allow it."), everyday=True
    )
    quality: bool = option(
        False, _("Use quality score"), _("Length and rating beside the weight of the document, which always counts.")
    )
    # With 0.3 a passage that everybody opened overtakes one that the linear reranker puts 1.2 above it: odds of 3 to 1.
    use_shift: float = option(
        0.0,
        _("Ranking from use: maximum shift"),
        _(
            "0: off. Votes, opened and copied sources raise or lower passages for similar questions, once enough "
            "people have used the set. As a share of the score, or of the reranker's gap."
        ),
        low=0,
        high=0.5,
    )
    # on for answers
    deduplicate: bool = option(False, _("Remove duplicate passages"), everyday=True)
    neighbours: int = option(
        0, _("Include neighbouring passages"), _("Passages before and after each one."), low=0, high=3
    )
    # Where nothing is near enough, a page of search results is the answer (ragcore.retrieval.stages.selection).
    # The match of words is the best BM25 score divided by the sum of the question's idf.
    min_match: float = option(
        1.5,
        _("Keyword answer threshold"),
        _(
            "Search results are shown where the match ratios to both thresholds add up to less than 1. 0: never. "
            "With both at their defaults, passages that surely answer are answered from all the same."
        ),
        low=0,
        high=10,
    )
    min_cosine: float = option(0.3, _("Semantic answer threshold"), low=0, high=1)


@option_group("answer", _("Answering"))
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """From the question to the checked answer."""

    mode: str = option(
        "basic", _("Mode"), _("Effort per answer. On failure, one search."), choices=MODE_CHOICES, everyday=True
    )
    strategy: str = option(
        "standard", _("Strategy"), _("Whether question or answer is evaluated on the way."), choices=STRATEGY_CHOICES
    )
    agentic: str = option(
        "", _("Agentic mode"), _("Grade what was found and written, and search again."), choices=SWITCH_CHOICES
    )
    preset: str = option(
        "",
        _("Preset"),
        _("Sets several options at once; explicit settings take precedence."),
        choices=PRESET_CHOICES,
        everyday=True,
    )
    style: str = option("report", _("Style"), _("Form and length of the answer."), choices=STYLE_CHOICES, everyday=True)
    rewrite_method: str = option(
        "auto", _("Query rewriting"), _("By the language model, or by rules without one."), choices=REWRITE_CHOICES
    )
    temperature: float = option(
        0.2, _("Temperature"), _("0: always the same wording. Higher: more varied."), low=0, high=2, everyday=True
    )
    max_tokens: int = option(1000, _("Maximum answer length (tokens)"), low=1, high=4096, unit="tokens", everyday=True)
    max_chunks: int = option(10, _("Passages in the prompt"), low=1, high=50, everyday=True)
    context_tokens: int = option(
        3000,
        _("Context length (tokens)"),
        _("All passages in the prompt together."),
        low=200,
        high=100_000,
        unit="tokens",
    )
    whole_sections: bool = option(
        False, _("Whole sections"), _("Sections instead of passages where the context length allows.")
    )
    compression_method: str = option(
        "none", _("Context compression"), _("Leaves more room for other passages."), choices=COMPRESSION_CHOICES
    )
    compression_ratio: float = option(
        0.6, _("Target compression ratio"), _("Share of the context that is left."), low=0.05, high=1
    )
    overflow: str = option(
        "",
        _("Passages over the context limit"),
        _("What happens to passages beyond the context length."),
        choices=OVERFLOW_CHOICES,
    )
    max_agentic_iterations: int = option(3, _("Agentic rounds (maximum)"), _("Upper limit."), low=1, high=10)
    confidence_threshold: float = option(
        0.8, _("Stop when confidence reaches"), _("Agentic mode stops searching at this confidence."), low=0, high=1
    )
    tiered: bool = option(
        False, _("Choose the model by the question"), _("Simple questions use the light model."), everyday=True
    )
    prefer_api_models: bool = option(False, _("Prefer remote models"), _("Even if a local one could answer."))
    max_cost: float = option(
        0.0,
        _("Maximum cost per answer"),
        _("In the currency of the price table. 0: no limit."),
        low=0,
        high=1000,
        everyday=True,
    )
    max_latency: float = option(
        0.0,
        _("Maximum expected latency (seconds)"),
        _("Slower models are not chosen. 0: no limit."),
        low=0,
        high=3600,
        unit="seconds",
    )
    # 0 refuses only what nothing is near to. Sets that nothing was trained on lose up to twice as much as the line
    # says, so the line for 3 % keeps them near 5 %.
    false_refusals: float = option(
        0.03,
        _("Acceptable false-refusal rate"),
        _("Without a language model: share of answerable questions. 0: refuse only where nothing fits."),
        low=0,
        high=0.1,
    )
    own_prompts: bool = option(True, _("Allow custom client prompts"), _("It is appended after the system rules."))
    semantic_cache: bool = option(
        False,
        _("Reuse answers to reworded questions"),
        _("Only if names, numbers, dates and negations are the same, and only among people with equal rights."),
    )
    judge_support: bool = option(
        False,
        _("Let the language model check doubtful sentences"),
        _("One more request for each answer; otherwise rules alone decide."),
    )
