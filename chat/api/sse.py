"""Turns as server-sent events."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from django.http import StreamingHttpResponse

from accounts.scope import Scope
from chat.api.pictures import serialize_pictures
from chat.concurrency.executors import run_db
from chat.concurrency.redis_client import client, events_key
from chat.errors import TurnFailedError, TurnRefusedError
from chat.selectors import sources_of
from chat.serializers import serialize_source_citations, serialize_sources, without_markers
from chat.turns.stream_log import FINAL
from chat.turns.stream_reader import read_events
from chat.types import Event
from ragcore.errors import ModelUnavailableError, RagError

DONE = "data: [DONE]\n\n"
_DONE_FIELDS = ("message_id", "status", "confidence", "metadata", "answer")  # answer: only of a stored turn

Vocabulary = Callable[[Event], AsyncIterator[Mapping[str, Any]]]


async def event_stream(
    message_id: uuid.UUID, *, scope: Scope, vocabulary: Vocabulary, after: int = 0, begun: bool = False
) -> StreamingHttpResponse:
    """A response that follows a turn of the asker: `context`, the steps before it, then what comes as it comes.

    Waits for the first event: a turn that ends with an error before it has shown anything is raised as that error, so
    that the client gets its HTTP status. `begun`: the client has had that chance already. `after`: the id of the last
    event that the client has had; each later one is sent, once.
    """
    # Ids count in the order of sending, so that the beginning has to be read again to know where a reader is.
    start = after if after and not await _has_beginning(message_id) else 0
    events = read_events(message_id, start, scope=scope)
    opening = await _opening(events)
    if opening[-1].type == "error" and not begun:
        await events.aclose()  # type: ignore[attr-defined]  # read_events is an async generator
        raise error_of(opening[-1])
    lines = _lines(opening, events, vocabulary, after=after)
    return streamed_response(lines, message_id)


def streamed_response(lines: AsyncIterator[str], message_id: uuid.UUID) -> StreamingHttpResponse:
    """A response of server-sent events that no proxy holds back."""
    response = StreamingHttpResponse(lines, content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    response["X-Message-Id"] = str(message_id)
    return response


def error_of(event: Event) -> RagError:
    """The error that ended a turn, as if it had been raised here."""
    code, message, data = event.data["code"], event.data["message"], event.data.get("data", {})
    message_data = event.data.get("message_data", {})
    if code == ModelUnavailableError.code:
        return ModelUnavailableError(message_data.get("reason", ""), **{**message_data, **data})
    kind = TurnRefusedError if event.data.get("permanent") else TurnFailedError
    return kind(code, message, message_data=message_data, **data)


async def _has_beginning(message_id: uuid.UUID) -> bool:
    """Whether the events are still there, from the first one on; a stored turn has only its end."""
    return bool(await client().exists(events_key(message_id)))


async def _opening(events: AsyncIterator[Event]) -> list[Event]:
    """The events up to the first one that says how the turn goes; `context` comes before the steps that led to it."""
    delayed: list[Event] = []
    async for event in events:
        if event.type in ("step", "thought"):
            delayed.append(event)
        elif event.type == "context":
            return list(_numbered([event, *delayed]))
        else:
            return [*delayed, event]
    raise TurnFailedError("interrupted", "No answer was produced.")


def _numbered(moved: Sequence[Event]) -> Iterator[Event]:
    """The events with the same ids, rising: a reader who resumes after one of them gets those behind it."""
    for number, event in zip(sorted(event.sequence for event in moved), moved, strict=True):
        yield replace(event, sequence=number)


async def _lines(
    opening: Sequence[Event], events: AsyncIterator[Event], vocabulary: Vocabulary, *, after: int
) -> AsyncIterator[str]:
    async with aclosing(events):  # type: ignore[type-var]
        async for event in _joined(opening, events):
            if event.sequence > after or event.type in FINAL:  # nobody waits for an end that never comes
                async for line in _lines_of(event, vocabulary):
                    yield line
    yield DONE


async def _lines_of(event: Event, vocabulary: Vocabulary) -> AsyncIterator[str]:
    """What an event is for a client. The last of several parts has its id: who resumes behind it has had them all."""
    before: Mapping[str, Any] | None = None
    async for data in vocabulary(event):
        if before is not None:
            yield data_line(before)
        before = data
    if before is not None:
        yield f"id: {event.sequence}\n{data_line(before)}"


async def _joined(opening: Sequence[Event], events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    for event in opening:
        yield event
    if opening[-1].type not in FINAL:
        async for event in events:
            yield event


def data_line(data: Mapping[str, Any]) -> str:
    """An event without an id."""
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def generate_vocabulary(*, include_inline: bool, include_citations: bool, scope: Scope) -> Vocabulary:
    """`context, step, chunk, citations, done, error`; `done` has the pictures that `scope` may open."""

    async def translate(event: Event) -> AsyncIterator[Mapping[str, Any]]:
        data = event.data
        if event.type == "chunk" and not include_inline:
            if content := without_markers(data["content"]):  # a piece may have been nothing but markers
                yield {"type": "chunk", "content": content}
        elif event.type == "citations":
            yield {"type": "citations", "citations": data["citations"] if include_citations else []}
        elif event.type == "done":
            fields = {name: data[name] for name in _DONE_FIELDS if name in data}
            yield {"type": "done", **fields, "pictures": await _pictures(scope, data, is_wanted=include_citations)}
        elif event.type == "error":
            yield {"type": "error", "code": data["code"], "message": data["message"]}
        elif event.type in ("context", "step", "chunk"):
            yield {"type": event.type, **data}

    return translate


async def _pictures(scope: Scope, data: Mapping[str, Any], *, is_wanted: bool) -> list[dict[str, Any]]:
    return await serialize_pictures(scope=scope, message_id=uuid.UUID(data["message_id"]), is_wanted=is_wanted)


def query_vocabulary(*, question: str, include_sources: bool, scope: Scope) -> Vocabulary:
    """`query_rewritten, documents_retrieved, generation_start, token, generation_complete, error`."""

    async def translate(event: Event) -> AsyncIterator[Mapping[str, Any]]:
        data = event.data
        if event.type == "context":
            yield {"type": "query_rewritten", "content": next(iter(data.get("rewritten_queries", ())), question)}
            yield {"type": "documents_retrieved", "count": data["chunks_count"]}
            yield {"type": "generation_start"}
        elif event.type == "chunk":
            yield {"type": "token", "content": data["content"]}
        elif event.type == "done":
            rows = await run_db(sources_of, data["message_id"])
            yield {
                "type": "generation_complete",
                "message_id": data["message_id"],
                "status": data["status"],
                "sources": serialize_sources(rows) if include_sources else [],
                "citations": serialize_source_citations(rows),
                "pictures": await _pictures(scope, data, is_wanted=include_sources),
            }
        elif event.type == "error":
            yield {"type": "error", "code": data["code"], "message": data["message"]}

    return translate
