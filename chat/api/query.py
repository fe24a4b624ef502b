"""`/api/v1/rag/query` and `/query-stream`: the second form of the API (V11)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse

from chat.api.auth import caller_of
from chat.api.rag import answer_request, rag_router, start
from chat.api.responses import QueryOut, described, streamed
from chat.api.schemas import QueryIn
from chat.api.sse import Vocabulary, event_stream
from chat.executors import run_db
from chat.models import MessageCitation
from chat.serializers import serialize_metadata, serialize_source_citations, serialize_sources, shown_text
from chat.types import Event

QUERY_EVENTS = (
    "query_rewritten, documents_retrieved, generation_start, token, generation_complete or error; then data: [DONE]"
)


@rag_router.post("/query", summary="Answer a question (second form)", openapi_extra=described(QueryOut))
async def query(request: HttpRequest, body: QueryIn) -> dict[str, Any]:
    """An answer with its sources."""
    stored = await answer_request(caller_of(request), body.value())
    record, message = stored.record, stored.message
    rows = await run_db(_rows, str(message.pk))
    return {
        "answer": shown_text(record, stored.request),
        "sources": serialize_sources(rows) if body.include_sources else [],
        "query": body.query,
        "rewritten_query": next(iter(record.metadata.rewritten_queries), None),
        "retrieved_count": record.retrieval_stats.get("after_dedup", 0),
        "generation_time": record.metadata.generate_time,
        "citations": serialize_source_citations(rows),
        "metadata": {
            **serialize_metadata(record),
            "status": record.status,
            "message_id": str(message.pk),
            "conversation_id": stored.request.conversation_id or str(message.conversation_id),
            "confidence": record.confidence,
        },
    }


@rag_router.post(
    "/query-stream", summary="Answer a question, streamed (second form)", openapi_extra=streamed(QUERY_EVENTS)
)
async def query_stream(request: HttpRequest, body: QueryIn) -> StreamingHttpResponse:
    """Events `query_rewritten, documents_retrieved, generation_start, token, generation_complete, error`, `[DONE]`."""
    caller = caller_of(request)
    message = await start(caller, body.value())
    return await event_stream(message.pk, scope=caller.scope, vocabulary=_vocabulary(body))


def _vocabulary(body: QueryIn) -> Vocabulary:
    async def translate(event: Event) -> AsyncIterator[Mapping[str, Any]]:
        data = event.data
        if event.type == "context":
            yield {"type": "query_rewritten", "content": next(iter(data.get("rewritten_queries", ())), body.query)}
            yield {"type": "documents_retrieved", "count": data["chunks_count"]}
            yield {"type": "generation_start"}
        elif event.type == "chunk":
            yield {"type": "token", "content": data["content"]}
        elif event.type == "done":
            rows = await run_db(_rows, data["message_id"])
            yield {
                "type": "generation_complete",
                "message_id": data["message_id"],
                "status": data["status"],
                "sources": serialize_sources(rows) if body.include_sources else [],
                "citations": serialize_source_citations(rows),
            }
        elif event.type == "error":
            yield {"type": "error", "code": data["code"], "message": data["message"]}

    return translate


def _rows(message_id: str) -> list[MessageCitation]:
    """The sources of a message that its asker has just been answered from."""
    return list(
        MessageCitation.objects.filter(message_id=message_id).select_related("document", "chunk").order_by("number")
    )
