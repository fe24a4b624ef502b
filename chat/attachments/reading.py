"""Read an attached file in the sandbox, as ingestion reads documents, and keep its passages with their vectors."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from datetime import timedelta

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.scope import Scope
from chat.attachments.files import attachment_get, attachments_remove, reading_enqueue
from chat.errors import TooManyAttachmentsError
from chat.models import Attachment, AttachmentPassage
from knowledge import model_registry
from knowledge.errors import WorkerLostError, error_columns
from knowledge.selectors.options import PipelineOptions, reading_options
from knowledge.services.fencing import claim, fenced
from knowledge.services.ingestion.item_state import IngestionFaultError
from knowledge.services.model_slots import embedding_slot
from ragcore.chunking import splitter_for
from ragcore.cleaning import clean
from ragcore.errors import EmptyDocumentError, RagError, TransientError
from ragcore.parsing.sandbox.parse import needs_sandbox, parse_in_sandbox, parse_small
from ragcore.types import ChunkDraft, ParsedDocument
from work.faults import known_fault
from work.signs_of_life import signs_of_life

logger = logging.getLogger(__name__)

MOST_ATTEMPTS = 3  # of workers that began to read a file and were not heard of again
MOST_FAULTS = 9  # passing ones, in about a quarter of an hour
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 300.0
LONGEST_SECONDS = 3600.0  # that reading may take
SILENT_SECONDS = 300  # without a sign of life; then another worker begins
MOST_PASSAGES = 2000  # of one file: they are compared with each question
EMBEDDED_TEXTS = 64  # at a time
UNASKED_HOURS = 24  # for which a file waits for its first question


def attachment_read(*, attachment_id: int) -> None:
    """Read, cut and embed a file; its state says how that ended. Safe to run twice: the last worker that begins counts.

    What passes by itself is tried again after a pause, and the file says so meanwhile.
    """
    waiting = Attachment.objects.filter(state=Attachment.State.READING)
    row = claim(waiting, pk=attachment_id, alive=timezone.now(), attempts=F("attempts") + 1)
    if row is None:
        return
    try:
        if row.attempts - row.faults > MOST_ATTEMPTS:
            raise WorkerLostError
        with signs_of_life(lambda: _reading(row).update(alive=timezone.now()), limit_seconds=LONGEST_SECONDS):
            _read(row)
    except AttachmentLostError:
        logger.info("attachment %s was removed, or another worker reads it", row.pk)
    except Exception as error:
        fault = known_fault(error)
        if fault is None:
            logger.exception("an attached file could not be read")
        if isinstance(fault, TransientError):
            _put_off(row, fault)
        else:
            _fail(row, fault or IngestionFaultError())


class AttachmentLostError(Exception):
    """The file was removed, or another worker has begun to read it. Nothing failed."""


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

    def progress(count: int, total: int) -> None:
        _alive(row, progress_done=count, progress_total=total)

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
            embedded = model_registry.embedder().embed_documents(texts[start : start + EMBEDDED_TEXTS])
        vectors += [np.asarray(vector, dtype=np.float32).tobytes() for vector in embedded]
        _alive(row)
    with transaction.atomic():
        locked = _reading(row).select_for_update().first()
        if locked is None:
            raise AttachmentLostError
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
        _reading(row).update(state=Attachment.State.READY, pages=pages, faults=0, **error_columns(None))


def _reading(row: Attachment) -> QuerySet[Attachment]:
    """The file while it is read, by the worker that has begun last."""
    return fenced(row).filter(state=Attachment.State.READING)


def _alive(row: Attachment, **values: int) -> None:
    """Write progress. Raises AttachmentLostError."""
    if not _reading(row).update(alive=timezone.now(), **values):
        raise AttachmentLostError


@transaction.atomic
def _put_off(row: Attachment, error: TransientError) -> None:
    """Try again after a pause that doubles; a file that has waited MOST_FAULTS times waits for its person."""
    if row.faults + 1 >= MOST_FAULTS:
        _fail(row, error, faults=row.faults + 1)
        return
    logger.warning("attachment %s is read again later: %s", row.pk, error)
    if _reading(row).update(alive=timezone.now(), faults=row.faults + 1, **error_columns(error)):
        reading_enqueue(row, countdown_seconds=min(FIRST_PAUSE_SECONDS * 2**row.faults, LONGEST_PAUSE_SECONDS))


def _fail(row: Attachment, error: RagError, *, faults: int = 0) -> None:
    """`faults`: above 0 the person may have it read again (`attachment_retry`)."""
    _reading(row).update(state=Attachment.State.FAILED, faults=faults, **error_columns(error))


@transaction.atomic
def attachment_retry(*, scope: Scope, key: uuid.UUID | str) -> Attachment:
    """Read a file again that a passing fault has kept from being read; any other stays as it is.

    Raises NotFoundError.
    """
    row = attachment_get(scope=scope, key=key)
    failed = Attachment.objects.filter(pk=row.pk, state=Attachment.State.FAILED, faults__gt=0)
    values = {"state": Attachment.State.READING, "faults": 0, "attempts": 0, "alive": timezone.now()}
    if failed.update(**values, **error_columns(None)):
        reading_enqueue(row)
        row.refresh_from_db()
    return row


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
