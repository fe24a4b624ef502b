"""Values of the chat app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Protocol

from knowledge.options_draft import NO_DRAFT, OptionsDraft
from knowledge.types import Filters, FilterWarning, RetrievalMode
from ragcore.types import Sentence
from ragcore.types.answering import Turn

Mode = Literal["basic", "enhanced", "agentic", "ultimate"]
Strategy = Literal["standard", "adaptive", "self_rag"]
Preset = Literal["accurate", "fast", "balanced", "cheap"]
Style = Literal["simple", "advanced", "precise", "report"]
# Of the composer; "": as site and knowledge set say.
AnswerForm = Literal["", "simple", "report", "advanced", "precise"]
# The same; see chat.pages.depths.
Depth = Literal["", "fast", "cheap", "thorough", "parts", "adaptive", "accurate", "research"]
RewriteMethod = Literal[
    "auto",
    "none",
    "multi",
    "hyde",
    "expand",
    "decompose",
    "step_back",
    "variants",
    "simplify",
    "clarify",
    "domain",
]
CitationFormat = Literal["markdown", "html", "plain"]
CompressionMethod = Literal["none", "sentence_extraction", "llm_compression", "hybrid"]
PromptType = Literal["subject", "object", "relationship", "type"]

MAX_QUERY_CHARACTERS = 2000
MAX_BATCH = 100

EventType = Literal["context", "step", "thought", "chunk", "block", "tail", "citations", "done", "error"]


def to_plain(record: Any) -> dict[str, Any]:
    """`dataclasses.asdict` without its copies of what is no dataclass; it takes two fifths of the time."""
    kind: Any = type(record)
    return {name: _plain_value(getattr(record, name)) for name in _names(kind)}


def _plain_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain_value(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        kind = tuple if isinstance(value, tuple) else list
        return kind(map(_plain_value, value))
    return to_plain(value) if is_dataclass(value) and not isinstance(value, type) else value


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """Limits of one answer."""

    max_cost_per_query: float | None = None
    max_latency: float | None = None  # seconds
    estimated_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """A question with the validated values of `POST /api/v1/rag/generate`; None: inherit.

    `history` is what a client sent along instead of a conversation; `given` names the fields that were sent.
    """

    query: str
    sets: tuple[int, ...] = ()
    filters: Filters = Filters()
    tenant_id: str | None = None
    conversation_id: str | None = None
    mode: Mode | None = None
    strategy: Strategy | None = None
    preset: Preset | None = None
    style: Style = "report"
    rewrite_method: RewriteMethod = "auto"
    retrieval_mode: RetrievalMode = "hybrid"
    rerank: bool = True
    top_k: int = 10
    max_chunks: int = 10
    temperature: float = 0.2
    max_tokens: int = 1000
    system_prompt: str | None = None
    include_citations: bool = True
    include_inline: bool = True
    citation_format: CitationFormat = "markdown"
    compression_method: CompressionMethod = "none"
    compression_ratio: float = 0.6
    enable_kg_enhancement: bool = True
    use_agentic_rag: bool | None = None
    max_agentic_iterations: int = 3
    confidence_threshold: float = 0.8
    use_tiered_generation: bool | None = None
    constraints: Constraints = Constraints()
    prefer_api_models: bool = False
    prompt_type: PromptType | None = None
    strict: bool = False
    cache: bool = True
    personal: bool = True  # the user's work profile may take part; measurements leave it out
    history: tuple[Turn, ...] = ()
    instead_of: str | None = None  # id of the turn of which this is another version; see chat.branches
    attachments: tuple[str, ...] = ()  # keys of files that are attached from this question on
    after: str | None = None  # id of a turn of the branch that this one continues; None: the one that is shown
    given: frozenset[str] = frozenset()
    draft: OptionsDraft = NO_DRAFT  # in the place of what site, sets and lexicons have; measurements alone try one

    def to_json(self) -> dict[str, Any]:
        """JSON for the message, enough to ask the same again."""
        plain = to_plain(self)
        del plain["draft"]
        return {**plain, "given": sorted(self.given)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a turn. Sequence numbers begin with 1 and have no gaps."""

    sequence: int
    type: EventType
    data: Mapping[str, Any]


class EventSink(Protocol):
    """Takes the events of a running turn."""

    async def __call__(self, kind: EventType, /, **data: Any) -> None: ...


