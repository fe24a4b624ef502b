"""Free space where the product writes: told in time, and kept for the database when files would take the rest.

Below `DISK_WARNING_MB` administrators are told; below `DISK_RESERVE_MB` no files are accepted and ingestion pauses, so
that questions, logs and the database still have room. Numbers are read anew each time, which takes microseconds.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from django.conf import settings
from django.template.defaultfilters import filesizeformat

from knowledge.file_errors import StorageFullError

State = Literal["ok", "low", "full", "read_only"]
FAULTS = {errno.ENOSPC: "full", errno.EDQUOT: "full", errno.EROFS: "read_only"}  # reasons of StorageFullError


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A file system, and what of the product lies on it: "files", "database", "temporary"."""

    places: tuple[str, ...]
    free_bytes: int
    total_bytes: int
    is_read_only: bool

    @property
    def state(self) -> State:
        """ "full": files are refused; "low": administrators are told."""
        if self.is_read_only:
            return "read_only"
        if self.free_bytes < settings.DISK_RESERVE_BYTES:
            return "full"
        return "low" if self.free_bytes < settings.DISK_WARNING_BYTES else "ok"

    @property
    def free(self) -> str:
        """In words, in the language of the thread."""
        return str(filesizeformat(self.free_bytes))


def volumes() -> list[Volume]:
    """Each file system once. A place that cannot be asked is left out."""
    by_device: dict[int, tuple[list[str], Path]] = {}
    for name, path in _places():
        if existing := _nearest(path):
            by_device.setdefault(existing.stat().st_dev, ([], existing))[0].append(name)
    return [_volume(tuple(names), path) for names, path in by_device.values()]


def worst_volume() -> Volume:
    """The one that is nearest to its limits."""
    order = ("read_only", "full", "low", "ok")
    return min(volumes(), key=lambda volume: (order.index(volume.state), volume.free_bytes))


def space_require(size_bytes: int = 0) -> None:
    """Raise StorageFullError where a file of this size would go beyond the reserve, or nothing can be written."""
    for volume in volumes():
        if volume.is_read_only:
            raise StorageFullError("read_only")
        if volume.free_bytes - size_bytes < settings.DISK_RESERVE_BYTES:
            raise StorageFullError("reserve", free=volume.free)


def has_space() -> bool:
    """Whether files are accepted."""
    return worst_volume().state in ("ok", "low")


def disk_fault(error: BaseException) -> StorageFullError | None:
    """What an error of the system says of the disk; None: it says nothing of it."""
    reason = FAULTS.get(error.errno or 0) if isinstance(error, OSError) else None
    return StorageFullError(reason) if reason else None


def _places() -> Iterator[tuple[str, Path]]:
    yield "files", Path(settings.DATA_DIR)
    yield "files", Path(settings.MEDIA_ROOT)
    if settings.IS_EMBEDDED:
        yield "database", Path(settings.DATA_DIR) / "postgres"
    yield "temporary", Path(settings.FILE_UPLOAD_TEMP_DIR or tempfile.gettempdir())


def _nearest(path: Path) -> Path | None:
    """The path, or the first folder above it that exists: a mount may be missing, and folders are made when needed."""
    return next((each for each in (path, *path.parents) if each.exists()), None)


def _volume(names: tuple[str, ...], path: Path) -> Volume:
    status = os.statvfs(path)
    return Volume(
        places=tuple(dict.fromkeys(names)),
        free_bytes=status.f_bavail * status.f_frsize,
        total_bytes=status.f_blocks * status.f_frsize,
        is_read_only=bool(status.f_flag & os.ST_RDONLY),
    )
