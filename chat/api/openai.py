"""`/v1`: the OpenAI-compatible API (D37)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from accounts.scope import Scope
from chat.api.auth import CallerAuth, caller_of
from chat.api.openai_models import MODEL, model_names, request_of
from chat.api.openai_schemas import CompletionIn
from chat.api.rag import answer_request, start
from chat.api.responses import CompletionOut, ModelOut, ModelsOut, described
from chat.api.sse import event_stream
from chat.errors import UnknownModelError
from chat.executors import run_db
from chat.models import Message
from chat.serializers import serialize_citation, shown_citations, shown_text
from chat.types import Event

openai_router = Router(tags=["OpenAI-compatible"], auth=CallerAuth())


@openai_router.get("/models", summary="Models", openapi_extra=described(ModelsOut))
async def models(request: HttpRequest) -> dict[str, Any]:
    """`ragsite`, which asks everything that the caller may read, also with each mode and preset (`ragsite:fast`), and
    one model for each of those sets (`ragsite/CODE`, which takes a mode or preset, too: `ragsite/CODE:fast`)."""
    names = await run_db(model_names, caller_of(request).scope)
    return {"object": "list", "data": [_model(name) for name in names]}


@openai_router.get("/models/{path:name}", summary="Model", openapi_extra=described(ModelOut))
async def model(request: HttpRequest, name: str) -> dict[str, Any]:
    """One of the models."""
    if name not in await run_db(model_names, caller_of(request).scope, every=True):
        raise UnknownModelError("forbidden", model=name)
    return _model(name)


@openai_router.post("/chat/completions", summary="Chat completion", openapi_extra=described(CompletionOut))
async def chat_completions(request: HttpRequest, body: CompletionIn) -> Any:
    """An answer from the knowledge base; its sources stand in `message.context`.

    What OpenAI takes and this cannot do (several choices, tools, stop words, other formats than text) is refused;
    what would only colour the wording (`top_p`, penalties, `seed`) is named in `context.unused_options`.
    """
    caller = caller_of(request)
    value = await run_db(request_of, caller.scope, body)
    if body.stream:
        return await _streamed(caller.scope, await start(caller, value), body)
    stored = await answer_request(caller, value)
    record = stored.record
    context = _context(
        body,
        citations=[serialize_citation(citation) for citation in shown_citations(record, value)],
        status=record.status,
        message_id=str(stored.message.pk),
        error_message=record.metadata.error_message,
    )
    message = {"role": "assistant", "content": shown_text(record, value), "context": context}
    return {
        "id": f"chatcmpl-{stored.message.pk}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": _finish_reason(record.metadata.is_cut), "logprobs": None}
        ],
        "usage": record.metadata.usage,
    }


# ── in their form ───────────────────────────────────────────────────────────────────────────────


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": MODEL}


def _context(
    body: CompletionIn, *, citations: Sequence[Any], status: str, message_id: str, error_message: str | None
) -> dict[str, Any]:
    return {
        "citations": list(citations),
        "status": status,
        "message_id": message_id,
        "error_message": error_message,
        "unused_options": body.unused(),
    }


def _finish_reason(is_cut: bool) -> str:
    """Why the answer ends: `length` where it was cut at `max_tokens`."""
    return "length" if is_cut else "stop"


async def _streamed(scope: Scope, message: Message, body: CompletionIn) -> StreamingHttpResponse:
    usage = {"usage": None} if body.wants_usage else {}  # OpenAI's last chunk has it, the others say null
    head = {
        "id": f"chatcmpl-{message.pk}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": body.model,
        **usage,
    }
    citations: list[Any] = []

    def choice(delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": dict(delta), "finish_reason": reason, "logprobs": None}]}

    async def translate(event: Event) -> AsyncIterator[Mapping[str, Any]]:
        data = event.data
        if event.type == "context":
            yield choice({"role": "assistant", "content": ""})
        elif event.type == "chunk":
            yield choice({"content": data["content"]})
        elif event.type == "citations":
            citations.extend(data["citations"])
        elif event.type == "error":
            error = {"code": data["code"], "message": data["message"], "details": []}
            yield {"error": {**error, "type": "server_error", "param": None}}
        elif event.type == "done":
            metadata = data["metadata"]
            context = _context(
                body,
                citations=citations,
                status=data["status"],
                message_id=data["message_id"],
                error_message=metadata.get("error_message"),
            )
            yield choice({"context": context}, _finish_reason(bool(metadata.get("is_cut"))))
            if body.wants_usage:
                yield {**head, "choices": [], "usage": data["metadata"]["usage"]}

    return await event_stream(message.pk, scope=scope, vocabulary=translate)
