"""Reading the events of one turn, from any number on, running or over."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from django.db import DatabaseError
from django.utils.translation import gettext as _

from accounts.scope import Scope
from chat.attachments.files import attachments_owned
from chat.concurrency.executors import run_db
from chat.concurrency.redis_client import alive_key, client, events_key
from chat.models import AttachmentCitation, FactCitation, Message, MessageCitation
from chat.selectors import citations_of, documents_openable
from chat.serializers import serialize_citation
from chat.turns.stream_hub import Queue, decode, hub
from chat.turns.stream_log import FINAL
from chat.types import CitationRecord, Event, EventType
from knowledge.selectors.triples import triples_named

logger = logging.getLogger(__name__)

CHECK_SECONDS = 10  # silence after which the process of the turn is looked for


# Of a source that the reader may not open (any more), only that it was one.
WITHHELD = {
    "external_id": "",
    "title": "",
    "page": None,
    "content": "",
    "attachment_id": None,
    "replaced_by": None,
}
Source = tuple[str, int | str]  # kind, and by what it is known: an id, of an attached file its key


async def read_events(message_id: uuid.UUID | str, after: int = 0, *, scope: Scope) -> AsyncIterator[Event]:
    """Every event with a number above `after`, to the last one (`done` or `error`).

    When the stream has expired, the stored message takes its place; a turn whose process has died ends with an
    `error` of code `interrupted`. That the message is the reader's is the caller's business; sources are shown under
    the reader's rights of this moment.
    """
    key = events_key(message_id)
    queue = await hub().follow(key, after=after)
    try:
        async for event in _follow(message_id, queue, after):
            yield await _redact_citations(event, scope) if event.type == "citations" else event
            if event.type in FINAL:
                return
    finally:
        hub().leave(key, queue)


async def _follow(message_id: uuid.UUID | str, queue: Queue, after: int) -> AsyncIterator[Event]:
    """What is there, then what comes; each event once, whichever way it arrives."""
    key = events_key(message_id)
    if hub().is_local(key):  # a turn of this process: the queue began with its first event
        while hub().is_local(key) or not queue.empty():
            if (next_event := await _next_event(queue, after)) is not None:
                after = next_event.sequence
                yield next_event
    for event in await _read_entries(message_id, after):
        after = event.sequence
        yield event
    while await client().exists(alive_key(message_id)):
        while (next_event := await _next_event(queue, after)) is not None:
            after = next_event.sequence
            yield next_event
    for event in await _remaining_events(message_id, after):
        yield event


async def _redact_citations(event: Event, scope: Scope) -> Event:
    """Citations under the rights of the reader; where these cannot be told, none is shown."""
    citations = event.data["citations"]
    if not citations:
        return event
    try:
        openable = await run_db(_sources_openable, scope, citations)
    except DatabaseError:
        logger.exception("sources are withheld: rights cannot be checked")
        openable = set()
    visible = [_redacted(c, openable) for c in citations]
    return replace(event, data={**event.data, "citations": visible})


def _redacted(citation: dict[str, Any], openable: set[Source]) -> dict[str, Any]:
    if _source_key(citation) not in openable:
        return {**citation, **WITHHELD}
    newer = citation.get("replaced_by")
    is_hidden = newer and ("document", newer["document_id"]) not in openable
    return {**citation, "replaced_by": None} if is_hidden else citation


def _sources_openable(scope: Scope, citations: Sequence[dict[str, Any]]) -> set[Source]:
    by_kind: dict[str, set[Any]] = {"document": set(), "fact": set(), "file": set()}
    for kind, known_by in map(_source_key, citations):
        by_kind[kind].add(known_by)
    by_kind["document"] |= {newer["document_id"] for citation in citations if (newer := citation.get("replaced_by"))}
    documents, facts, keys = by_kind["document"], list(by_kind["fact"]), by_kind["file"]
    openable = documents_openable(scope=scope, document_ids=documents) if documents else ()
    visible_ids = triples_named(scope=scope, ids=facts).order_by().values_list("pk", flat=True) if facts else ()
    own_keys = attachments_owned(scope=scope).filter(key__in=keys).values_list("key", flat=True) if keys else ()
    return {
        *(("document", pk) for pk in openable),
        *(("fact", pk) for pk in visible_ids),
        *(("file", str(key)) for key in own_keys),
    }


def _source_key(citation: dict[str, Any]) -> Source:
    """By what the rights to a source are judged."""
    if citation.get("fact_id"):
        return "fact", citation["fact_id"]
    if citation.get("attachment_id"):
        return "file", citation["attachment_id"]
    return "document", citation["document_id"]


async def _read_entries(message_id: uuid.UUID | str, after: int) -> list[Event]:
    entries: Any = await client().xrange(events_key(message_id), min=f"0-{after + 1}")
    return [decode(entry_id, fields) for entry_id, fields in entries]


async def _next_event(queue: Queue, after: int) -> Event | None:
    """The next event that is new; None when nothing came for a while."""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            while (event := await queue.get()).sequence <= after:
                continue
            return event
    except TimeoutError:
        return None


async def _remaining_events(message_id: uuid.UUID | str, after: int) -> list[Event]:
    """The rest of a turn that nobody works on any more."""
    if rest := await _read_entries(message_id, after):
        return rest
    message = await run_db(Message.objects.filter(pk=message_id).first)
    if message is not None and message.state != Message.State.RUNNING:
        return await run_db(stored_events, message, after)
    return [Event(sequence=after + 1, type="error", data={"code": "interrupted", "message": interrupted_message()})]


def interrupted_message() -> str:
    """What a reader is told about a turn whose process has ended."""
    return _("The server was restarted while writing this answer. Please ask again.")


def stored_events(message: Message, after: int) -> list[Event]:
    """The events that bring a reader to the end.

    From the beginning: the whole answer as one chunk. In the middle the offsets are no longer known, so `done` carries
    the whole answer, which replaces what the reader has.
    """
    if message.state == Message.State.FAILED:
        error = {"code": message.error_code, "message": message.error_message, "message_data": message.error_data}
        return _numbered(after, ("error", error))
    files = message.attachment_citations.filter(cited=True).select_related("passage__attachment")
    records = [
        *(_record(row) for row in citations_of(message=message) if row.cited),
        *(_file_record(row) for row in files),
        *(_fact_record(row) for row in message.fact_citations.filter(cited=True)),
    ]
    citations = [serialize_citation(record) for record in sorted(records, key=lambda record: record.number)]
    ending = {
        "message_id": str(message.pk),
        "status": message.status,
        "metadata": message.metadata,
        "answer": message.answer,
        "html": message.answer_html,
    }
    if after:
        return _numbered(after, ("citations", {"citations": citations}), ("done", ending))
    return _numbered(
        0,
        ("context", {"message_id": str(message.pk), "chunks_count": message.metadata.get("chunks_found", 0)}),
        ("chunk", {"content": message.answer}),
        ("citations", {"citations": citations}),
        ("done", ending),
    )


def _numbered(after: int, *events: tuple[EventType, dict[str, Any]]) -> list[Event]:
    return [Event(sequence=after + n, type=kind, data=data) for n, (kind, data) in enumerate(events, 1)]


def _fact_record(row: FactCitation) -> CitationRecord:
    return CitationRecord(
        number=row.number,
        chunk_id=-1,
        document_id=-1,
        version_id=-1,
        version=1,
        external_id=row.file,
        title="",
        page=None,
        content=row.excerpt,
        score=row.score,
        confidence=row.confidence,
        position=row.position,
        segment=row.segment,
        weak=row.weak,
        cited=row.cited,
        relevance=row.relevance,
        fact=row.triple_id,
    )


def _file_record(row: AttachmentCitation) -> CitationRecord:
    file = row.passage.attachment
    return CitationRecord(
        number=row.number,
        chunk_id=-row.passage_id,
        document_id=-file.pk,
        version_id=-file.pk,
        version=1,
        external_id=str(file.key),
        title=file.name,
        page=row.passage.page,
        content=row.excerpt,
        score=row.score,
        confidence=row.confidence,
        position=row.position,
        segment=row.segment,
        weak=row.weak,
        cited=row.cited,
        relevance=row.relevance,
        attachment=str(file.key),
    )


def _record(row: MessageCitation) -> CitationRecord:
    return CitationRecord(
        number=row.number,
        chunk_id=row.chunk_id,
        document_id=row.document_id,
        version_id=row.version_id,
        version=row.version.number,
        external_id=row.document.external_id,
        title=row.document.title,
        page=row.chunk.page,
        content=row.excerpt,
        score=row.score,
        confidence=row.confidence,
        position=row.position,
        segment=row.segment,
        weak=row.weak,
        cited=row.cited,
        edited=row.chunk.edited.isoformat() if row.chunk.edited else "",
    )
