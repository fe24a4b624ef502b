"""The options of the core, each declared once: type, default, range, label and help (V14).

Forms, the lab, the settings history, the API and docs/options.md read the declaration. To add an option, add a field
here and read it where it is used. Comments say why a default is what it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.labels import gettext_noop as _
from ragcore.options.declaration import Choice, choice_values, option, option_group

# ── choices ─────────────────────────────────────────────────────────────────────────────────────

_MODES = (
    Choice("basic", _("basic: one search")),
    Choice("enhanced", _("enhanced: rewriting, reranking, compression")),
    Choice("agentic", _("agentic: searches until the evidence is enough")),
    Choice("ultimate", _("ultimate: everything together")),
)
_STRATEGIES = (
    Choice("standard", _("standard: search, then answer")),
    Choice("adaptive", _("adaptive: by the kind of question")),
    Choice("self_rag", _("self_rag: grades passages and answers, tries again")),
)
_SWITCHES = (
    Choice("", _("as the mode does")),
    Choice("on", _("in every mode")),
    Choice("off", _("in no mode")),
)
_PRESETS = (
    Choice("", _("none")),
    Choice("accurate", _("accurate: checks itself, slowest")),
    Choice("fast", _("fast: nothing beyond search and answer")),
    Choice("balanced", _("balanced: several forms of the question")),
    Choice("cheap", _("cheap: few tokens, light model")),
)
_STYLES = (
    Choice("simple", _("simple: short")),
    Choice("advanced", _("advanced: detailed")),
    Choice("precise", _("precise: only what the sources say, word by word")),
    Choice("report", _("report: conclusion first, structured")),
)
_REWRITE_METHODS = (
    Choice("auto", _("auto: by length and conversation")),
    Choice("none", _("none: as written")),
    Choice("multi", _("multi: two more wordings")),
    Choice("hyde", _("hyde: a possible answer is searched for")),
    Choice("expand", _("expand: synonyms and terms")),
    Choice("decompose", _("decompose: partial questions")),
    Choice("step_back", _("step_back: the more general question")),
    Choice("variants", _("variants: other names of terms, and what belongs to a definition")),
    Choice("simplify", _("simplify: without courtesies and asides")),
    Choice("clarify", _("clarify: abbreviations written out, a topic as a question")),
    Choice("domain", _("domain: the usual names of the field")),
)
_COMPRESSION_METHODS = (
    Choice("none", _("none: passages as they are")),
    Choice("sentence_extraction", _("sentence_extraction: the sentences that matter")),
    Choice("llm_compression", _("llm_compression: by the language model")),
    Choice("hybrid", _("hybrid: sentences, then the language model")),
)
_OVERFLOWS = (
    Choice("", _("dropped; shorter ones behind them may fit")),
    Choice("truncate", _("truncate: the first one is cut, the others are dropped")),
    Choice("top_k", _("top_k: dropped, with all behind them")),
    Choice("summarise", _("summarise: shortened to what matters")),
)

MODES = choice_values(_MODES)
STRATEGIES = choice_values(_STRATEGIES)
PRESETS = choice_values(_PRESETS)
REWRITE_METHODS = choice_values(_REWRITE_METHODS)
COMPRESSION_METHODS = choice_values(_COMPRESSION_METHODS)

# ── documents ───────────────────────────────────────────────────────────────────────────────────


@option_group("parsing", _("Reading files"))
@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingOptions:
    """What is read from a file (D9)."""

    recognise_pages: bool = option(True, _("Read scanned pages"), _("Character recognition where a page has no text."))
    recognise_pictures: bool = option(True, _("Read pictures"), _("Character recognition of pictures in documents."))
    keep_pictures: bool = option(True, _("Keep pictures"), _("So that answers and passages can show them."))
    max_pictures: int = option(200, _("Pictures a document"), _("The first ones are kept."), low=0, high=5000)


@option_group("cleaning", _("Cleaning"))
@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningOptions:
    """Cleaning rules that can be switched (D24, D25)."""

    log_timestamps: bool = option(False, _("Strip times of logs"), _("The time at the beginning of lines."))
    contents: bool = option(True, _("Drop tables of contents"))
    covers: bool = option(True, _("Drop cover pages"), _("A first page with a title and little else."))
    side_notes: bool = option(True, _("Drop side notes"), _("Text in the margin that repeats or is turned."))


@option_group("chunking", _("Cutting into passages"))
@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingOptions:
    """Sizes of chunks in model tokens (D11)."""

    section_tokens: int = option(
        2000,
        _("Section in one piece up to (tokens)"),
        _("A longer section with subsections is cut; a summary stands for it."),
        low=100,
        high=8000,
        unit="tokens",
    )
    min_tokens: int = option(
        512, _("Passage from (tokens)"), _("Smaller neighbours share a passage."), low=32, high=4000, unit="tokens"
    )
    max_tokens: int = option(800, _("Passage up to (tokens)"), low=64, high=8000, unit="tokens")
    overlap: float = option(
        0.12, _("Overlap"), _("Share of a passage that repeats the end of the one before."), low=0, high=0.5
    )
    # False: one chunk a document with several index entries (D10)
    split: bool = option(True, _("Cut into passages"), _("If not, a document is one passage with several entries."))


@option_group("representations", _("Describing passages"))
@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentationOptions:
    """Index entries of a chunk besides its text (U6, D24, D26)."""

    sections: bool = option(True, _("Summaries of long sections"))
    tables: bool = option(True, _("Tables as sentences"), _("Each row is found by its column names, too."))
    captions: bool = option(True, _("Captions of pictures"), _("The words around a picture make it findable."))
    summaries: bool = option(False, _("Summaries of passages"))
    questions: bool = option(False, _("Questions that a passage answers"), _("Up to three of each passage."))
    language_model: bool = option(
        True, _("Use the language model"), _("Where one is configured. Otherwise sentences are extracted.")
    )


# ── questions ───────────────────────────────────────────────────────────────────────────────────


@option_group("retrieval", _("Searching"))
@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """Retrieval, stages 1 to 3 (D3 to D5, D15, D23)."""

    coarse_limit: int = option(
        1500, _("Candidates of the first stage"), _("By words and by meaning, each."), low=10, high=5000
    )
    fine_limit: int = option(
        160, _("Candidates of the second stage"), _("By words and by meaning, each."), low=10, high=1000
    )
    fused_limit: int = option(80, _("Candidates for reranking"), _("After both lists are merged."), low=5, high=500)
    top_k: int = option(10, _("Passages found"), _("Where the request does not say how many."), low=1, high=50)
    rerank: bool = option(True, _("Rerank"), _("Slower; the order of the first hits becomes better."))
    cliff: bool = option(False, _("Cut at a score cliff"), _("What is far below the hit before it is left out."))
    alpha_centre: float = option(8.0, _("Words at which meaning counts half"), low=0, high=100)
    alpha_slope: float = option(1.0, _("How fast that changes"), low=0.1, high=100)
    vector_weight: float = option(
        -1.0, _("Fixed weight of meaning"), _("-1: by the length of the question."), low=-1, high=1
    )
    vector_weight_zh: float = option(
        -1.0, _("Fixed weight of meaning, Chinese"), _("-1: like the one for all."), low=-1, high=1
    )
    vector_weight_en: float = option(
        -1.0, _("Fixed weight of meaning, English"), _("-1: like the one for all."), low=-1, high=1
    )
    # misspelt words and titles are searched by their trigrams (D15)
    fuzzy: bool = option(True, _("Forgive typing errors"), _("Words and titles that are spelt nearly the same."))
    # Extra weight of question words that occur in the title or headings, on the scale of the best BM25 score. With 0.3,
    # nDCG@10 of the fusion rose from .868 to .871 (DragonBall, English) and from .832 to .839 (Chinese) and stayed at
    # .879 (TeleQuAD), each on 300 questions. On TeleQuAD it began to fall at 0.5.
    title_weight: float = option(0.3, _("Weight of title and headings"), _("0: like any other text."), low=0, high=1)
    title_boost: float = option(0.2, _("Most that a title like the question adds"), low=0, high=0.5)
    profile: bool = option(True, _("Use the profile"), _("What the asker works on, where they want that."))
    profile_shift: float = option(0.1, _("Most that the profile moves the weight of meaning"), low=0, high=0.1)
    profile_boost: float = option(0.15, _("Most that the profile adds"), _("As a share of the score."), low=0, high=0.5)
    quality: bool = option(False, _("Weigh quality"), _("Length, rating and weight of the document."))
    # on for answers (V16)
    deduplicate: bool = option(False, _("Drop repetitions"))
    duplicate_similarity: float = option(0.9, _("Repeated from a likeness of"), low=0.5, high=1)
    neighbours: int = option(
        0, _("Neighbours that are read, too"), _("Passages before and after each one."), low=0, high=3
    )
    # Where nothing is near enough, a page of search results is the answer (D23, ragcore.retrieval.relevance). The
    # match of words is the best BM25 score divided by the sum of the question's idf.
    min_match: float = option(
        1.5,
        _("Match of words that suffices alone"),
        _("Where the shares of this and the next one add up to less than 1, search results are shown. 0: never."),
        low=0,
        high=10,
    )
    min_cosine: float = option(0.3, _("Match of meaning that suffices alone"), low=0, high=1)


@option_group("answer", _("Answering"))
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """From the question to the checked answer (V2, V4 to V10, U7, U9, U10, U14)."""

    mode: str = option(
        "basic", _("Mode"), _("How much work goes into an answer. What fails falls back to basic."), choices=_MODES
    )
    strategy: str = option(
        "standard", _("Strategy"), _("Whether the question or the answer is judged on the way."), choices=_STRATEGIES
    )
    agentic: str = option(
        "", _("Agentic rounds"), _("Judge what was found and written, and ask again."), choices=_SWITCHES
    )
    preset: str = option(
        "", _("Preset"), _("One word for several options. Options that are set themselves win."), choices=_PRESETS
    )
    style: str = option("report", _("Style"), _("Form and length of the answer."), choices=_STYLES)
    rewrite_method: str = option(
        "auto", _("Rewriting of questions"), _("By a language model, by rules without one."), choices=_REWRITE_METHODS
    )
    temperature: float = option(
        0.2, _("Temperature"), _("0: the same words each time. Higher: freer wording."), low=0, high=2
    )
    max_tokens: int = option(1000, _("Longest answer (tokens)"), low=1, high=4096, unit="tokens")
    max_chunks: int = option(10, _("Passages in the prompt"), low=1, high=50)
    context_tokens: int = option(
        3000,
        _("Length of the context (tokens)"),
        _("All passages in the prompt together."),
        low=200,
        high=100_000,
        unit="tokens",
    )
    whole_sections: bool = option(
        False, _("Whole sections"), _("Sections instead of passages where the length of the context allows it.")
    )
    compression_method: str = option(
        "none", _("Compression of the context"), _("Leaves more room for other passages."), choices=_COMPRESSION_METHODS
    )
    compression_ratio: float = option(
        0.6, _("Compressed to"), _("Share of the context that is left."), low=0.05, high=1
    )
    overflow: str = option("", _("Passages that do not fit"), _("Into the length of the context."), choices=_OVERFLOWS)
    max_agentic_iterations: int = option(3, _("Rounds of the agentic mode"), _("At most."), low=1, high=10)
    confidence_threshold: float = option(
        0.8, _("Confidence that ends the rounds"), _("The agentic mode stops searching from it."), low=0, high=1
    )
    self_rag_rounds: int = option(3, _("Rounds of Self-RAG"), _("At most."), low=1, high=3)
    self_rag_quality: int = option(
        7,
        _("Grade that is good enough"),
        _("Of passages and of the answer, out of 10; Self-RAG tries again below it."),
        low=1,
        high=10,
    )
    tiered: bool = option(False, _("Choose the model by the question"), _("Simple questions get the light model."))
    prefer_api_models: bool = option(False, _("Prefer remote models"), _("Where a local one could answer, too."))
    max_cost: float = option(
        0.0, _("Most that an answer may cost"), _("In the currency of the price table. 0: no limit."), low=0, high=1000
    )
    max_latency: float = option(
        0.0,
        _("Longest expected time (seconds)"),
        _("A model that is expected to take longer is not chosen. 0: no limit."),
        low=0,
        high=3600,
        unit="seconds",
    )
    loop_seconds: float = option(
        45.0,
        _("Time for all rounds (seconds)"),
        _("The best answer so far is given after it."),
        low=1,
        high=600,
        unit="seconds",
    )
    loop_tokens: int = option(
        40_000,
        _("Tokens for all rounds"),
        _("Of questions to the model and its answers together."),
        low=100,
        high=1_000_000,
        unit="tokens",
    )
    # 0 refuses only what D23 refuses
    false_refusals: float = option(
        0.05,
        _("Refusals that may be wrong"),
        _("Without a language model: share of answerable questions. 0: refuse only where nothing fits."),
        low=0,
        high=0.1,
    )
    own_prompts: bool = option(
        True, _("Clients may add a prompt of their own"), _("It stands behind the rules, which come first.")
    )
    judge_support: bool = option(
        False,
        _("Ask the language model about doubtful sentences"),
        _("One more request for each answer; otherwise rules alone decide."),
    )
    citation_threshold: float = option(
        0.5, _("A citation is weak below"), _("Confidence between 0 and 1."), low=0, high=1
    )
    support_threshold: float = option(
        0.5, _("A sentence is supported from"), _("Support between 0 and 1."), low=0, high=1
    )
