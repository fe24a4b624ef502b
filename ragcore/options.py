"""Typed options in layers: environment, site, set, request (V14).

Each option group is a frozen dataclass. A layer is a plain mapping that may leave out any key; a missing key
means inherit, an unknown key or a value outside its range is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from ragcore.errors import InvalidOptionsError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Between:
    """Inclusive range of a number."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OneOf:
    """The words that an option may be."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """Stages 1 to 3 (D3 to D5)."""

    coarse_limit: Annotated[int, Between(10, 5000)] = 1500  # candidates of each arm
    fine_limit: Annotated[int, Between(10, 1000)] = 160  # candidates of each arm before fusion
    fused_limit: Annotated[int, Between(5, 500)] = 80
    top_k: Annotated[int, Between(1, 50)] = 10
    rerank: bool = True
    cliff: bool = False
    alpha_centre: Annotated[float, Between(0, 100)] = 8.0
    alpha_slope: Annotated[float, Between(0.1, 100)] = 1.0
    vector_weight: Annotated[float, Between(-1, 1)] = -1.0  # fixed, instead of the formula; -1: formula
    vector_weight_zh: Annotated[float, Between(-1, 1)] = -1.0  # the same, first of all, for Chinese questions
    vector_weight_en: Annotated[float, Between(-1, 1)] = -1.0
    fuzzy: bool = True  # misspelt words and titles are looked for by their trigrams (D15)
    # How much more a word of the question counts that stands in title or headings, on the scale of the best BM25. By
    # 300 questions each nDCG@10 of the fusion rose from .868 to .871 (DragonBall, English) and from .832 to .839
    # (Chinese) and stayed at .879 (TeleQuAD), where it began to fall at 0.5.
    title_weight: Annotated[float, Between(0, 1)] = 0.3
    title_boost: Annotated[float, Between(0, 0.5)] = 0.2  # of documents whose title is like the question, at most
    profile: bool = True  # the asker's work profile moves the ranking where they want it (D4)
    profile_shift: Annotated[float, Between(0, 0.1)] = 0.1  # the most that it moves alpha
    profile_boost: Annotated[float, Between(0, 0.5)] = 0.15  # the most that it adds to a fused score, as a share of it
    quality: bool = False  # length, rating and the document's weight take part in the order (U15)
    deduplicate: bool = False  # of passages that say the same the best one stays (V16); on for answers
    duplicate_similarity: Annotated[float, Between(0.5, 1)] = 0.9
    neighbours: Annotated[int, Between(0, 3)] = 0  # passages before and after a hit that are read with it
    # Nothing near enough: a page of search results instead of an answer (D23, ragcore.retrieval.relevance).
    min_match: Annotated[float, Between(0, 10)] = 1.5  # best BM25 by the sum of idf of the question; 0: always near
    min_cosine: Annotated[float, Between(0, 1)] = 0.3  # what suffices without any words


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingOptions:
    """Sizes of D11, in model tokens."""

    section_tokens: Annotated[int, Between(100, 8000)] = 2000
    min_tokens: Annotated[int, Between(32, 4000)] = 512
    max_tokens: Annotated[int, Between(64, 8000)] = 800
    overlap: Annotated[float, Between(0, 0.5)] = 0.12
    split: bool = True  # False: one chunk a document with several index entries (D10)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingOptions:
    """What is taken out of a file (D9)."""

    recognise_pages: bool = True  # character recognition of scanned pages
    recognise_pictures: bool = True  # and of pictures inside documents
    keep_pictures: bool = True
    max_pictures: Annotated[int, Between(0, 5000)] = 200  # of one document; the first ones


@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentationOptions:
    """Which entries a chunk gets in the index besides its body (U6, D24, D26)."""

    sections: bool = True  # a summary stands for a long section
    tables: bool = True  # tables as sentences
    captions: bool = True  # the words around a picture
    summaries: bool = False  # of every chunk
    questions: bool = False  # that the chunk answers
    language_model: bool = True  # use it where one is configured; otherwise sentences are extracted


MODES = ("basic", "enhanced", "agentic", "ultimate")
STRATEGIES = ("standard", "adaptive", "self_rag")
PRESETS = ("", "accurate", "fast", "balanced", "cheap")
SWITCHES = ("", "on", "off")  # "": not said
STYLES = ("simple", "advanced", "precise", "report")
REWRITE_METHODS = (
    *("auto", "none", "multi", "hyde", "expand", "decompose", "step_back"),
    *("variants", "simplify", "clarify", "domain"),
)
OVERFLOWS = ("", "truncate", "top_k", "summarise")  # "": whatever fits of the best passages
COMPRESSION_METHODS = ("none", "sentence_extraction", "llm_compression", "hybrid")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """From the question to the checked answer (V2, V4 to V10, U7, U9, U10, U14)."""

    mode: Annotated[str, OneOf(MODES)] = "basic"
    strategy: Annotated[str, OneOf(STRATEGIES)] = "standard"
    agentic: Annotated[str, OneOf(SWITCHES)] = ""  # rounds of judging and asking again; "": as the mode does (U14)
    preset: Annotated[str, OneOf(PRESETS)] = ""  # a word for several options; those that are set themselves win (V18)
    style: Annotated[str, OneOf(STYLES)] = "report"
    rewrite_method: Annotated[str, OneOf(REWRITE_METHODS)] = "auto"
    temperature: Annotated[float, Between(0, 2)] = 0.2
    max_tokens: Annotated[int, Between(1, 4096)] = 1000
    max_chunks: Annotated[int, Between(1, 50)] = 10
    context_tokens: Annotated[int, Between(200, 100_000)] = 3000
    whole_sections: bool = False  # sections instead of fragments where the budget allows (D37)
    compression_method: Annotated[str, OneOf(COMPRESSION_METHODS)] = "none"
    compression_ratio: Annotated[float, Between(0.05, 1)] = 0.6  # what is left of the context (U9)
    overflow: Annotated[str, OneOf(OVERFLOWS)] = ""  # what happens to passages that do not fit together (V16)
    max_agentic_iterations: Annotated[int, Between(1, 10)] = 3
    confidence_threshold: Annotated[float, Between(0, 1)] = 0.8  # from which the agentic loop stops (U7)
    self_rag_rounds: Annotated[int, Between(1, 3)] = 3
    self_rag_quality: Annotated[int, Between(1, 10)] = 7  # grade from which passages and answers are good enough (V10)
    tiered: bool = False  # the model is chosen by the complexity of the question (U10)
    prefer_api_models: bool = False
    max_cost: Annotated[float, Between(0, 1000)] = 0.0  # of one answer, in the currency of the price table; 0: any
    max_latency: Annotated[float, Between(0, 3600)] = 0.0  # seconds that a tier may be expected to take; 0: any
    loop_seconds: Annotated[float, Between(1, 600)] = 45.0  # of all rounds of a loop together
    loop_tokens: Annotated[int, Between(100, 1_000_000)] = 40_000
    # Without a language model: the share of answerable questions that may be refused for refusing what the documents do
    # not answer; 0 refuses only what D23 does.
    false_refusals: Annotated[float, Between(0, 0.1)] = 0.05
    own_prompts: bool = True  # whether clients may add a system prompt of their own, behind the rules (V5)
    judge_support: bool = False  # a language model decides about sentences that rules leave open (B4)
    citation_threshold: Annotated[float, Between(0, 1)] = 0.5
    support_threshold: Annotated[float, Between(0, 1)] = 0.5


@dataclass(frozen=True, slots=True)
class Resolved(Generic[T]):
    """The value of an option group and, per option, the name of the layer that it came from."""

    value: T
    origin: Mapping[str, str] = field(default_factory=dict)

    def sha256(self) -> str:
        """Fingerprint of the values, stored with every answer."""
        return options_sha256(self.value)


def options_sha256(*groups: object) -> str:
    """A fingerprint that is the same for the same values, in any process."""
    data = [{type(g).__name__: asdict(g)} for g in groups]  # type: ignore[call-overload]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def resolve(group: type[T], *layers: tuple[str, Mapping[str, Any]]) -> Resolved[T]:
    """Combine layers, the later one wins; keys that are absent or None inherit.

    Raises InvalidOptionsError that names every unknown key and every value outside its range.
    """
    hints = _hints(group)  # type: ignore[arg-type]  # mypy does not see that a class is hashable
    values: dict[str, Any] = {}
    origin = {f.name: "default" for f in fields(group)}  # type: ignore[arg-type]
    faults: list[str] = []
    for layer, given in layers:
        for key, value in given.items():
            if key not in hints:
                faults.append(f"{layer}: unknown option {key!r}")
            elif value is not None:
                if fault := _fault(hints[key], value):
                    faults.append(f"{layer}: {key} {fault}")
                else:
                    values[key], origin[key] = value, layer
    if faults:
        raise InvalidOptionsError("; ".join(faults), faults=faults)
    return Resolved(group(**values), origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two options that cannot work together; `option`, as "group.name", is the one at which a form shows it."""

    option: str
    other: str
    message: str


