"""Text of scanned pages and of pictures, read in the workers of the queue `ocr` (D9, D31)."""

from __future__ import annotations

import logging

from knowledge.engines import recogniser
from knowledge.models import DocumentVersion
from knowledge.services.ingestion.leases import Holding
from knowledge.services.ingestion.reading import Read
from knowledge.services.ingestion.stored import (
    Stored,
    pictures_drop,
    reading_sha256,
    stored_save,
    with_pictures,
)
from ragcore.cleaning import clean
from ragcore.errors import EmptyDocumentError, ResourceLimitError
from ragcore.types import ParsedDocument

logger = logging.getLogger(__name__)

PAGE_SECONDS = 150.0  # that one page may take without a sign of life: a slow picture, and a new process for it


def item_recognise(read: Read, holding: Holding) -> None:
    """Read the pages and pictures that hold text, and keep the document with it. Safe to repeat.

    A document that has other text does not fail because of a picture that is too large to be read.
    Raises EmptyDocumentError where nothing was found anywhere, RecognitionUnavailableError.
    """
    version, options = read.item.version, read.options
    try:
        document = _recognised(read, holding)
    except ResourceLimitError as error:
        if not read.document.blocks:
            raise
        logger.warning("version %s goes on without the text of its pictures: %s", version.pk, error)
        document = read.document
    document = clean(document, options=options.cleaning)
    if not document.blocks:
        raise EmptyDocumentError
    if not options.parsing.keep_pictures:
        pictures_drop(version)
    pages = len(read.document.unread_pages) - len(document.unread_pages)
    stored = Stored(document=document, recognised=True, pages_recognised=pages)
    stored_save(version, stored, fingerprint=reading_sha256(options.parsing, options.cleaning))


def _recognised(read: Read, holding: Holding) -> ParsedDocument:
    from ragcore.ocr.documents import recognised

    version = read.item.version

    def progress(done: int, total: int) -> None:
        holding.alive(seconds=PAGE_SECONDS, progress_done=done, progress_total=total)

    progress(0, max(1, len(read.document.unread_pages)))
    return recognised(
        with_pictures(version, read.document),
        _content(version),
        name=version.file_name,
        recogniser=recogniser(),
        options=read.options.parsing,
        progress=progress,
    )


def _content(version: DocumentVersion) -> bytes:
    with version.file.open("rb") as file:
        return file.read()
