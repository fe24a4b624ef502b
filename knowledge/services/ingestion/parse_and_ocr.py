"""From an original to clean blocks: parse, apply the source's handler, read scans and pictures."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from knowledge.errors import WorkerLostError
from knowledge.model_registry import recogniser
from knowledge.models import DocumentVersion, IngestItem
from knowledge.selectors.options import PipelineOptions
from knowledge.services.handlers import handlers_apply, version_nest
from knowledge.services.ingestion.item_state import ItemLease
from knowledge.services.ingestion.parse_cache import (
    ParsedVersion,
    parse_cache_load,
    parse_cache_save,
    pictures_drop,
    pictures_save,
    pictures_wanted,
    reading_fingerprint,
    with_pictures,
)
from knowledge.services.originals import original_open
from ragcore.cleaning import clean
from ragcore.errors import EmptyDocumentError, ResourceLimitError
from ragcore.options import ParsingOptions
from ragcore.parsing.sandbox.parse import needs_sandbox, parse_in_sandbox, parse_small
from ragcore.types import ParsedDocument

MAX_LOSSES = 5  # workers that may crash on a document before it fails
CONTAINED_SECONDS = 30.0  # that a reading process may take without a sign of life, and
CONTAINED_SECONDS_A_MB = 30.0  # so much more for large files; beyond that another worker may begin as well

logger = logging.getLogger(__name__)
PAGE_SECONDS = 150.0  # that one page may take without a sign of life: a slow picture, and a new process for it


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """A document that has been read. `stored.recognised` False: its pictures wait for character recognition.

    `stored` is kept for later stages, `document` is that with what the handler of its source makes of it.
    """

    item: IngestItem
    stored: ParsedVersion
    document: ParsedDocument
    options: PipelineOptions

    @property
    def characters(self) -> int:
        """Length of the text, about the total length of its passages."""
        return sum(len(block.text) for block in self.document.blocks)


def item_read(item: IngestItem, options: PipelineOptions, lease: ItemLease) -> ReadDocument:
    """Read and clean an original, or load the cached result for the same options. Idempotent.

    Raises what parsers and handlers raise, EmptyDocumentError, WorkerLostError after too many losses.
    """
    if item.losses > MAX_LOSSES:
        raise WorkerLostError
    version = item.version
    fingerprint = reading_fingerprint(options.parsing, options.cleaning)
    stored = parse_cache_load(version, fingerprint=fingerprint) or _stored(version, options, lease, fingerprint)
    if version.document.source.handler_id or version.document.handled:
        handlers_apply(version, stored.document.markdown())
    document = version_nest(version, stored.document)
    return ReadDocument(item=item, stored=stored, document=document, options=_as_handled(version, options))


def _as_handled(version: DocumentVersion, options: PipelineOptions) -> PipelineOptions:
    """The options, without splitting if the handler has just decided so."""
    if version.document.is_whole and options.chunking.split:
        return replace(options, chunking=replace(options.chunking, split=False))
    return options


def _stored(version: DocumentVersion, options: PipelineOptions, lease: ItemLease, fingerprint: str) -> ParsedVersion:
    content = _content(version)
    small = None if needs_sandbox(version.file_name, len(content)) else parse_small(content, name=version.file_name)
    contained = small is None
    if contained:
        lease.alive(seconds=CONTAINED_SECONDS + CONTAINED_SECONDS_A_MB * len(content) / 2**20)
    parsed = small or parse_in_sandbox(content, name=version.file_name)
    stored = ParsedVersion(
        document=clean(parsed, options=options.cleaning), recognised=not _is_unread(parsed, options.parsing)
    )
    if stored.recognised and not stored.document.blocks:
        raise EmptyDocumentError
    if contained or not stored.recognised:
        pictures_save(version, pictures_wanted(parsed, options.parsing))
        parse_cache_save(version, stored, fingerprint=fingerprint)
    return stored


def _is_unread(parsed: ParsedDocument, options: ParsingOptions) -> bool:
    """Whether there is text that only OCR can read."""
    pages = options.recognise_pages and bool(parsed.unread_pages)
    return pages or (options.recognise_pictures and bool(parsed.pictures))


# ── character recognition, in the workers of the queue `ocr` ──────────────────────────────────────


def item_ocr(read: ReadDocument, lease: ItemLease) -> None:
    """Read pages and pictures with text by OCR, and cache the document with their text. Idempotent.

    A document that has other text does not fail because of a picture that is too large to be read.
    Raises EmptyDocumentError where nothing was found anywhere, RecognitionUnavailableError.
    """
    version, options = read.item.version, read.options
    try:
        document = _recognised(read, lease)
    except ResourceLimitError as error:
        if not read.stored.document.blocks:
            raise
        logger.warning("version %s goes on without the text of its pictures: %s", version.pk, error)
        document = read.stored.document
    document = clean(document, options=options.cleaning)
    if not document.blocks:
        raise EmptyDocumentError
    if not options.parsing.keep_pictures:
        pictures_drop(version)
    pages = len(read.stored.document.unread_pages) - len(document.unread_pages)
    stored = ParsedVersion(document=document, recognised=True, pages_recognised=pages)
    parse_cache_save(version, stored, fingerprint=reading_fingerprint(options.parsing, options.cleaning))


def _recognised(read: ReadDocument, lease: ItemLease) -> ParsedDocument:
    from ragcore.ocr.documents import recognise_document

    version = read.item.version

    def progress(count: int, total: int) -> None:
        lease.alive(seconds=PAGE_SECONDS, progress_done=count, progress_total=total)

    progress(0, max(1, len(read.stored.document.unread_pages)))
    return recognise_document(
        with_pictures(version, read.stored.document),
        _content(version),
        name=version.file_name,
        recogniser=recogniser(),
        options=read.options.parsing,
        progress=progress,
    )


def _content(version: DocumentVersion) -> bytes:
    with original_open(version) as file:
        return bytes(file.read())
