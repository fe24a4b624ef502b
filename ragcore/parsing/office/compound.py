"""Compound files (OLE): the container of .doc, .xls and .ppt. Whether one is encrypted, without reading its text."""

from __future__ import annotations

import struct
from io import BytesIO

from ragcore.parsing.office.package import COMPOUND_FILE
from ragcore.parsing.parser_errors import coded_errors

_WORD_ENCRYPTED = 0x0100  # flag in the file information block, [MS-DOC] 2.5.2
_FILE_PASS = 0x002F  # record of encrypted workbooks, [MS-XLS] 2.4.117
_END_OF_RECORDS = 0x000A
_POWERPOINT_ENCRYPTED = 0xF3D1C4DF  # token of the current user stream, [MS-PPT] 2.3.2
_HEAD_BYTES = 64 * 1024


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