async def ignore_event(kind: EventType, /, **data: Any) -> None:
    """An `EventSink` for answers without a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationRecord:
    """A citation as it is stored and sent."""

    number: int
    chunk_id: int
    document_id: int
    version_id: int
    version: int
    external_id: str
    title: str
    page: int | None
    content: str  # the first 200 characters
    score: float
    confidence: float
    position: int
    segment: str
    weak: bool
    cited: bool = True  # False: a source that the answer does not point to
    relevance: float | None = None  # that the source answers the question, 0 to 1; None: not judged
    edited: str = ""  # when an owner wrote the text of the passage, ISO 8601; "": it is as in the document
    fact: int = 0  # id of the imported fact that it quotes, from the file `external_id`; ids as below
    replaced_by: Mapping[str, Any] | None = None  # id, title and external id of the document that holds in its place
    attachment: str = ""  # key of the attached file that it quotes; then the ids are those of no document, below 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMetadata:
    """How an answer came to be. Times are in seconds; None where the part did not run."""

    total_time: float = 0.0
    rewrite_time: float | None = None
    retrieve_time: float | None = None
    rerank_time: float | None = None
    generate_time: float | None = None
    first_token_time: float | None = None
    thinking_time: float | None = None  # a part of the time of writing or of the rounds
    stage_times: Mapping[str, float] = field(default_factory=dict)
    chunks_found: int = 0
    model: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)  # prompt_, completion_ (of them reasoning_) and total_tokens
    cost: float | None = None  # in the currency of the price table; None where a price is not known
    usage_by_purpose: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    choice: tuple[str, ...] = ()  # codes: why this strategy and this tier
    tier: str | None = None
    strategy: str = ""
    mode_used: str = ""  # basic, …, ultimate; fallback where the mode's own way failed
    cache: str = "none"  # or "exact", "semantic"
    understood: str | None = None  # the question without its conversation, where that is another one
    rewritten_queries: tuple[str, ...] = ()
    options_sha256: str = ""
    error_message: str | None = None  # why the answer is degraded
    stopped: bool = False  # by the reader
    is_cut: bool = False  # at the limit of tokens
    unused_options: tuple[str, ...] = ()
    skipped_stages: Mapping[str, str] = field(default_factory=dict)  # stage -> code of its error
    warnings: tuple[FilterWarning, ...] = ()
    notes: tuple[str, ...] = ()  # codes: "unchecked", "other_language", "quoted_instead", "doubted"
    approved: Mapping[str, str] | None = None  # id, by (name), at (date): a reviewer has approved this answer
    experiment: str = ""  # "id:arm" of the experiment that the question took part in
    answered_at: str = ""  # of a cached answer: when it was written, as ISO 8601

    def to_json(self) -> dict[str, Any]:
        plain = to_plain(self)
        for name in ("experiment", "answered_at"):  # most answers have none
            if not plain[name]:
                del plain[name]
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AnswerMetadata:
        warnings = tuple(FilterWarning(**warning) for warning in data["warnings"])
        names = ("choice", "rewritten_queries", "unused_options", "notes")
        return cls(**{**data, **{name: tuple(data[name]) for name in names}, "warnings": warnings})


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRecord:
    """A finished answer: what is stored, cached and sent."""

    text: str
    html: str
    status: str
    confidence: float
    citations: tuple[CitationRecord, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    retrieval_stats: Mapping[str, int] = field(default_factory=dict)
    metadata: AnswerMetadata = AnswerMetadata()
    trace: Mapping[str, Any] = field(default_factory=dict)
    reasoning: Mapping[str, Any] = field(default_factory=dict)  # what was understood and done on the way

    def to_json(self) -> dict[str, Any]:
        return to_plain(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AnswerRecord:
        citations = tuple(CitationRecord(**citation) for citation in data["citations"])
        sentences = tuple(
            Sentence(**{**sentence, "citations": tuple(sentence["citations"])}) for sentence in data["sentences"]
        )
        metadata = AnswerMetadata.from_json(data["metadata"])
        return cls(**{**data, "citations": citations, "sentences": sentences, "metadata": metadata})

    @property
    def cited(self) -> tuple[CitationRecord, ...]:
        return tuple(citation for citation in self.citations if citation.cited)
