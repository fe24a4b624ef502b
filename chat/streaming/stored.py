"""A finished turn as events, once its stream has expired."""

from __future__ import annotations

from typing import Any

from chat.models import Message, MessageCitation
from chat.selectors import citations_of
from chat.types import CitationRecord, Event, EventType


def stored_events(message: Message, after: int) -> list[Event]:
    """The events that bring a reader to the end.

    From the beginning: the whole answer as one chunk. In the middle the offsets are no longer known, so `done` carries
    the whole answer, which replaces what the reader has.
    """
    if message.state == Message.State.FAILED:
        return _numbered(after, ("error", {"code": message.error_code, "message": message.error_message}))
    citations = [_record(row).public() for row in citations_of(message=message) if row.cited]
    done = {
        "message_id": str(message.pk),
        "status": message.status,
        "metadata": message.metadata,
        "answer": message.answer,
        "html": message.answer_html,
    }
    if after:
        return _numbered(after, ("citations", {"citations": citations}), ("done", done))
    return _numbered(
        0,
        ("context", {"message_id": str(message.pk), "chunks_count": message.metadata.get("chunks_found", 0)}),
        ("chunk", {"content": message.answer}),
        ("citations", {"citations": citations}),
        ("done", done),
    )


def _numbered(after: int, *events: tuple[EventType, dict[str, Any]]) -> list[Event]:
    return [Event(sequence=after + n, type=kind, data=data) for n, (kind, data) in enumerate(events, 1)]


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
    )
