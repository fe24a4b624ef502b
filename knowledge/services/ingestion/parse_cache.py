"""Cache of parsed originals, so that later stages and retries need not parse them again.

Only formats that are slow to parse are cached: parsing text formats takes less time than storing them.
The blob is gzip over two lines: the parsing options, and the document as it passes between the parsing processes, its
pictures without their bytes, which are separate files.
"""

from __future__ import annotations

import gzip
import json
import logging
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.core.files.base import ContentFile
from django.core.files.storage import Storage
from django.db import transaction

from knowledge.models import DocumentPicture, DocumentVersion
from knowledge.services.originals import stored_open
from ragcore.options import ParsingOptions, options_sha256
from ragcore.parsing.sandbox.serialization import dump_document, load_document
from ragcore.types import ParsedDocument, Picture

logger = logging.getLogger(__name__)

READER = 3  # counted up when readers find more in the same bytes, so that nothing older is used
COMPRESSION = 3  # of 9: most of the gain, a third of the time


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedVersion:
    """A document as it was read; `recognised` is False while its pictures still hold text that nobody has read."""

    document: ParsedDocument
    recognised: bool
    pages_recognised: int = 0


def reading_fingerprint(*groups: object) -> str:
    """The fingerprint of what a document is read with: option groups and the generation of our readers."""
    return options_sha256(*groups)[:56] + f"-{READER}"


# ── text ────────────────────────────────────────────────────────────────────────────────────────


def parse_cache_save(version: DocumentVersion, stored: ParsedVersion, *, fingerprint: str) -> None:
    """Store the parsed document; an older file is removed after the commit."""
    head = {"reading": fingerprint, "recognised": stored.recognised, "pages_recognised": stored.pages_recognised}
    light = replace(stored.document, pictures=tuple(replace(p, content=b"") for p in stored.document.pictures))
    content = gzip.compress(json.dumps(head).encode() + b"\n" + dump_document(light), COMPRESSION, mtime=0)
    old = version.parsed.name
    version.parsed.save("", ContentFile(content), save=False)
    version.markdown = stored.document.markdown()
    version.title = stored.document.title[:512]
    version.pages = stored.document.pages
    version.save(update_fields=["parsed", "markdown", "title", "pages"])
    if old != version.parsed.name:
        _delete_on_commit(version.parsed.storage, [old])


def parse_cache_load(version: DocumentVersion, *, fingerprint: str) -> ParsedVersion | None:
    """The document parsed with the same options; None if it is not cached."""
    if not version.parsed:
        return None
    try:
        with version.parsed.open("rb") as file:
            first, _, second = gzip.decompress(file.read()).partition(b"\n")
        head = json.loads(first)
        if head["reading"] != fingerprint:
            return None
        return ParsedVersion(
            document=load_document(second),
            recognised=bool(head["recognised"]),
            pages_recognised=int(head["pages_recognised"]),
        )
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        logger.warning("version %s is read again, what was kept of it cannot be used: %s", version.pk, error)
        return None


def parse_cache_clear(version: DocumentVersion) -> None:
    """Clear the cache: the original is parsed again."""
    if version.parsed:
        old = version.parsed.name
        version.parsed = ""
        version.save(update_fields=["parsed"])
        _delete_on_commit(version.parsed.storage, [old])


def _delete_on_commit(storage: Storage, names: Iterable[str | None]) -> None:
    def delete() -> None:
        for name in names:
            if name:
                storage.delete(name)

    transaction.on_commit(delete)


# ── pictures ────────────────────────────────────────────────────────────────────────────────────


def pictures_save(version: DocumentVersion, pictures: Sequence[Picture]) -> None:
    """Store these pictures of a version, and remove others."""
    rows = [
        DocumentPicture(version=version, name=p.name, media_type=p.media_type, page=p.page, alt=p.alt[:512])
        for p in pictures
    ]
    for row, picture in zip(rows, pictures, strict=True):
        row.file.save(picture.name, ContentFile(picture.content), save=False)
    with transaction.atomic():
        pictures_drop(version)
        DocumentPicture.objects.bulk_create(rows)


def pictures_drop(version: DocumentVersion) -> None:
    """Remove the pictures of a version; their files are removed after the commit."""
    old = list(DocumentPicture.objects.filter(version=version))
    if old:
        DocumentPicture.objects.filter(pk__in=[row.pk for row in old]).delete()
        _delete_on_commit(old[0].file.storage, [row.file.name for row in old])


def with_pictures(version: DocumentVersion, document: ParsedDocument) -> ParsedDocument:
    """The document with the bytes of its stored pictures."""
    rows = {row.name: row for row in DocumentPicture.objects.filter(version=version)}
    pictures = []
    for picture in document.pictures:
        if row := rows.get(picture.name):
            with stored_open(row.file) as file:
                pictures.append(replace(picture, content=file.read()))
    return replace(document, pictures=tuple(pictures))


def pictures_wanted(document: ParsedDocument, options: ParsingOptions) -> tuple[Picture, ...]:
    """The pictures to keep: the first ones, where pictures are shown or read at all."""
    return document.pictures[: options.max_pictures] if options.keep_pictures or options.recognise_pictures else ()
