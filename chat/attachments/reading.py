"""Read an attached file in the sandbox, as ingestion reads documents, and keep its passages with their vectors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

import numpy as np
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chat.attachments.files import attachments_remove, reading_enqueue
from chat.errors import TooManyAttachmentsError
from chat.models import Attachment, AttachmentPassage
from knowledge import model_registry
from knowledge.errors import WorkerLostError
from knowledge.selectors.options import PipelineOptions, reading_options
from knowledge.services.model_slots import embedding_slot
from ragcore.chunking import splitter_for
from ragcore.cleaning import clean
from ragcore.errors import EmptyDocumentError, RagError, TransientError
from ragcore.parsing.sandbox.parse import needs_sandbox, parse_in_sandbox, parse_small
from ragcore.types import ChunkDraft, ParsedDocument

logger = logging.getLogger(__name__)

MOST_ATTEMPTS = 3  # of workers that began to read a file
SILENT_SECONDS = 300  # without a sign of life; then another worker begins
MOST_PASSAGES = 2000  # of one file: they are compared with each question
EMBEDDED_TEXTS = 64  # at a time
UNASKED_HOURS = 24  # for which a file waits for its first question


def attachment_read(*, attachment_id: int) -> None:
    """Read, cut and embed a file; its state says how that ended. Safe to run twice.

    Raises TransientError where trying again may help; the sweep does that.
    """
    with transaction.atomic():
        row = Attachment.objects.select_for_update(skip_locked=True).filter(pk=attachment_id).first()
        if row is None or row.state != Attachment.State.READING:
            return
        row.attempts += 1
        row.alive = timezone.now()
        row.save(update_fields=["attempts", "alive"])
    try:
        if row.attempts > MOST_ATTEMPTS:
            raise WorkerLostError
        _read(row)
    except TransientError as error:
        if row.attempts >= MOST_ATTEMPTS:
            _fail(row, error)
            return
        raise
    except RagError as error:
        _fail(row, error)
    except Exception as error:
        logger.exception("an attached file could not be read")
        _fail(row, EmptyDocumentError(problem=type(error).__name__))


def _read(row: Attachment) -> None:
    options = reading_options(tenant_id=row.tenant_id)
    with row.file.open("rb") as file:
        content = file.read()
    small = None if needs_sandbox(row.name, len(content)) else parse_small(content, name=row.name)
    parsed = small or parse_in_sandbox(content, name=row.name)
    document = clean(_recognised(row, parsed, content, options), options=options.cleaning)
    drafts = [] if not document.blocks else splitter_for(options.chunking, model_registry.counter()).split(document)
    drafts = [draft for draft in drafts if draft.kind in ("body", "whole") and draft.text.strip()]
    if not drafts:
        raise EmptyDocumentError
    if len(drafts) > MOST_PASSAGES:
        raise TooManyAttachmentsError("text")
    _store(row, drafts, pages=document.pages)


def _recognised(row: Attachment, parsed: ParsedDocument, content: bytes, options: PipelineOptions) -> ParsedDocument:
    """The document with the text of its scanned pages and pictures."""
    wants_pages = options.parsing.recognise_pages and bool(parsed.unread_pages)
    if not wants_pages and not (options.parsing.recognise_pictures and parsed.pictures):
        return parsed
    from ragcore.ocr.documents import recognise_document

    def progress(done: int, total: int) -> None:
        _alive(row, progress_done=done, progress_total=total)

    try:
        return recognise_document(
            parsed,
            content,
            name=row.name,
            recogniser=model_registry.recogniser(),
            options=options.parsing,
            progress=progress,
        )
    except RagError as error:
        if not parsed.blocks or wants_pages:
            raise
        logger.warning("attachment %s goes on without the text of its pictures: %s", row.pk, error)
        return parsed


def _store(row: Attachment, drafts: Sequence[ChunkDraft], *, pages: int | None) -> None:
    texts = ["\n".join([row.name, *draft.heading_path, draft.text]) for draft in drafts]
    vectors: list[bytes] = []
    model = model_registry.embedder().model
    for start in range(0, len(texts), EMBEDDED_TEXTS):
        with embedding_slot(alive=lambda: _alive(row)):
            found = model_registry.embedder().embed_documents(texts[start : start + EMBEDDED_TEXTS])
        vectors += [np.asarray(vector, dtype=np.float32).tobytes() for vector in found]
        _alive(row)
    with transaction.atomic():
        locked = Attachment.objects.select_for_update().filter(pk=row.pk, state=Attachment.State.READING).first()
        if locked is None:
            return  # removed meanwhile, or another worker was first
        AttachmentPassage.objects.bulk_create(
            AttachmentPassage(
                attachment=locked,
                ordinal=draft.ordinal,
                text=draft.text,
                heading_path=list(draft.heading_path),
                page=draft.page,
                tokens=draft.tokens,
                vector=vector,
                model=model,
            )
            for draft, vector in zip(drafts, vectors, strict=True)
        )
        locked.state, locked.pages = Attachment.State.READY, pages
        locked.save(update_fields=["state", "pages"])


def _alive(row: Attachment, **values: int) -> None:
    Attachment.objects.filter(pk=row.pk).update(alive=timezone.now(), **values)


def _fail(row: Attachment, error: RagError) -> None:
    Attachment.objects.filter(pk=row.pk, state=Attachment.State.READING).update(
        state=Attachment.State.FAILED,
        error_code=error.code[:64],
        error_message=error.message[:512],
        error_data=error.message_data(),
    )


def attachments_sweep() -> int:
    """Call workers for files whose reading was lost; how many. Safe to run twice."""
    late = Attachment.objects.filter(
        state=Attachment.State.READING, alive__lt=timezone.now() - timedelta(seconds=SILENT_SECONDS)
    )
    rows = list(late)
    late.update(alive=timezone.now())
    for row in rows:
        reading_enqueue(row)
    return len(rows)


def attachments_expire() -> int:
    """Remove files that nobody asked about within a day, and those that are older than the settings keep."""
    now = timezone.now()
    old = Attachment.objects.filter(conversation=None, created__lt=now - timedelta(hours=UNASKED_HOURS))
    if settings.KEEP_ATTACHMENTS_DAYS:
        old |= Attachment.objects.filter(created__lt=now - timedelta(days=settings.KEEP_ATTACHMENTS_DAYS))
    with transaction.atomic():
        return attachments_remove(old)
