"""Turns as server-sent events."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from django.http import StreamingHttpResponse

from accounts.scope import Scope
from chat.errors import TurnFailedError, TurnRefusedError
from chat.services.presenting import without_markers
from chat.streaming import read_events
from chat.types import Event
from ragcore.errors import ModelUnavailableError, RagError

DONE = "data: [DONE]\n\n"
_DONE_FIELDS = ("message_id", "status", "confidence", "metadata", "answer")  # answer: only of a stored turn

Vocabulary = Callable[[Event], AsyncIterator[Mapping[str, Any]]]


async def event_stream(
    message_id: uuid.UUID, *, scope: Scope, vocabulary: Vocabulary, after: int = 0, begun: bool = False
) -> StreamingHttpResponse:
    """A response that follows a turn of the asker.

    Waits for the first event: a turn that ends with an error before it has shown anything is raised as that error, so
    that the client gets its HTTP status. `begun`: the client has had that chance already.
    """
    events = read_events(message_id, after, scope=scope)
    first = await _first(events)
    if first.type == "error" and not begun:
        await events.aclose()  # type: ignore[attr-defined]  # read_events is an async generator
        raise error_of(first)
    response = StreamingHttpResponse(_lines(first, events, vocabulary), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    response["X-Message-Id"] = str(message_id)
    return response


def error_of(event: Event) -> RagError:
    """The error that ended a turn, as if it had been raised here."""
    code, message, data = event.data["code"], event.data["message"], event.data.get("data", {})
    if code == ModelUnavailableError.code:
        return ModelUnavailableError(message, **data)
    kind = TurnRefusedError if event.data.get("permanent") else TurnFailedError
    return kind(code, message, **data)


async def _first(events: AsyncIterator[Event]) -> Event:
    """The first event that says how the turn goes: what happens before the first search is over is for the web page,
    and the forms of the question stand in the event `context`."""
    async for event in events:
        if event.type != "step":
            return event
    raise TurnFailedError("interrupted", "The turn ended without an answer.")


async def _lines(first: Event, events: AsyncIterator[Event], vocabulary: Vocabulary) -> AsyncIterator[str]:
    async with aclosing(events):  # type: ignore[type-var]
        async for data in vocabulary(first):
            yield _line(first, data)
        async for event in events:
            async for data in vocabulary(event):
                yield _line(event, data)
    yield DONE


def _line(event: Event, data: Mapping[str, Any]) -> str:
    return f"id: {event.sequence}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def generate_vocabulary(*, include_inline: bool, include_citations: bool) -> Vocabulary:
    """`context, step, chunk, citations, done, error` (V11)."""

    async def translate(event: Event) -> AsyncIterator[Mapping[str, Any]]:
        data = event.data
        if event.type == "chunk" and not include_inline:
            yield {"type": "chunk", "content": without_markers(data["content"])}
        elif event.type == "citations":
            yield {"type": "citations", "citations": data["citations"] if include_citations else []}
        elif event.type == "done":
            yield {"type": "done", **{name: data[name] for name in _DONE_FIELDS if name in data}}
        elif event.type == "error":
            yield {"type": "error", "code": data["code"], "message": data["message"]}
        elif event.type in ("context", "step", "chunk"):
            yield {"type": event.type, **data}

    return translate
