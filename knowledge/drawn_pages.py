"""Pictures of pages on disk: drawn once for all who ask, and not again and again where that takes too long or fails."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256

from django.core.cache import cache as shared_cache
from django.db import connection
from django.db.models.fields.files import FieldFile
from redis.exceptions import RedisError

from knowledge.file_errors import PicturesBusyError
from knowledge.models import DocumentVersion
from knowledge.page_picture import TIMEOUT_SECONDS, BoxOnPage, page_png
from knowledge.person_queue import RETRY_SECONDS, WAIT_SECONDS, PersonQueue
from knowledge.picture_store import picture_store, pictures
from knowledge.services.originals import original_open, stored_open
from ragcore.errors import CorruptDocumentError, ResourceLimitError

logger = logging.getLogger(__name__)

DRAWING = 2  # raised whenever pages are drawn in another way
# for which a page that could not be drawn is not tried again; a slow one may have met a busy machine
FAILURE_AGE_SECONDS = {"slow_page": 3600, "page": 24 * 3600}
POLL_SECONDS = 0.1
FAILURES = {"slow_page": ResourceLimitError, "page": CorruptDocumentError}  # by reason

queue = PersonQueue()
_locks: dict[str, threading.Lock] = {}
_guard = threading.Lock()


def page_cached(
    source: FieldFile,
    version: DocumentVersion,
    page: int,
    *,
    person: object,
    boxes: Sequence[BoxOnPage] = (),
    words: Sequence[str] = (),
    is_clip: bool = False,
) -> bytes:
    """PNG of a page (1-based) of a PDF that belongs to a version: from the disk, or drawn in the turn of the person.

    Raises PicturesBusyError where the turn does not come in time, CorruptDocumentError, ResourceLimitError also where
    an earlier try failed, FileMissingError, FileDamagedError.
    """
    places = sha256(repr((list(boxes), list(words), is_clip)).encode()).hexdigest()[:16]
    sheet = f"{DRAWING}:{version.pk}:{version.sha256}:{bool(version.rendition)}:{page}"
    key = f"{sheet}:{places}"
    if (picture := pictures().get(key)) is not None:
        return bytes(picture)
    _raise_if_failed(sheet, page)
    _give_connection_back()
    with _alone(key):
        if (picture := pictures().get(key)) is not None:
            return bytes(picture)
        with queue.turn(person):
            _raise_if_failed(sheet, page)  # as another reader has found out meanwhile
            with _opened(source, version) as content:
                picture = _drawn(sheet, content, page=page, boxes=boxes, words=words, is_clip=is_clip)
            picture_store(key, picture)
    return picture


def _drawn(
    sheet: str, content: bytes, *, page: int, boxes: Sequence[BoxOnPage], words: Sequence[str], is_clip: bool
) -> bytes:
    try:
        return page_png(content, page=page, boxes=boxes, words=words, is_clip=is_clip)
    except (CorruptDocumentError, ResourceLimitError) as error:
        logger.warning("page %s cannot be drawn: %s", sheet, error.message)
        picture_store(f"failed:{sheet}", error.reason, seconds=FAILURE_AGE_SECONDS.get(error.reason, 60))
        raise


def _raise_if_failed(sheet: str, page: int) -> None:
    if (reason := pictures().get(f"failed:{sheet}")) is not None:
        raise FAILURES.get(reason, CorruptDocumentError)(reason if reason in FAILURES else "page", page=page)


@contextmanager
def _opened(source: FieldFile, version: DocumentVersion) -> Iterator[bytes]:
    is_original = source.name == version.file.name
    with original_open(version) if is_original else stored_open(source) as file:
        content = file.read()
    _give_connection_back()
    yield content


def _give_connection_back() -> None:
    """Who waits for a picture keeps no connection to the database from others."""
    if not connection.in_atomic_block:
        connection.close()


# ── one drawing for all who ask for the same picture ────────────────────────────────────────────


@contextmanager
def _alone(key: str) -> Iterator[None]:
    """Let one thread of all web processes draw a picture; others wait, and find it on disk afterwards.

    Raises PicturesBusyError.
    """
    until = time.monotonic() + WAIT_SECONDS
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    if not lock.acquire(timeout=WAIT_SECONDS):
        raise PicturesBusyError(retry_after_seconds=RETRY_SECONDS)
    try:
        claim = f"drawing:{sha256(key.encode()).hexdigest()}"
        while not _claim(claim) and pictures().get(key) is None:
            if time.monotonic() >= until:
                raise PicturesBusyError(retry_after_seconds=RETRY_SECONDS)
            time.sleep(POLL_SECONDS)  # another process draws it
        try:
            yield
        finally:
            _release(claim)
    finally:
        lock.release()
        with _guard:
            if not lock.locked():
                _locks.pop(key, None)


def _claim(name: str) -> bool:
    try:
        return bool(shared_cache.add(name, 1, TIMEOUT_SECONDS + WAIT_SECONDS))
    except RedisError:  # then two processes may draw the same
        return True


def _release(name: str) -> None:
    try:
        shared_cache.delete(name)
    except RedisError:  # it expires by itself
        logger.debug("the claim %s could not be released", name)
