"""Checks of a Word file before a library opens it: is it one, is it encrypted, how large does it unpack."""

from __future__ import annotations

from io import BytesIO
from zipfile import BadZipFile, ZipFile

from ragcore.errors import CorruptDocumentError, PasswordProtectedError, ResourceLimitError

MAX_UNPACKED_BYTES = 256 * 1024 * 1024
MAX_PART_BYTES = 128 * 1024 * 1024
MAX_PARTS = 10_000

_ZIP = b"PK\x03\x04"
_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")  # the container of old Word files and of encrypted new ones
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def check_package(content: bytes, *, name: str) -> None:
    """Raises CorruptDocumentError, PasswordProtectedError or ResourceLimitError.

    The sizes are those that the archive declares; zipfile never reads beyond a declared size, so lying does not help.
    """
    if content.startswith(_COMPOUND_FILE):
        if _ENCRYPTED in content:
            raise PasswordProtectedError(name=name)
        raise CorruptDocumentError("This is an old Word file (.doc) under a new name.", name=name)
    if not content.startswith(_ZIP):
        raise CorruptDocumentError(name=name, problem="no zip archive")
    try:
        with ZipFile(BytesIO(content)) as archive:
            parts = archive.infolist()
    except (BadZipFile, ValueError, NotImplementedError) as problem:
        raise CorruptDocumentError(name=name, problem=str(problem)) from problem
    if any(part.flag_bits & 0x1 for part in parts):
        raise PasswordProtectedError(name=name)
    unpacked = sum(part.file_size for part in parts)
    largest = max((part.file_size for part in parts), default=0)
    if len(parts) > MAX_PARTS or unpacked > MAX_UNPACKED_BYTES or largest > MAX_PART_BYTES:
        raise ResourceLimitError(name=name, parts=len(parts), unpacked_bytes=unpacked)
