"""Checks of zip packages of office programs (OOXML, OpenDocument) before a library opens one.

A package is refused for what it declares (members, sizes, names) and for entity declarations in its XML parts, so
that no library behind this check ever sees a member that unpacks without end or an entity that expands.
"""

from __future__ import annotations

import re
import struct
from io import BytesIO
from pathlib import PurePosixPath
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from ragcore.errors import CorruptDocumentError, PasswordProtectedError, ResourceLimitError, UnsafeArchiveError
from ragcore.parsing.parser_errors import coded_errors

MAX_UNPACKED_BYTES = 256 * 1024 * 1024
MAX_PART_BYTES = 128 * 1024 * 1024
MAX_PARTS = 10_000
MAX_RATIO = 500  # unpacked by packed size; repetitive sheets reach 100
RATIO_FROM_BYTES = 16 * 1024 * 1024  # smaller parts may be as dense as they like

COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")  # the container of old office files and of encrypted new ones
ZIP = b"PK\x03\x04"
_ENCRYPTED_OOXML = "EncryptedPackage".encode("utf-16-le")
_XML_PARTS = (".xml", ".rels", ".vml", ".xhtml", ".svg")
_WINDOW_BYTES = 1 << 20
_ENTITY = re.compile(b"|".join(re.escape("<!ENTITY".encode(code)) for code in ("ascii", "utf-16-le", "utf-16-be")))
_OVERLAP_BYTES = 2 * len("<!ENTITY")
_WORD_ENCRYPTED = 0x0100  # flag in the file information block, [MS-DOC] 2.5.2
_FILE_PASS = 0x002F  # record of encrypted workbooks, [MS-XLS] 2.4.117
_END_OF_RECORDS = 0x000A
_POWERPOINT_ENCRYPTED = 0xF3D1C4DF  # token of the current user stream, [MS-PPT] 2.3.2
_HEAD_BYTES = 64 * 1024


def check_package(content: bytes, *, name: str) -> None:
    """Accept a zip package of an office program.

    Raises CorruptDocumentError (no such package), PasswordProtectedError, ResourceLimitError (too large) or
    UnsafeArchiveError (built to do harm). The sizes are those that the archive declares; zipfile never reads beyond
    a declared size, so lying does not help.
    """
    if content.startswith(COMPOUND_FILE):
        if _ENCRYPTED_OOXML in content:
            raise PasswordProtectedError(name=name)
        raise CorruptDocumentError("old_office", name=name)
    if not content.startswith(ZIP):
        raise CorruptDocumentError(name=name, problem="no zip archive")
    try:
        with ZipFile(BytesIO(content)) as archive:
            _check_members(archive.infolist(), name)
            for part in archive.infolist():
                if part.filename.lower().endswith(_XML_PARTS):
                    _check_part(archive, part, name)
            _check_manifest(archive, name)
    except (BadZipFile, ZlibError, ValueError, EOFError, OSError, NotImplementedError) as problem:
        raise CorruptDocumentError(name=name, problem=str(problem)[:300]) from problem


def _check_members(parts: list[ZipInfo], name: str) -> None:
    if any(part.flag_bits & 0x1 for part in parts):
        raise PasswordProtectedError(name=name)
    unpacked = sum(part.file_size for part in parts)
    largest = max((part.file_size for part in parts), default=0)
    if len(parts) > MAX_PARTS or unpacked > MAX_UNPACKED_BYTES or largest > MAX_PART_BYTES:
        raise ResourceLimitError(name=name, parts=len(parts), unpacked_bytes=unpacked)
    if any(_is_bomb(part) or _leaves(part.filename) for part in parts):
        raise UnsafeArchiveError(name=name)


def _is_bomb(part: ZipInfo) -> bool:
    return part.file_size > RATIO_FROM_BYTES and part.file_size > MAX_RATIO * max(part.compress_size, 1)


def _leaves(member: str) -> bool:
    """Whether a member's name points out of the package."""
    path = PurePosixPath(member.replace("\\", "/"))
    return ".." in path.parts or path.parts[:1] in (("/",), ("//",))


def _check_part(archive: ZipFile, part: ZipInfo, name: str) -> None:
    """Office programs never declare entities; a bare DOCTYPE stands in old OpenDocument manifests."""
    with archive.open(part) as stream:
        tail = b""
        while window := stream.read(_WINDOW_BYTES):
            if _ENTITY.search(tail + window):
                raise UnsafeArchiveError("xml_entities", name=name)
            tail = window[-_OVERLAP_BYTES:]


def _check_manifest(archive: ZipFile, name: str) -> None:
    """OpenDocument keeps the zip readable and encrypts the members; its manifest says so."""
    manifest = "META-INF/manifest.xml"
    if manifest in archive.namelist() and b"encryption-data" in archive.read(manifest):
        raise PasswordProtectedError(name=name)


def is_encrypted(content: bytes) -> bool:
    """Whether an old office file wants a password; False for anything that is no compound file.

    Raises CorruptDocumentError for a damaged container.
    """
    if not content.startswith(COMPOUND_FILE):
        return False
    from olefile import OleFileIO

    heads: dict[str, bytes] = {}
    with coded_errors("compound file"), OleFileIO(BytesIO(content)) as file:
        for path in file.listdir():
            if len(path) == 1 and path[0].lower() in _READERS:
                heads[path[0].lower()] = file.openstream(path).read(_HEAD_BYTES)
    return any(_READERS[name](head) for name, head in heads.items())


def _word(head: bytes) -> bool:
    return len(head) >= 12 and bool(struct.unpack_from("<H", head, 10)[0] & _WORD_ENCRYPTED)


def _workbook(head: bytes) -> bool:
    """FILEPASS follows the first records of the workbook, if it is there."""
    place = 0
    while place + 4 <= len(head):
        kind, size = struct.unpack_from("<HH", head, place)
        if kind in (_FILE_PASS, _END_OF_RECORDS):
            return bool(kind == _FILE_PASS)
        place += 4 + size
    return False


def _presentation(head: bytes) -> bool:
    return len(head) >= 16 and bool(struct.unpack_from("<I", head, 12)[0] == _POWERPOINT_ENCRYPTED)


def _always(head: bytes) -> bool:
    """The stream exists in encrypted files only."""
    return True


_READERS = {
    "encryptedpackage": _always,
    "encryptedsummary": _always,
    "worddocument": _word,
    "workbook": _workbook,
    "book": _workbook,
    "current user": _presentation,
}
