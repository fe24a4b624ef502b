"""Completions and their chunks in OpenAI's form."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chat.api.openai_schemas import CompletionIn


def completion(
    body: CompletionIn, message_id: uuid.UUID, *, message: Mapping[str, Any], reason: str, usage: Mapping[str, int]
) -> dict[str, Any]:
    """A whole completion; `message`: of the assistant."""
    return {
        "id": f"chatcmpl-{message_id}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.model,
        "choices": [{"index": 0, "message": dict(message), "finish_reason": reason, "logprobs": None}],
        "usage": _usage(usage),
    }


class Chunks:
    """The chunks of a streamed completion."""

    def __init__(self, body: CompletionIn, message_id: uuid.UUID) -> None:
        self._wants_usage = body.wants_usage
        self._head = {
            "id": f"chatcmpl-{message_id}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": body.model,
            **({"usage": None} if body.wants_usage else {}),  # OpenAI's last chunk has it, the others say null
        }

    def choice(self, delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
        """A chunk of the message; the last one has a reason."""
        choices = [{"index": 0, "delta": dict(delta), "finish_reason": reason, "logprobs": None}]
        return {**self._head, "choices": choices}

    def usage(self, usage: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """The chunk behind the last one, where the client wants it."""
        if self._wants_usage:
            yield {**self._head, "choices": [], "usage": _usage(usage)}


def error_chunk(code: str, message: str) -> dict[str, Any]:
    """What stands in the place of a chunk where a stream fails."""
    error = {"code": code, "message": message, "details": []}
    return {"error": {**error, "type": "server_error", "param": None}}


def answer_context(
    body: CompletionIn,
    *,
    citations: Sequence[Any],
    status: str,
    message_id: str,
    error_message: str | None,
    pictures: Sequence[Any] = (),
) -> dict[str, Any]:
    """What we tell besides the text, under `message.context`."""
    return {
        "citations": list(citations),
        "pictures": list(pictures),
        "status": status,
        "message_id": message_id,
        "error_message": error_message,
        "question": body.question,
        "unused_options": body.unused(),
    }


def finish_reason(is_cut: bool) -> str:
    """Why the answer ends: `length` where it was cut at `max_tokens`."""
    return "length" if is_cut else "stop"


def _usage(usage: Mapping[str, int]) -> dict[str, Any]:
    """Tokens in their form: those of the reasoning stand below those of the completion."""
    counts = {name: count for name, count in usage.items() if name != "reasoning_tokens"}
    return {**counts, "completion_tokens_details": {"reasoning_tokens": usage.get("reasoning_tokens", 0)}}
