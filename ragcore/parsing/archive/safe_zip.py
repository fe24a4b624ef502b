"""Untrusted zip archives: readable names, and limits that are counted while unpacking.

The sizes in the headers of an archive are not trusted.
"""

from __future__ import annotations

import re
import stat
import struct
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from ragcore.errors import CorruptDocumentError, PasswordProtectedError, UnsafeArchiveError
from ragcore.parsing.charset import east_asian_encoding

_ENCRYPTED, _UTF8 = 0x1, 0x800  # general purpose flags
_UNICODE_PATH = 0x7075  # extra field in which old programs keep the name in UTF-8
_LOCAL_HEADER_BYTES = 30
_WINDOW_BYTES = 1 << 16
_SYSTEM_FILES = frozenset((".ds_store", "thumbs.db", "desktop.ini", "mimetype.lnk"))
_DIRECTION = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """What one archive, with the archives in it, may unpack to."""

    members: int = 5000
    total_bytes: int = 256 * 1024 * 1024
    member_bytes: int = 128 * 1024 * 1024
    ratio: int = 250  # unpacked by packed size; logs and sheets reach 100
    ratio_from_bytes: int = 8 * 1024 * 1024  # smaller archives may be as dense as they like
    depth: int = 2  # an archive and archives in it


DEFAULT_ARCHIVE_LIMITS = ArchiveLimits()


@dataclass(slots=True)
class UnpackBudget:
    """What is left of the limits for an archive and all archives in it."""

    limits: ArchiveLimits
    members: int = 0
    bytes: int = 0

    def count_members(self, count: int, *, name: str) -> None:
        self.members += count
        if self.members > self.limits.members:
            raise UnsafeArchiveError(name=name, members=self.members, limit=self.limits.members)

    def count_bytes(self, count: int, *, name: str) -> None:
        self.bytes += count
        if self.bytes > self.limits.total_bytes:
            raise UnsafeArchiveError(name=name, unpacked_bytes=self.bytes, limit=self.limits.total_bytes)


class SafeZip:
    """The regular files of a zip archive, in the order of their names."""

    def __init__(self, content: bytes, *, name: str, budget: UnpackBudget) -> None:
        """Raises CorruptDocumentError, PasswordProtectedError or UnsafeArchiveError."""
        self._name = name
        self._size = len(content)
        self._budget = budget
        self._unpacked = 0
        try:
            self._archive = ZipFile(BytesIO(content))
        except (BadZipFile, ValueError, NotImplementedError, OSError, struct.error) as problem:
            raise CorruptDocumentError(name=name, problem=str(problem)[:300]) from problem
        entries = self._archive.infolist()
        budget.count_members(len(entries), name=name)
        if any(entry.flag_bits & _ENCRYPTED for entry in entries):
            raise PasswordProtectedError(name=name)
        _refuse_overlaps(entries, name)
        paths = _paths(entries, name)
        self.ignored = [path for path, entry in paths if stat.S_ISLNK(entry.external_attr >> 16)]  # links, not followed
        self._files = {path: entry for path, entry in paths if _is_file(path, entry)}

    @property
    def paths(self) -> list[str]:
        """Clean relative paths with "/" between folders."""
        return sorted(self._files)

    def files(self) -> Iterator[tuple[str, bytes | None]]:
        """Each member as it is unpacked; None for one that is damaged or packed in a way that we do not read."""
        for path in self.paths:
            yield path, self.read(path)

    def read(self, path: str) -> bytes | None:
        """A member, unpacked; None where it is damaged, of unknown compression, or not there.

        Raises UnsafeArchiveError as soon as a limit is passed, whatever the headers say.
        """
        entry = self._files.get(path)
        if entry is None or entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # others unpack without a bound
            return None
        parts: list[bytes] = []
        size = 0
        try:
            with self._archive.open(entry) as stream:
                while window := stream.read(_WINDOW_BYTES):
                    size += len(window)
                    self._count(len(window), size)
                    parts.append(window)
        except (BadZipFile, ZlibError, ValueError, EOFError, OSError, NotImplementedError, struct.error):
            return None
        return b"".join(parts)

    def _count(self, window: int, size: int) -> None:
        limits = self._budget.limits
        self._unpacked += window
        self._budget.count_bytes(window, name=self._name)
        is_dense = self._unpacked > limits.ratio_from_bytes and self._unpacked > limits.ratio * self._size
        if is_dense or size > limits.member_bytes:
            raise UnsafeArchiveError(name=self._name, unpacked_bytes=self._unpacked, packed_bytes=self._size)


def _refuse_overlaps(entries: list[ZipInfo], name: str) -> None:
    """Members that share their bytes are how a small file becomes petabytes (Fifield, "A better zip bomb", 2019)."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise UnsafeArchiveError(name=name, problem="overlapping members")
        end = entry.header_offset + _LOCAL_HEADER_BYTES + entry.compress_size


def _paths(entries: list[ZipInfo], name: str) -> list[tuple[str, ZipInfo]]:
    """Clean paths. Raises UnsafeArchiveError for one that leads out of the archive."""
    unmarked = [entry.filename for entry in entries if not entry.flag_bits & _UTF8]
    encoding = _encoding(unmarked)
    paths = []
    for entry in entries:
        path = _decoded(entry, encoding).replace("\\", "/")
        if path.startswith("/") or re.match(r"[A-Za-z]:", path) or ".." in path.split("/"):
            raise UnsafeArchiveError(name=name, member=clean_name(path)[:300])
        paths.append((clean_name(path), entry))
    return paths


def _encoding(names: list[str]) -> str:
    """Which encoding the names have that do not say so; programs on Windows use that of the country."""
    raw = b"\n".join(name.encode("cp437", errors="replace") for name in names)
    try:
        raw.decode()
    except UnicodeDecodeError:
        return east_asian_encoding(raw) or "cp437"
    return "utf-8"


def _decoded(entry: ZipInfo, encoding: str) -> str:
    if entry.flag_bits & _UTF8:
        return entry.filename
    return _unicode_path(entry.extra) or entry.filename.encode("cp437", errors="replace").decode(encoding, "replace")


def _unicode_path(extra: bytes) -> str | None:
    """The name in the Info-ZIP extra field: version, checksum of the other name, UTF-8."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == _UNICODE_PATH and size > 5:
            return extra[9 : 4 + size].decode("utf-8", errors="replace")
        extra = extra[4 + size :]
    return None


def clean_name(name: str) -> str:
    """A name on one line without characters that hide what it is: controls, reversals, invisible ones."""
    visible = _DIRECTION.sub("", unicodedata.normalize("NFC", name))
    line = "".join(" " if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") else char for char in visible)
    return "/".join(" ".join(part.split()) for part in line.split("/") if part.strip() not in ("", "."))


def _is_file(path: str, entry: ZipInfo) -> bool:
    """False for folders, links, devices, and what operating systems leave in every archive."""
    is_regular = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
    if not path or not is_regular or entry.is_dir() or entry.filename.endswith("\\"):
        return False
    parts = PurePosixPath(path).parts
    return "__MACOSX" not in parts and parts[-1].lower() not in _SYSTEM_FILES and not parts[-1].startswith("._")
