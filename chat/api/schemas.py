"""Bodies of requests: exact names, types and limits. What does not fit is answered with 422."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

from django.utils.translation import gettext as _
from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from accounts.storable import storable_bytes
from accounts.value_faults import faults_of
from chat.errors import InvalidAnswerRequestError
from chat.types import (
    MAX_BATCH,
    MAX_QUERY_CHARACTERS,
    AnswerRequest,
    CitationFormat,
    CompressionMethod,
    Constraints,
    Mode,
    Preset,
    PromptType,
    RewriteMethod,
    Strategy,
    Style,
)
from knowledge.filtering import Between, Operator, conditions_of
from knowledge.relation_kinds import WORDS
from knowledge.types import Filters, RetrievalMode, RetrievalRequest
from ragcore.options import AnswerOptions, RetrievalOptions, option_fields
from ragcore.text.normalise import visible
from ragcore.types.answering import Turn

MAX_ID = 2**63 - 1
MAX_LEVELS = 20  # of attributes; what is nested without end would exhaust the stack further in
MAX_ATTRIBUTES_BYTES = 64 * 1024
MAX_TURNS = 50  # as many as a conversation that is kept here
MAX_ANSWER_CHARACTERS = 20_000  # of an earlier answer; more than the longest that is written here

SetId = Annotated[int, Field(ge=1, le=MAX_ID)]


def _known_relation(code: str) -> str:
    """Raises ValueError for what is no way to be related."""
    if code not in WORDS:
        raise ValueError(_("There is no kind of relation '%(kind)s'.") % {"kind": code})
    return code


def _storable(text: str) -> str:
    """Raises ValueError for what PostgreSQL cannot keep: NUL and halves of surrogate pairs."""
    if "\x00" in text:
        raise ValueError("must not contain the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode") from None
    return text


def _attributes(value: dict[str, Any]) -> dict[str, Any]:
    """Raises ValueError for attributes that no document can have, and for conditions that nobody understands."""
    layer: list[Any] = [value]
    for _level in range(MAX_LEVELS):
        layer = [inner for value in layer for inner in _inside(value)]
    if layer:
        raise ValueError(f"must not be nested more than {MAX_LEVELS} levels deep")
    size = storable_bytes(value)
    if size is None or size > MAX_ATTRIBUTES_BYTES:
        raise ValueError("cannot be the attributes of a document")
    for name, condition in conditions_of(value).items():
        if isinstance(condition, Between) and _is_empty(condition.bounds):
            raise ValueError(f"{name}: no value lies between these bounds")
    return value


def _is_empty(bounds: Mapping[Operator, Any]) -> bool:
    """Whether nothing lies between the bounds, whatever the documents say."""
    above = [value for name, value in bounds.items() if name in ("gt", "gte")]
    below = [value for name, value in bounds.items() if name in ("lt", "lte")]
    if not above or not below:
        return False
    lowest, highest = max(above), min(below)
    touches = bounds.get("gt") != lowest and bounds.get("lt") != highest  # both bounds belong to the range
    return bool(lowest > highest or (lowest == highest and not touches))


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _known_rewrite(value: Any) -> Any:
    """An unknown method counts as none; anything but a word is an error."""
    return value if not isinstance(value, str) or value in get_args(RewriteMethod) else "none"


def _not_blank(text: str) -> str:
    if not visible(text).strip():
        raise ValueError("must not be blank")
    return text


Text = Annotated[str, AfterValidator(_storable)]
QueryText = Annotated[
    str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS), AfterValidator(_storable), AfterValidator(_not_blank)
]
Identifier = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_storable)]
Rewrite = Annotated[RewriteMethod, BeforeValidator(_known_rewrite)]
Word = Annotated[str, Field(max_length=128), AfterValidator(_storable)]
RelationCode = Annotated[str, Field(max_length=16, examples=["tested_by"]), AfterValidator(_known_relation)]


def option_field(group: type, name: str) -> Any:
    """A field of a request with the default and the range that an option declares."""
    declared = option_fields(group)[name]
    return Field(default=declared.default, ge=declared.option.low, le=declared.option.high)


class Strict(Schema):
    """No unknown fields, no conversions between types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class FiltersIn(Strict):
    """What narrows a search: all of it must hold; empty means no restriction."""

    axis: Literal["1", "X", "Y"] | None = Field(default=None, description="Sets of this axis only.")
    capability: list[Word] = Field(default=[], max_length=100, description="Codes of sets of axis X, any of them.")
    organisation: list[Word] = Field(default=[], max_length=100, description="Codes of sets of axis Y, any of them.")
    tags: list[Word] = Field(default=[], max_length=100, description="Any of them.")
    metadata: Annotated[dict[str, Any], AfterValidator(_attributes)] = Field(
        default={},
        description="Attributes, all of them: a value; a list of which any may fit; or a range of gte, gt, lte, lt "
        "with numbers or days (YYYY-MM-DD).",
        examples=[{"product": "BTS", "release": ["16", "17"], "year": {"gte": 2020, "lte": 2024}}],
    )
    documents: list[SetId] = Field(default=[], max_length=100, description="Ids of documents, any of them.")
    related_to: SetId | None = Field(default=None, description="Only documents that are related to this one.")
    relations: list[RelationCode] = Field(
        default=[], max_length=20, description="How they are related, as seen from that document; empty: in any way."
    )

    def value(self) -> Filters:
        return Filters(
            axis=self.axis,
            capability=tuple(self.capability),
            organisation=tuple(self.organisation),
            tags=tuple(self.tags),
            metadata=self.metadata,
            documents=tuple(self.documents),
            related_to=self.related_to,
            relations=tuple(self.relations),
        )


