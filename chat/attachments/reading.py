"""Read an attached file in the sandbox, as ingestion reads documents, into passages with their vectors."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.scope import Scope
from chat.attachments.files import attachment_get, attachments_remove, reading_start
from chat.errors import TooManyAttachmentsError
from chat.models import Attachment, AttachmentPassage
from knowledge import model_registry
from knowledge.errors import error_columns
from knowledge.selectors.options import PipelineOptions, reading_options
from knowledge.services.model_slots import embedding_slot
from ragcore.chunking import splitter_for
from ragcore.cleaning import clean
from ragcore.errors import EmptyDocumentError, RagError
from ragcore.parsing.sandbox.parse import needs_sandbox, parse_in_sandbox, parse_small
from ragcore.types import ChunkDraft, ParsedDocument

logger = logging.getLogger(__name__)

MOST_PASSAGES = 2000  # of one file: they are compared with each question
EMBEDDED_TEXTS = 64  # at a time
UNASKED_HOURS = 24  # for which a file waits for its first question
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """Passages of a file with a vector each (float32[768], normalised), and the model that made these."""

    drafts: Sequence[ChunkDraft]
    vectors: Sequence[bytes]
    model: str
    pages: int | None


def file_read(row: Attachment, *, progress: Progress) -> FileContent:
    """Read, cut and embed a file.

    `progress`: called with pages and pictures recognised, and their number; what it raises ends the reading.
    Raises EmptyDocumentError, TooManyAttachmentsError, and what parsers, recogniser and embedder raise.
    """
    options = reading_options(tenant_id=row.tenant_id)
    with row.file.open("rb") as file:
        content = file.read()
    small = None if needs_sandbox(row.name, len(content)) else parse_small(content, name=row.name)
    parsed = small or parse_in_sandbox(content, name=row.name)
    document = clean(_recognised(row, parsed, content, options, progress), options=options.cleaning)
    drafts = [] if not document.blocks else splitter_for(options.chunking, model_registry.counter()).split(document)
    drafts = [draft for draft in drafts if draft.kind in ("body", "whole") and draft.text.strip()]
    if not drafts:
        raise EmptyDocumentError
    if len(drafts) > MOST_PASSAGES:
        raise TooManyAttachmentsError("text")
    model = model_registry.embedder().model
    return FileContent(drafts=drafts, vectors=_vectors(row.name, drafts), model=model, pages=document.pages)


def _recognised(
    row: Attachment, parsed: ParsedDocument, content: bytes, options: PipelineOptions, progress: Progress
) -> ParsedDocument:
    """The document with the text of its scanned pages and pictures."""
    wants_pages = options.parsing.recognise_pages and bool(parsed.unread_pages)
    if not wants_pages and not (options.parsing.recognise_pictures and parsed.pictures):
        return parsed
    from ragcore.ocr.documents import recognise_document

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


def _vectors(name: str, drafts: Sequence[ChunkDraft]) -> list[bytes]:
    texts = ["\n".join([name, *draft.heading_path, draft.text]) for draft in drafts]
    vectors: list[bytes] = []
    for start in range(0, len(texts), EMBEDDED_TEXTS):
        with embedding_slot(alive=lambda: None):
            embedded = model_registry.embedder().embed_documents(texts[start : start + EMBEDDED_TEXTS])
        vectors += [np.asarray(vector, dtype=np.float32).tobytes() for vector in embedded]
    return vectors


@transaction.atomic
def passages_store(attachment_id: int, content: FileContent) -> None:
    """Keep what was read of a file that is being read; nothing where it was removed meanwhile."""
    row = Attachment.objects.select_for_update().filter(pk=attachment_id, state=Attachment.State.READING).first()
    if row is None:
        return
    AttachmentPassage.objects.bulk_create(
        AttachmentPassage(
            attachment=row,
            ordinal=draft.ordinal,
            text=draft.text,
            heading_path=list(draft.heading_path),
            page=draft.page,
            tokens=draft.tokens,
            vector=vector,
            model=content.model,
        )
        for draft, vector in zip(content.drafts, content.vectors, strict=True)
    )
    values = {"state": Attachment.State.READY, "pages": content.pages, **error_columns(None)}
    Attachment.objects.filter(pk=row.pk).update(**values)


@transaction.atomic
def attachment_retry(*, scope: Scope, key: uuid.UUID | str) -> Attachment:
    """Read a file again that a passing fault has kept from being read; any other stays as it is.

    Raises NotFoundError.
    """
    row = attachment_get(scope=scope, key=key)
    failed = Attachment.objects.filter(pk=row.pk, state=Attachment.State.FAILED, can_retry=True)
    if failed.update(state=Attachment.State.READING, can_retry=False, **error_columns(None)):
        reading_start(row)
        row.refresh_from_db()
    return row


def attachments_expire() -> int:
    """Remove files that nobody asked about within a day, and those that are older than the settings keep."""
    now = timezone.now()
    old = Attachment.objects.filter(conversation=None, created__lt=now - timedelta(hours=UNASKED_HOURS))
    if settings.KEEP_ATTACHMENTS_DAYS:
        old |= Attachment.objects.filter(created__lt=now - timedelta(days=settings.KEEP_ATTACHMENTS_DAYS))
    with transaction.atomic():
        return attachments_remove(old)
