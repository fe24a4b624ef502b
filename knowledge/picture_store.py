"""Pictures of pages on disk, and why some cannot be drawn: too large for Redis and cheap to lose."""

from __future__ import annotations

import logging
import shutil
from functools import cache

from django.conf import settings
from django.core.cache.backends.filebased import FileBasedCache

logger = logging.getLogger(__name__)

PICTURES_KEPT = 2000  # files of about 100 KB
PICTURE_AGE_SECONDS = 30 * 24 * 3600


@cache
def pictures() -> FileBasedCache:
    """By key; values are PNGs, or reasons of failures."""
    limits = {"TIMEOUT": PICTURE_AGE_SECONDS, "OPTIONS": {"MAX_ENTRIES": PICTURES_KEPT}}
    return FileBasedCache(str(settings.DATA_DIR / "pictures"), limits)


def picture_store(key: str, value: object, *, seconds: int = PICTURE_AGE_SECONDS) -> None:
    """Keep a value; where the disk is full the reader gets the picture all the same."""
    try:
        pictures().set(key, value, seconds)
    except OSError as error:
        logger.warning("a picture of a page could not be stored: %s", error)


def pictures_expire() -> None:
    """Remove pictures of pages from the disk; they are drawn anew when somebody opens them."""
    shutil.rmtree(settings.DATA_DIR / "pictures", ignore_errors=True)
