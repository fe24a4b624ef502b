"""Workbooks, presentations and OpenDocument files made on the fly for the tests of parsing."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook
from PIL import Image
from pptx import Presentation

ODF = "urn:oasis:names:tc:opendocument:xmlns:"
NAMESPACES = " ".join(
    f'xmlns:{prefix}="{ODF}{name}:1.0"'
    for prefix, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "presentation": "presentation",
        "style": "style",
        "svg": "svg-compatible",
    }.items()
)


def png_bytes(colour: str = "red") -> bytes:
    """A small picture."""
    target = BytesIO()
    Image.new("RGB", (40, 30), colour).save(target, "PNG")
    return target.getvalue()


def xlsx_bytes(write: Callable[[Any], None]) -> bytes:
    """A workbook that `write` filled; its one sheet is active."""
    workbook = Workbook()
    write(workbook)
    target = BytesIO()
    workbook.save(target)
    return target.getvalue()


def pptx_bytes(write: Callable[[Any], None]) -> bytes:
    """A presentation that `write` filled."""
    presentation = Presentation()
    write(presentation)
    target = BytesIO()
    presentation.save(target)
    return target.getvalue()


def odf_bytes(kind: str, body: str, *, styles: str = "", parts: Mapping[str, bytes] | None = None) -> bytes:
    """An OpenDocument file of a kind ("text", "spreadsheet", "presentation") with this body."""
    content = (
        f'<office:document-content {NAMESPACES} xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.2">'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    members = {"content.xml": content.encode(), "META-INF/manifest.xml": b"", **(parts or {})}
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    members["META-INF/manifest.xml"] = members["META-INF/manifest.xml"] or _manifest(media_type, members)
    return zip_bytes({"mimetype": media_type.encode(), **members})


def _manifest(media_type: str, members: Mapping[str, bytes]) -> bytes:
    entries = [("/", media_type), *((name, "text/xml") for name in members if not name.startswith("META-INF"))]
    lines = "".join(f'<m:file-entry m:full-path="{path}" m:media-type="{kind}"/>' for path, kind in entries)
    return f'<m:manifest xmlns:m="{ODF}manifest:1.0">{lines}</m:manifest>'.encode()


def zip_bytes(members: Mapping[str, bytes]) -> bytes:
    """A zip archive with these members."""
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target.getvalue()


SECTOR = 512
_END, _FAT, _FREE, _NONE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF, 0xFFFFFFFF


def ole_bytes(streams: Mapping[str, bytes]) -> bytes:
    """A compound file (version 3) with at most three streams, each padded to eight sectors."""
    assert len(streams) <= 3
    eight = 8 * SECTOR
    sectors = [data.ljust(eight, b"\0")[:eight] for data in streams.values()]
    chain = [_FAT, _END]  # sector 0 is this table, sector 1 the directory
    for number in range(len(sectors)):
        start = 2 + 8 * number
        chain += [*range(start + 1, start + 8), _END]
    table = struct.pack("<128I", *chain, *[_FREE] * (128 - len(chain)))
    entries = [_entry("Root Entry", 5, child=1 if streams else _NONE, start=_END, size=0)]
    for number, name in enumerate(streams):
        right = number + 2 if number + 1 < len(streams) else _NONE
        entries.append(_entry(name, 2, right=right, start=2 + 8 * number, size=eight))
    directory = b"".join(entries).ljust(SECTOR, b"\0")
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<9I", 0, 1, 1, 0, 4096, _END, 0, _END, 0) + struct.pack("<109I", 0, *[_FREE] * 108)
    return head + table + directory + b"".join(sectors)


def _entry(name: str, kind: int, *, right: int = _NONE, child: int = _NONE, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le")
    head = raw.ljust(64, b"\0") + struct.pack("<HBBIII", len(raw) + 2, kind, 1, _NONE, right, child)
    return head + bytes(36) + struct.pack("<IQ", start, size)
