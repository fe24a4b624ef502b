"""`/api/v1/dify`: knowledge sets as the external knowledge of Dify.

The address of the connection is `https://SITE/api/v1/dify`, its key a key of ours, the id of the knowledge the code or
the number of a set. Form of requests and answers: Dify's description of its External Knowledge API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import AfterValidator, BeforeValidator, Field

from accounts.errors import NotFoundError
from accounts.key_scopes import KeyScope
from accounts.scope import Scope
from chat.answering.grounding import relevance_judge
from chat.answering.passage_search import passages_find
from chat.answering.retrieval import SearchOutcome
from chat.api.auth import CallerAuth, caller_of
from chat.api.responses import KnowledgeRecordsOut, response_schema
from chat.api.schemas import MAX_ID, Text
from chat.concurrency.admission import take_place
from chat.concurrency.executors import run_cpu, run_db
from chat.concurrency.limits import count_questions_or_raise
from chat.types import MAX_QUERY_CHARACTERS
from knowledge.filtering import conditions_of
from knowledge.models import KnowledgeSet
from knowledge.search_profile import Retrieved
from knowledge.selectors import sets_readable
from knowledge.types import Filters, RetrievalRequest
from ragcore.types import Source
from ragcore.understanding.prompt_question import prompt_question

MAX_RECORDS = 50
MAX_PROMPT_CHARACTERS = 200_000  # what a program puts around its question, too
MAX_CONDITIONS = 50

dify_router = Router(tags=["Dify"], auth=CallerAuth())


def _names(value: Any) -> Any:
    """Earlier versions of Dify send the name of an attribute in a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


class ConditionIn(Schema):
    """What an attribute of a document must be."""

    name: Annotated[str, Field(min_length=1, max_length=256), BeforeValidator(_names)]
    comparison_operator: str = Field(description="is, =, in, >, ≥, <, ≤, before or after.")
    value: Any = None


def _readable(conditions: list[ConditionIn]) -> list[ConditionIn]:
    _attributes_of(conditions)
    return conditions


class ConditionsIn(Schema):
    logical_operator: Literal["and", "or"] = "and"
    conditions: Annotated[list[ConditionIn], Field(max_length=MAX_CONDITIONS), AfterValidator(_readable)] = []

    def attributes(self) -> dict[str, Any]:
        """As the filter `metadata`. Raises ValueError for what it cannot say."""
        return _attributes_of(self.conditions)


def _one_at_most(value: ConditionsIn | None) -> ConditionsIn | None:
    if value is not None and value.logical_operator == "or" and len(value.conditions) > 1:
        raise ValueError("only conditions that must all hold are understood: logical_operator and")
    return value


class RetrievalSettingIn(Schema):
    top_k: int = Field(default=5, ge=1, le=MAX_RECORDS)
    score_threshold: float = Field(default=0.0, ge=0, le=1)


class KnowledgeQueryIn(Schema):
    """Further fields that versions of Dify send are no fault."""

    knowledge_id: Annotated[Text, Field(min_length=1, max_length=64)] = Field(description="Code or number of a set.")
    query: Annotated[Text, Field(min_length=1, max_length=MAX_PROMPT_CHARACTERS)]
    retrieval_setting: RetrievalSettingIn = RetrievalSettingIn()
    metadata_condition: Annotated[ConditionsIn | None, AfterValidator(_one_at_most)] = None


@dify_router.post(
    "/retrieval",
    auth=CallerAuth(KeyScope.ASK),
    summary="Passages for Dify",
    openapi_extra=response_schema(KnowledgeRecordsOut),
)
async def retrieval(request: HttpRequest, body: KnowledgeQueryIn) -> dict[str, Any]:
    """Passages of one set, best first. `score`: probability, 0 to 1, that the passage answers the question."""
    caller = caller_of(request)
    set_id = await run_db(_set_id, caller.scope, body.knowledge_id)
    await count_questions_or_raise(caller.user, key=caller.key_tag)
    search = RetrievalRequest(
        query=await run_cpu(prompt_question, body.query, most=MAX_QUERY_CHARACTERS),
        sets=(set_id,),
        top_k=body.retrieval_setting.top_k,
        filters=Filters(metadata=body.metadata_condition.attributes() if body.metadata_condition else {}),
    )
    async with await take_place(caller.user, key=caller.key_tag):
        retrieved, _understood = await passages_find(
            scope=caller.scope, user=caller.user, request=search, rewrite_method="none"
        )
        records = await run_cpu(_records, search.query, retrieved)
    return {"records": [record for record in records if record["score"] >= body.retrieval_setting.score_threshold]}


def _set_id(scope: Scope, name: str) -> int:
    """The number of a readable set with this code, else with this number. Raises NotFoundError. Uses the ORM."""
    readable = sets_readable(scope=scope)
    row: KnowledgeSet | None = readable.filter(code=name).first()
    if row is None and name.isascii() and name.isdigit() and int(name) <= MAX_ID:
        row = readable.filter(pk=int(name)).first()
    if row is None:
        raise NotFoundError("set", set=name)
    return int(row.pk)


def _records(question: str, retrieved: Retrieved) -> list[dict[str, Any]]:
    """The passages in Dify's form."""
    outcome = SearchOutcome(retrieved=retrieved, seconds=0.0)
    judge = relevance_judge(question, outcome)
    sources = [
        Source(number=number, passage=passage, text=passage.text, score=0.0)
        for number, (passage, _candidate) in enumerate(outcome.hits, start=1)
    ]
    return [
        {
            "content": source.text,
            "score": judge.of_source(source),
            "title": source.passage.title,
            "metadata": {
                "document_id": source.passage.document,
                "chunk_id": source.passage.chunk,
                "external_id": source.passage.external_id,
                "page": source.passage.page,
                "heading_path": list(source.passage.heading_path),
            },
        }
        for source in sources
    ]


# ── conditions ──────────────────────────────────────────────────────────────────────────────────


def _attributes_of(conditions: Sequence[ConditionIn]) -> dict[str, Any]:
    """Conditions that must all hold, as the filter `metadata`. Raises ValueError."""
    attributes: dict[str, Any] = {}
    for condition in conditions:
        read = CONDITIONS.get(condition.comparison_operator)
        if read is None:
            raise ValueError(f"{condition.comparison_operator[:64]!r} is not known; there are {', '.join(CONDITIONS)}")
        value, former = read(condition.value), attributes.get(condition.name)
        if former is not None and not (isinstance(former, Mapping) and isinstance(value, Mapping)):
            raise ValueError(f"{condition.name}: several conditions can only be the bounds of one range")
        attributes[condition.name] = {**former, **value} if former is not None else value
    conditions_of(attributes)
    return attributes


def _bound(operator: str, read: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {operator: read(value)}


def _equal(value: Any) -> Any:
    return value


def _number(value: Any) -> Any:
    """A number, also one that is sent as a text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("must be a number") from None


def _day(value: Any) -> Any:
    """A day, also one that is sent as seconds since 1970 or with a time of day."""
    if isinstance(value, str) and not value.isdigit():
        return value[:10]
    try:
        return datetime.fromtimestamp(float(value), UTC).date().isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        raise ValueError("must be a day such as 2024-01-31, or seconds since 1970") from None


CONDITIONS: Mapping[str, Callable[[Any], Any]] = {
    "is": _equal,
    "in": _equal,
    "=": _number,
    ">": _bound("gt", _number),
    "≥": _bound("gte", _number),
    "<": _bound("lt", _number),
    "≤": _bound("lte", _number),
    "before": _bound("lt", _day),
    "after": _bound("gt", _day),
}
