"""Values that cross the border of the knowledge app."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from accounts.value_faults import faults_text
from knowledge.options_draft import NO_DRAFT, OptionsDraft
from ragcore.errors import InvalidOptionsError
from ragcore.types import Profile

T = TypeVar("T")

RetrievalMode = Literal["hybrid", "vector", "bm25", "graph"]
JobState = Literal["queued", "running", "succeeded", "partial", "failed"]

STRICT = ConfigDict(extra="forbid", strict=True)
LINK_OF_LINES = "link_of_lines"  # attribute: what names lines behind the address of a file, with {first} and {last}
Glob = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Scalar = str | int | float | bool
ReaderName = Annotated[str, StringConstraints(min_length=1, max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What narrows a search besides the sets; empty means no restriction."""

    axis: str | None = None  # 1, X or Y
    capability: tuple[str, ...] = ()  # codes of X sets
    organisation: tuple[str, ...] = ()  # codes of Y sets
    tags: tuple[str, ...] = ()  # any of them
    metadata: Mapping[str, Any] = field(default_factory=dict)  # attributes, as in knowledge.filtering
    documents: tuple[int, ...] = ()  # ids, any of them
    related_to: int | None = None  # id of a document: only those that stand to it in one of these ways
    relations: tuple[str, ...] = ()  # codes of knowledge.relation_kinds, as seen from it; () for any way

    @property
    def names_documents(self) -> bool:
        """Whether only certain documents are searched: these, or those that are related to one."""
        return bool(self.documents) or self.related_to is not None

    def __bool__(self) -> bool:
        listed = self.capability or self.organisation or self.tags or self.documents
        return bool(self.axis or listed or self.metadata or self.related_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpace:
    """The sets that an answer may be made from. `epoch`: of the tenant at the last change of any of them."""

    readable: tuple[int, ...]  # all sets that the asker may read
    asked: tuple[int, ...]  # of them those that the question is put to
    epoch: int
    adapters: tuple[int, ...] = ()  # of questions, in use by the sets that are asked
    set_embedders: tuple[int, ...] = ()  # embedding models of their own, in use by the sets that are asked
    lists: tuple[tuple[int, ...], ...] | None = None  # what decides by lists of readers; None: there are no lists


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalRequest:
    """One search. `options` are allow-listed overrides of ragcore.options.RetrievalOptions."""

    query: str
    sets: tuple[int, ...] = ()  # empty: all readable ones
    filters: Filters = Filters()
    top_k: int | None = None  # None, here and below: what site and set say
    mode: RetrievalMode = "hybrid"
    rerank: bool | None = None
    cliff: bool | None = None
    profile: Profile | None = None  # the asker's, where they let it take part
    style: str = ""  # of the answer that is asked for
    forms: tuple[str, ...] = ()  # of the same question, asked besides it
    documents_each: int | None = None  # whose best passage stays of every form; None: an equal share of the passages
    context: str = ""  # the question with words of its conversation; makes nothing near that has words of its own
    focus: tuple[int, ...] = ()  # documents that the conversation is about: they are looked into by themselves, too
    parts: tuple[str, ...] = ()  # questions of their own, asked besides it: its parts, steps on the way to its answer
    hypothetical: tuple[str, ...] = ()  # answers that might be: passages near to them are looked for, too
    options: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)  # instead of the product's; site and sets come before
    draft: OptionsDraft = NO_DRAFT  # in the place of what site, sets and lexicons have


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterWarning:
    """Something about filters that is no error and yet not what the asker wanted."""

    code: str  # no_match | unknown_attribute | unknown_tag
    field: str  # such as filters.metadata.release
    message: str  # in English
    data: Mapping[str, Any] | None = None  # see RagError.message_data


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value and how many documents have it."""

    value: Any
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """The most frequent values of one thing, and how many values more there are."""

    values: tuple[FacetValue, ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeFacet:
    """An attribute that documents have."""

    name: str
    documents: int
    kind: str  # number | day | text
    values: Facet


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeFacets:
    """The most frequent attributes, and how many more there are."""

    attributes: tuple[AttributeFacet, ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """Where an ingestion job stands."""

    id: int
    state: JobState
    total: int
    done: int
    failed: int
    stage: str  # the least advanced stage of its open items; the last one when it is over
    errors: tuple[Mapping[str, Any], ...] = ()
    cancelled: int = 0
    paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemProgress:
    """How far one document version is on its way."""

    id: int
    document_id: int
    title: str
    file_name: str
    stage: str
    stage_label: str  # in words
    queue: str
    position: int | None  # 1: is taken next from its queue; None: a worker has it, or it is over
    progress_done: int
    progress_total: int  # pages or passages of the present stage; 0: nothing is counted
    heartbeat: datetime | None
    attempt: int
    not_before: datetime | None  # put off until then, for the reason in `error`
    error_code: str
    error_message: str  # in words
    finished: datetime | None


# ── sources: what is stored as JSON, and checked when it is written ───────────────────────


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class SourceOptions:
    """What a source brings in, and what is said about all of it. In globs `*` also stands for slashes."""

    include: Annotated[tuple[Glob, ...], Field(max_length=100)] = ()  # empty: everything
    exclude: Annotated[tuple[Glob, ...], Field(max_length=100)] = ()
    max_documents: Annotated[int, Field(ge=1, le=1_000_000)] = 100_000
    delete_missing: bool = False  # what the source does not have any more is deleted here
    delete_at_most_percent: Annotated[int, Field(ge=1, le=100)] = 30  # of a source at once; more waits for a person
    clearance: Annotated[int, Field(ge=0, le=4)] = 0  # of documents that say nothing themselves
    clearance_floor: Annotated[int, Field(ge=0, le=4)] = 0  # below it is none
    levels: Annotated[dict[Tag, Annotated[int, Field(ge=0, le=4)]], Field(max_length=50)] = field(default_factory=dict)
    tags: Annotated[tuple[Tag, ...], Field(max_length=50)] = ()
    metadata: Annotated[dict[str, Scalar], Field(max_length=50)] = field(default_factory=dict)
    people: Annotated[dict[ReaderName, ReaderName], Field(max_length=5000)] = field(
        default_factory=dict
    )  # there → here
    requests_per_minute: Annotated[int, Field(ge=0, le=6000)] = 0  # at most; 0: as fast as it answers
    hours: Annotated[str, Field(pattern=r"^(|([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d)$")] = ""  # 22:00-06:00
    shared: bool = False  # owners of sets who do not own the source may compose their sets of it
    allow_private: bool = False  # hosts of its location may have private addresses; platform administrators only


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class SourceFilter:
    """Which documents of a source belong to a set; empty means all of them."""

    paths: Annotated[tuple[Glob, ...], Field(max_length=100)] = ()  # any of them, against the external id
    tags: Annotated[tuple[Tag, ...], Field(max_length=50)] = ()  # any of them
    metadata: Annotated[dict[str, Scalar], Field(max_length=50)] = field(default_factory=dict)  # all of them equal


def strictly(kind: type[T], values: Mapping[str, Any]) -> T:
    """The typed value of a JSON object. Raises InvalidOptionsError that names every unknown key and wrong value."""
    try:
        return TypeAdapter(kind).validate_json(json.dumps(values))
    except ValidationError as error:
        raise InvalidOptionsError("faults", faults=faults_text(error.errors(include_url=False))) from None