class FilterQuery(Strict):
    """`GET /api/v1/rag/filters`."""

    q: Word = Field(default="", description="Only sets, tags and values that hold these words.")


class FilterCountIn(Strict):
    """`POST /api/v1/rag/filters/count`."""

    sets: list[SetId] = Field(default=[], max_length=1000)
    filters: FiltersIn = FiltersIn()


class TurnIn(Strict):
    """An earlier turn of the asker's conversation."""

    question: QueryText
    answer: Annotated[str, Field(max_length=MAX_ANSWER_CHARACTERS), AfterValidator(_storable)] = ""

    def value(self) -> Turn:
        return Turn(question=self.question, answer=self.answer)


class RetrieveIn(Strict):
    """`POST /api/v1/rag/retrieve`."""

    query: QueryText
    conversation_id: Identifier | None = Field(
        default=None, description="A conversation of `generate`: the question is understood with its turns."
    )
    history: list[TurnIn] = Field(
        default=[],
        max_length=MAX_TURNS,
        description="Earlier turns, oldest first, behind those of the conversation: the question is understood with "
        "them. In a conversation `rewrite_method` is `auto` unless given.",
    )
    sets: list[SetId] = Field(default=[], max_length=1000)
    filters: FiltersIn = FiltersIn()
    top_k: int = Field(default=10, ge=1, le=50)
    mode: RetrievalMode = "hybrid"
    rewrite_method: Rewrite = Field(
        default="none", description="Other forms to search with; `auto` and the others as for `generate`."
    )
    rerank: bool = True
    cliff: bool = False
    tenant_id: Identifier | None = None
    trace: bool = False

    def rewriting(self) -> RewriteMethod:
        """The method for other forms; in a conversation "auto" where the client names none."""
        in_conversation = self.conversation_id is not None or bool(self.history)
        return "auto" if in_conversation and "rewrite_method" not in self.model_fields_set else self.rewrite_method

    def value(self) -> RetrievalRequest:
        return RetrievalRequest(
            query=self.query,
            sets=tuple(dict.fromkeys(self.sets)),
            filters=self.filters.value(),
            mode=self.mode,
            **{name: getattr(self, name) for name in ("top_k", "rerank", "cliff") if name in self.model_fields_set},
        )


class ConstraintsIn(Strict):
    """Limits of one answer."""

    max_cost_per_query: float | None = Field(default=None, ge=0, le=1000)
    max_latency: float | None = Field(default=None, ge=0, le=3600)
    estimated_tokens: int | None = Field(default=None, ge=0, le=1_000_000)


