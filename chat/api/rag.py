"""`/api/v1/rag`: retrieval, answers, streams, batches, filters, and the second form of answers."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router

from accounts.key_scopes import KeyScope
from accounts.scope import Scope
from accounts.selectors import tenant_check
from chat.answering.passage_search import conversation_turns, passages_find
from chat.api.auth import CallerAuth, caller_of
from chat.api.health import health_report
from chat.api.pictures import picture_response, serialize_pictures_now
from chat.api.questions import answer_question, check_answer_options, check_search_options, start_turn
from chat.api.responses import (
    BatchOut,
    FilterCountOut,
    FiltersOut,
    GenerateOut,
    HealthOut,
    QueryOut,
    RetrieveOut,
    event_stream_schema,
    response_schema,
)
from chat.api.schemas import BatchIn, FilterCountIn, FilterQuery, GenerateIn, QueryIn, RetrieveIn, batch_query
from chat.api.sse import event_stream, generate_vocabulary, query_vocabulary
from chat.concurrency.admission import take_place
from chat.concurrency.executors import run_db
from chat.concurrency.limits import count_questions_or_raise
from chat.errors import InvalidAnswerRequestError
from chat.selectors import message_get, sources_of
from chat.serializers import (
    serialize_answer,
    serialize_filter_choices,
    serialize_hits,
    serialize_metadata,
    serialize_source_citations,
    serialize_sources,
    serialize_warnings,
    shown_text,
)
from chat.turns.lifecycle import BatchItem, StoredAnswer, answer_batch
from knowledge.services.filters import filters_count, filters_offered
from ragcore.errors import RagError

EVENTS = "context, step, chunk, citations, done or error, each with its id; then data: [DONE]"
QUERY_EVENTS = (
    "query_rewritten, documents_retrieved, generation_start, token, generation_complete or error; then data: [DONE]"
)

ASKING, READING = CallerAuth(KeyScope.ASK), CallerAuth(KeyScope.READ)

rag_router = Router(tags=["answers"], auth=CallerAuth())


@rag_router.post("/retrieve", auth=ASKING, summary="Find passages", openapi_extra=response_schema(RetrieveOut))
async def retrieve(request: HttpRequest, body: RetrieveIn) -> dict[str, Any]:
    """Passages best first, at most one hit a chunk, with every score; understood in a conversation, if there is one."""
    caller = caller_of(request)
    tenant_check(user=caller.user, tenant_id=body.tenant_id)
    value = body.value()
    await check_search_options(scope=caller.scope, sets=value.sets, top_k=value.top_k)
    await count_questions_or_raise(caller.user, key=caller.key_tag)
    async with await take_place(caller.user, key=caller.key_tag):
        turns = [turn.value() for turn in body.history]
        if body.conversation_id is not None:
            turns = [*await conversation_turns(scope=caller.scope, conversation_id=body.conversation_id), *turns]
        retrieved, understood = await passages_find(
            scope=caller.scope, user=caller.user, request=value, rewrite_method=body.rewriting(), history=turns
        )
    return serialize_hits(retrieved, trace=body.trace, understood=understood)


@rag_router.post("/generate", auth=ASKING, summary="Answer a question", openapi_extra=response_schema(GenerateOut))
async def generate(request: HttpRequest, body: GenerateIn) -> dict[str, Any]:
    """A cited answer with the support state of each sentence."""
    caller = caller_of(request)
    return await _serialized(caller.scope, await answer_question(caller, body.value()))


@rag_router.post(
    "/generate/stream", auth=ASKING, summary="Answer a question, streamed", openapi_extra=event_stream_schema(EVENTS)
)
async def generate_stream(request: HttpRequest, body: GenerateIn) -> StreamingHttpResponse:
    """Server-sent events `context, step, chunk, citations, done, error`, then `[DONE]`; resume with /streams."""
    value = body.value()
    caller = caller_of(request)
    message = await start_turn(caller, value)
    vocabulary = generate_vocabulary(
        include_inline=value.include_inline, include_citations=value.include_citations, scope=caller.scope
    )
    return await event_stream(message.pk, scope=caller.scope, vocabulary=vocabulary)


@rag_router.get(
    "/streams/{message_id}", auth=ASKING, summary="Resume a stream", openapi_extra=event_stream_schema(EVENTS)
)
async def streams(request: HttpRequest, message_id: uuid.UUID) -> StreamingHttpResponse:
    """The events after `Last-Event-ID`; all of them without this header."""
    scope = caller_of(request).scope
    message = await run_db(message_get, scope=scope, message_id=message_id)
    options = message.request
    return await event_stream(
        message.pk,
        scope=scope,
        vocabulary=generate_vocabulary(
            include_inline=options.get("include_inline", True),
            include_citations=options.get("include_citations", True),
            scope=scope,
        ),
        after=_last_event_id(request),
        begun=True,
    )


@rag_router.post("/batch", auth=ASKING, summary="Answer many questions", openapi_extra=response_schema(BatchOut))
async def batch(request: HttpRequest, body: BatchIn) -> dict[str, Any]:
    """Each question has its own result or error; their order is kept."""
    caller = caller_of(request)
    value = body.values("")
    await check_answer_options(scope=caller.scope, request=value)
    queries = [_query_or_error(query) for query in body.queries]
    if number := sum(isinstance(query, str) for query in queries):
        await count_questions_or_raise(caller.user, key=caller.key_tag, questions=number)
    items = await answer_batch(scope=caller.scope, user=caller.user, queries=queries, request=value, key=caller.key_tag)
    return {"results": [await serialize_batch_item(caller.scope, item) for item in items]}


def _query_or_error(value: Any) -> str | RagError:
    try:
        return batch_query(value)
    except RagError as error:
        return error


@rag_router.get("/health", auth=READING, summary="State of every dependency", openapi_extra=response_schema(HealthOut))
async def health(request: HttpRequest) -> dict[str, Any]:
    """State and latency of database, Redis, workers, embedder and language model."""
    return await health_report()


@rag_router.post(
    "/query", auth=ASKING, summary="Answer a question (second form)", openapi_extra=response_schema(QueryOut)
)
async def query(request: HttpRequest, body: QueryIn) -> dict[str, Any]:
    """An answer with its sources."""
    stored = await answer_question(caller_of(request), body.value())
    record, message = stored.record, stored.message
    rows = await run_db(sources_of, str(message.pk))
    return {
        "answer": shown_text(record, stored.request),
        "sources": serialize_sources(rows) if body.include_sources else [],
        "query": body.query,
        "rewritten_query": next(iter(record.metadata.rewritten_queries), body.query),
        "retrieved_count": record.metadata.chunks_found,
        "generation_time": record.metadata.generate_time,
        "citations": serialize_source_citations(rows),
        "pictures": await serialize_pictures_now(
            scope=caller_of(request).scope, stored=stored, is_wanted=body.include_sources
        ),
        "metadata": {
            **serialize_metadata(record),
            "status": record.status,
            "message_id": str(message.pk),
            "conversation_id": stored.request.conversation_id or str(message.conversation_id),
            "confidence": record.confidence,
        },
    }


@rag_router.post(
    "/query-stream",
    auth=ASKING,
    summary="Answer a question, streamed (second form)",
    openapi_extra=event_stream_schema(QUERY_EVENTS),
)
async def query_stream(request: HttpRequest, body: QueryIn) -> StreamingHttpResponse:
    """Events `query_rewritten, documents_retrieved, generation_start, token, generation_complete, error`, `[DONE]`."""
    caller = caller_of(request)
    message = await start_turn(caller, body.value())
    return await event_stream(
        message.pk,
        scope=caller.scope,
        vocabulary=query_vocabulary(question=body.query, include_sources=body.include_sources, scope=caller.scope),
    )


@rag_router.get(
    "/filters", auth=ASKING, summary="What a search can be narrowed by", openapi_extra=response_schema(FiltersOut)
)
async def filters(request: HttpRequest, query: Query[FilterQuery]) -> dict[str, Any]:
    """Sets by axis, tags and attributes of the documents that you may search, with the number of documents of each.

    The fifty most frequent of each, tags and attributes in the newest 50,000 documents; `more` says how many there are
    besides. `q`: only those that hold these words.
    """
    choices = await run_db(filters_offered, scope=caller_of(request).scope, words=query.q.strip())
    return serialize_filter_choices(choices)


@rag_router.post(
    "/filters/count", auth=ASKING, summary="How much a filter leaves", openapi_extra=response_schema(FilterCountOut)
)
async def count(request: HttpRequest, body: FilterCountIn) -> dict[str, Any]:
    """Documents and passages that a search with these sets and filters goes through; `warnings` where it is none."""
    counts = await run_db(
        filters_count, scope=caller_of(request).scope, sets=tuple(body.sets), filters=body.filters.value()
    )
    return {
        "documents": counts.documents,
        "passages": counts.passages,
        "warnings": serialize_warnings(counts.warnings),
    }


@rag_router.get(
    "/pictures/{version_id}/{name}",
    auth=ASKING,
    summary="A picture of a cited passage",
    openapi_extra={"responses": {200: {"description": "The picture", "content": {"image/*": {}}}}},
)
async def picture(request: HttpRequest, version_id: int, name: str) -> HttpResponse:
    """The bytes of a picture that an answer names in `pictures`, for who may open its document."""
    return await picture_response(request, version_id, name)


def _last_event_id(request: HttpRequest) -> int:
    value = request.headers.get("Last-Event-ID", "").strip() or "0"
    if not (value.isascii() and value.isdigit() and len(value) < 16):
        raise InvalidAnswerRequestError("last_event_id")
    return int(value)


async def _serialized(scope: Scope, stored: StoredAnswer) -> dict[str, Any]:
    pictures = await serialize_pictures_now(scope=scope, stored=stored, is_wanted=stored.request.include_citations)
    answer = serialize_answer(record=stored.record, request=stored.request, message=stored.message)
    return {**answer, "pictures": pictures}


async def serialize_batch_item(scope: Scope, item: BatchItem) -> dict[str, Any]:
    """The result of one question of a batch, or its error."""
    if item.result is not None:
        return {"index": item.index, "result": await _serialized(scope, item.result)}
    assert item.error is not None
    return {"index": item.index, "error": {"code": item.error.code, "message": item.error.message}}