# The first must not be more than the second where somebody has set both; a default gives way.
_NOT_MORE_THAN = (
    ("chunking.min_tokens", "chunking.max_tokens"),
    ("chunking.max_tokens", "chunking.section_tokens"),
    ("chunking.max_tokens", "answer.context_tokens"),  # the best passage would never stand in a prompt as a whole
    ("retrieval.fine_limit", "retrieval.coarse_limit"),
    ("retrieval.top_k", "retrieval.fine_limit"),  # of one arm, where only one is asked
    ("retrieval.top_k", "retrieval.fused_limit"),
    ("answer.max_chunks", "retrieval.fused_limit"),
)


def conflicts(groups: Mapping[str, Resolved[Any]]) -> list[Conflict]:
    """What in these option groups, by code, cannot work together; groups that are missing are not looked at (V14)."""
    found = []
    for option, other in _NOT_MORE_THAN:
        low, high = _own(groups, option), _own(groups, other)
        if low is not None and high is not None and low > high:
            message = f"Must not be more than {high:g}, the value of {other}."
            found.append(Conflict(option=option, other=other, message=message))
    return found + ([fault] if "answer" in groups and (fault := _loop_fault(groups["answer"].value)) else [])


def _own(groups: Mapping[str, Resolved[Any]], option: str) -> float | None:
    """The value that some layer has given; None: it is the default."""
    code, _, name = option.partition(".")
    group = groups.get(code)
    return None if group is None or group.origin[name] == "default" else getattr(group.value, name)


def _loop_fault(options: AnswerOptions) -> Conflict | None:
    """A loop whose budget does not hold one prompt and one answer ends before its first round."""
    loops = options.mode in ("agentic", "ultimate") or options.strategy in ("adaptive", "self_rag")
    least = options.context_tokens + options.max_tokens
    if not loops or options.loop_tokens >= least:
        return None
    message = f"Must be at least {least}, the tokens of one context and one answer."
    return Conflict(option="answer.loop_tokens", other="answer.max_tokens", message=message)


@cache
def _hints(group: type) -> Mapping[str, Any]:
    return get_type_hints(group, include_extras=True)


def _fault(hint: Any, value: Any) -> str | None:
    """What is wrong with a value, as the end of a sentence; None if nothing is."""
    kind, limits = (get_args(hint)[0], get_args(hint)[1]) if get_origin(hint) is Annotated else (hint, None)
    allowed = (int, float) if kind is float else (kind,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        return f"must be of type {kind.__name__}"
    if isinstance(limits, OneOf):
        known = ", ".join(word or "(empty)" for word in limits.words)
        return None if value in limits.words else f"must be one of {known}"
    if limits is not None and not limits.low <= value <= limits.high:
        return f"must be between {limits.low:g} and {limits.high:g}"
    return None
