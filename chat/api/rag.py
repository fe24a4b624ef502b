"""`/api/v1/rag`: retrieval, answers, streams, batches (V1)."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from accounts.selectors import tenant_check
from chat.answering.passage_search import conversation_turns, passages_find
from chat.api.auth import Caller, CallerAuth, caller_of
from chat.api.checking import answer_checked, search_checked
from chat.api.health import health_report
from chat.api.responses import BatchOut, GenerateOut, HealthOut, RetrieveOut, described, streamed
from chat.api.schemas import BatchIn, GenerateIn, RetrieveIn
from chat.api.sse import Vocabulary, event_stream, generate_vocabulary
from chat.errors import InvalidAnswerRequestError
from chat.executors import run_db
from chat.limits import Slot, questions_counted
from chat.models import Conversation, Message
from chat.selectors import message_get
from chat.serializers import serialize_answer, serialize_hits
from chat.turns.lifecycle import BatchItem, StoredAnswer, answer_batch, answer_now, turn_start
from chat.types import AnswerRequest

EVENTS = "context, step, chunk, citations, done or error, each with its id; then data: [DONE]"

rag_router = Router(tags=["answers"], auth=CallerAuth())


@rag_router.post("/retrieve", summary="Find passages", openapi_extra=described(RetrieveOut))
async def retrieve(request: HttpRequest, body: RetrieveIn) -> dict[str, Any]:
    """Passages best first, at most one hit a chunk, with every score; understood in a conversation, if there is one."""
    caller = caller_of(request)
    tenant_check(user=caller.user, tenant_id=body.tenant_id)
    value = body.value()
    await search_checked(scope=caller.scope, sets=value.sets, top_k=value.top_k)
    await questions_counted(caller.user)
    with Slot():
        turns = [turn.value() for turn in body.history]
        if body.conversation_id is not None:
            turns = [*await conversation_turns(scope=caller.scope, conversation_id=body.conversation_id), *turns]
        retrieved, understood = await passages_find(
            scope=caller.scope, user=caller.user, request=value, rewrite_method=body.rewriting(), history=turns
        )
    return serialize_hits(retrieved, trace=body.trace, understood=understood)


@rag_router.post("/generate", summary="Answer a question", openapi_extra=described(GenerateOut))
async def generate(request: HttpRequest, body: GenerateIn) -> dict[str, Any]:
    """A cited answer with the support state of each sentence."""
    stored = await answer_request(caller_of(request), body.value())
    return serialize_answer(record=stored.record, request=stored.request, message=stored.message)


@rag_router.post("/generate/stream", summary="Answer a question, streamed", openapi_extra=streamed(EVENTS))
async def generate_stream(request: HttpRequest, body: GenerateIn) -> StreamingHttpResponse:
    """Server-sent events `context, step, chunk, citations, done, error`, then `[DONE]`; resume with /streams."""
    value = body.value()
    caller = caller_of(request)
    message = await start(caller, value)
    vocabulary = _vocabulary(value.include_inline, value.include_citations)
    return await event_stream(message.pk, scope=caller.scope, vocabulary=vocabulary)


@rag_router.get("/streams/{message_id}", summary="Resume a stream", openapi_extra=streamed(EVENTS))
async def streams(request: HttpRequest, message_id: uuid.UUID) -> StreamingHttpResponse:
    """The events after `Last-Event-ID`; all of them without this header."""
    scope = caller_of(request).scope
    message = await run_db(message_get, scope=scope, message_id=message_id)
    options = message.request
    return await event_stream(
        message.pk,
        scope=scope,
        vocabulary=_vocabulary(options.get("include_inline", True), options.get("include_citations", True)),
        after=_last_event_id(request),
        begun=True,
    )


@rag_router.post("/batch", summary="Answer many questions", openapi_extra=described(BatchOut))
async def batch(request: HttpRequest, body: BatchIn) -> dict[str, Any]:
    """Each question has its own result or error; their order is kept."""
    caller = caller_of(request)
    value = body.values("")
    await answer_checked(scope=caller.scope, request=value)
    await questions_counted(caller.user, questions=len(body.queries))
    items = await answer_batch(scope=caller.scope, user=caller.user, queries=body.queries, request=value)
    return {"results": [serialize_batch_item(item) for item in items]}


@rag_router.get("/health", summary="State of every dependency", openapi_extra=described(HealthOut))
async def health(request: HttpRequest) -> dict[str, Any]:
    """State and latency of database, Redis, workers, embedder and language model."""
    return await health_report()


def serialize_batch_item(item: BatchItem) -> dict[str, Any]:
    """The result of one question of a batch, or its error."""
    if item.result is not None:
        stored = item.result
        result = serialize_answer(record=stored.record, request=stored.request, message=stored.message)
        return {"index": item.index, "result": result}
    assert item.error is not None
    return {"index": item.index, "error": {"code": item.error.code, "message": item.error.message}}


async def answer_request(caller: Caller, value: AnswerRequest) -> StoredAnswer:
    """The whole answer for a client of the API."""
    await answer_checked(scope=caller.scope, request=value)
    await questions_counted(caller.user)
    return await answer_now(scope=caller.scope, user=caller.user, request=value)


async def start(caller: Caller, value: AnswerRequest) -> Message:
    """Start a turn for a client of the API."""
    await answer_checked(scope=caller.scope, request=value)
    await questions_counted(caller.user)
    return await turn_start(scope=caller.scope, user=caller.user, request=value, channel=Conversation.Channel.API)


def _vocabulary(include_inline: bool, include_citations: bool) -> Vocabulary:
    return generate_vocabulary(include_inline=include_inline, include_citations=include_citations)


def _last_event_id(request: HttpRequest) -> int:
    value = request.headers.get("Last-Event-ID", "").strip() or "0"
    if not (value.isascii() and value.isdigit() and len(value) < 16):
        raise InvalidAnswerRequestError("last_event_id")
    return int(value)
