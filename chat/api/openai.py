"""`/v1`: the OpenAI-compatible API (D37). `model` is `ragsite` or `ragsite/<set code>`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router, Schema
from pydantic import AfterValidator, ConfigDict, Field

from accounts.scope import Scope
from chat import services
from chat.api.auth import CallerAuth, caller_of
from chat.api.rag import start
from chat.api.responses import CompletionOut, ModelsOut, described
from chat.api.schemas import FiltersIn, Text
from chat.api.sse import event_stream
from chat.errors import UnknownModelError
from chat.models import Message
from chat.threads import run_db
from chat.types import MAX_QUERY_CHARACTERS, AnswerRequest, Event, Exchange
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_readable

openai_router = Router(tags=["OpenAI-compatible"], auth=CallerAuth())

MODEL = "ragsite"
MAX_MESSAGES = 200
MAX_CONTENT_CHARACTERS = 200_000  # of one message; longer ones would keep the tokeniser busy for nothing
MAX_PARTS = 200

Content = Annotated[Text, Field(max_length=MAX_CONTENT_CHARACTERS)]


class PartIn(Schema):
    """A part of a message's content; only text is read."""

    type: Annotated[str, Field(max_length=64)]
    text: Content = ""


class MessageIn(Schema):
    """A message of the client's conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Content | Annotated[list[PartIn], Field(max_length=MAX_PARTS)] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


def _has_question(messages: list[MessageIn]) -> list[MessageIn]:
    if messages[-1].role != "user" or not 1 <= len(messages[-1].text.strip()) <= MAX_QUERY_CHARACTERS:
        raise ValueError(f"must end with a message of role user with 1 to {MAX_QUERY_CHARACTERS} characters")
    return messages


class StreamOptionsIn(Schema):
    include_usage: bool = False


class CompletionIn(Schema):
    """Fields of OpenAI that have no meaning here (top_p, n, tools, user, …) are accepted and ignored."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, Field(max_length=128)] = MODEL
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=MAX_MESSAGES), AfterValidator(_has_question)]
    stream: bool = False
    stream_options: StreamOptionsIn | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    filters: FiltersIn = Field(default=FiltersIn(), description="Not of OpenAI: what narrows the search.")


@openai_router.get("/models", summary="Models", openapi_extra=described(ModelsOut))
async def models(request: HttpRequest) -> dict[str, Any]:
    """`ragsite`, which asks everything that the caller may read, and one model for each of those sets."""
    codes = await run_db(_codes, caller_of(request).scope)
    names = [MODEL, *(f"{MODEL}/{code}" for code in codes)]
    data = [{"id": name, "object": "model", "created": 0, "owned_by": MODEL} for name in names]
    return {"object": "list", "data": data}


@openai_router.post("/chat/completions", summary="Chat completion", openapi_extra=described(CompletionOut))
async def chat_completions(request: HttpRequest, body: CompletionIn) -> Any:
    """An answer from the knowledge base; its sources stand in `message.context`."""
    caller = caller_of(request)
    value = await run_db(_request, caller.scope, body)
    if body.stream:
        return await _streamed(caller.scope, await start(caller, value), body)
    answer = await services.answer_now(scope=caller.scope, user=caller.user, request=value)
    message = {"role": "assistant", "content": answer["answer"], "context": _context_of(answer)}
    return {
        "id": f"chatcmpl-{answer['message_id']}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": answer["metadata"]["usage"],
    }


# ── from their form to ours ─────────────────────────────────────────────────────────────────────


def _codes(scope: Scope) -> list[str]:
    return list(sets_readable(scope=scope).order_by("code").values_list("code", flat=True))


def _request(scope: Scope, body: CompletionIn) -> AnswerRequest:
    limits: dict[str, Any] = {}
    if body.temperature is not None:
        limits["temperature"] = body.temperature
    if tokens := body.max_completion_tokens or body.max_tokens:
        limits["max_tokens"] = min(tokens, 4096)
    *earlier, question = body.messages
    return AnswerRequest(
        query=question.text.strip(),
        sets=_sets(scope, body.model),
        filters=body.filters.value(),
        history=_exchanges(earlier),
        given=frozenset(limits),
        **limits,
    )


def _sets(scope: Scope, model: str) -> tuple[int, ...]:
    """The set that a model name stands for. Raises UnknownModelError."""
    name, _, code = model.partition("/")
    if name != MODEL:
        raise UnknownModelError(f"There is no model {model!r}; use {MODEL} or {MODEL}/<set code>.", model=model)
    if not code:
        return ()
    found: KnowledgeSet | None = sets_readable(scope=scope).filter(code=code).first()
    if found is None:
        raise UnknownModelError(f"There is no model {model!r}, or you may not use it.", model=model)
    return (found.pk,)


def _exchanges(messages: Sequence[MessageIn]) -> tuple[Exchange, ...]:
    """Questions with the answers that follow them; system messages are the product's own business."""
    turns: list[Exchange] = []
    question = ""
    for message in messages:
        if message.role == "user":
            question = message.text
        elif message.role == "assistant" and question:
            turns.append(Exchange(question=question, answer=message.text))
            question = ""
    return tuple(turns)


# ── from our form to theirs ─────────────────────────────────────────────────────────────────────


def _context_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "citations": answer["citations"],
        "status": answer["status"],
        "message_id": answer["message_id"],
        "error_message": answer["metadata"].get("error_message"),
    }


async def _streamed(scope: Scope, message: Message, body: CompletionIn) -> StreamingHttpResponse:
    head = {
        "id": f"chatcmpl-{message.pk}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": body.model,
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
            yield {"error": {"code": data["code"], "message": data["message"], "details": []}}
        elif event.type == "done":
            yield choice({"context": _context_of({**data, "citations": citations})}, "stop")
            if body.stream_options is not None and body.stream_options.include_usage:
                yield {**head, "choices": [], "usage": data["metadata"]["usage"]}

    return await event_stream(message.pk, scope=scope, vocabulary=translate)