class AnswerOptionsIn(Strict):
    """What `generate` and `batch` have in common."""

    sets: list[SetId] = Field(default=[], max_length=1000)
    filters: FiltersIn = FiltersIn()
    tenant_id: Identifier | None = None
    conversation_id: Identifier | None = None
    mode: Mode | None = None
    strategy: Strategy | None = None
    preset: Preset | None = None
    style: Style = "report"
    rewrite_method: Rewrite = Field(
        default="auto",
        description="Other forms to search with. `auto`, also where it is left out: abbreviations written out, and "
        "up to three forms of a model that writes them within a second; late ones are dropped. Where `auto` is named, "
        "a long question without a stream also gets a possible answer. `none`: as it was asked.",
    )
    retrieval_mode: RetrievalMode = "hybrid"
    rerank: bool = True
    top_k: int = option_field(RetrievalOptions, "top_k")
    max_chunks: int = option_field(AnswerOptions, "max_chunks")
    temperature: float = option_field(AnswerOptions, "temperature")
    max_tokens: int = option_field(AnswerOptions, "max_tokens")
    system_prompt: Annotated[str, Field(max_length=8000), AfterValidator(_storable)] | None = None
    include_citations: bool = True
    include_inline: bool = True
    citation_format: CitationFormat = "markdown"
    compression_method: CompressionMethod = "none"
    compression_ratio: float = option_field(AnswerOptions, "compression_ratio")
    enable_kg_enhancement: bool = True
    use_agentic_rag: bool | None = None
    max_agentic_iterations: int = option_field(AnswerOptions, "max_agentic_iterations")
    confidence_threshold: float = option_field(AnswerOptions, "confidence_threshold")
    use_tiered_generation: bool | None = None
    constraints: ConstraintsIn = ConstraintsIn()
    prefer_api_models: bool = False
    prompt_type: PromptType | None = None
    strict: bool = False
    cache: bool = True

    def values(self, query: str) -> AnswerRequest:
        """The request for one question."""
        fields = self.model_dump(exclude={"filters", "constraints", "sets", "query", "queries", "attachments"})
        return AnswerRequest(
            query=query,
            sets=tuple(dict.fromkeys(self.sets)),
            filters=self.filters.value(),
            constraints=Constraints(**self.constraints.model_dump()),
            given=frozenset(self.model_fields_set),
            **fields,
        )


class GenerateIn(AnswerOptionsIn):
    """`POST /api/v1/rag/generate` and `/generate/stream`."""

    query: QueryText
    instead_of: Identifier | None = Field(
        default=None,
        description="Id of a message of the conversation: this question takes its place as another version, which is "
        "shown from now on; earlier versions and what followed them are kept.",
    )
    after: Identifier | None = Field(
        default=None,
        description="Id of a message of the conversation: the question continues the branch with it, behind its last "
        "turn. By default it continues the branch that is shown.",
    )

    attachments: list[Identifier] = Field(
        default=[],
        max_length=10,
        description="Ids of attached files that this question and those after it in the conversation may be answered "
        "from.",
    )

    def value(self) -> AnswerRequest:
        return replace(self.values(self.query), attachments=tuple(dict.fromkeys(self.attachments)))


class BatchIn(AnswerOptionsIn):
    """`POST /api/v1/rag/batch`."""

    queries: list[Any] = Field(
        min_length=1,
        max_length=MAX_BATCH,
        description="Questions, each with the limits of `query` of `generate`; one beyond them has its own error.",
    )


def batch_query(value: Any) -> str:
    """One question of a batch. Raises InvalidAnswerRequestError, which is its result alone."""
    try:
        return TypeAdapter(QueryText).validate_python(value, strict=True)
    except ValidationError as error:
        [(_place, problem), *_others] = faults_of(error.errors(include_url=False))
        raise InvalidAnswerRequestError("field", field="query", problem=problem) from None


class QueryIn(Strict):
    """`POST /api/v1/rag/query` and `/query-stream`, the second form."""

    query: QueryText
    conversation_id: Identifier | None = None
    tenant_id: Identifier | None = None
    mode: Literal["simple", "advanced", "precise"] = "simple"
    top_k: int = Field(default=5, ge=1, le=20)
    temperature: float = Field(default=0.7, ge=0, le=2)
    include_sources: bool = True

    def value(self) -> AnswerRequest:
        return AnswerRequest(
            query=self.query,
            conversation_id=self.conversation_id,
            tenant_id=self.tenant_id,
            style=self.mode,
            top_k=self.top_k,
            max_chunks=self.top_k,
            temperature=self.temperature,
            given=frozenset({"style", "top_k", "max_chunks", "temperature"}),  # this form has its own defaults
        )
