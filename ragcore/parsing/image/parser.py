"""Picture files: one block and one picture; character recognition adds the text."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ragcore.errors import CorruptDocumentError, ResourceLimitError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.types import Block, ParsedDocument, Picture

MAX_PIXELS = 40_000_000  # as the header says; decoding happens elsewhere
_KINDS = {
    "image/png": ("png", (b"\x89PNG\r\n\x1a\n",)),
    "image/jpeg": ("jpg", (b"\xff\xd8\xff",)),
    "image/gif": ("gif", (b"GIF87a", b"GIF89a")),
    "image/bmp": ("bmp", (b"BM",)),
    "image/tiff": ("tif", (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")),
    "image/webp": ("webp", (b"RIFF",)),
}
# frame headers of JPEG; others of the range are tables
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD8)})  # markers without a length


class ImageParser:
    """Checks what a picture is and how large; it is not decoded here."""

    formats = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")
    media_types = {
        "image/png": ".png",
        "image/jpeg": ".jpg",
        "image/gif": ".gif",
        "image/webp": ".webp",
        "image/bmp": ".bmp",
        "image/tiff": ".tiff",
    }
    label = _("images")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError, or ResourceLimitError for a picture over MAX_PIXELS."""
        require_content(content, name=name)
        with coded_errors(name):
            kind = _kind(content)
            if kind is None:
                raise CorruptDocumentError(name=name, problem="not a picture of a known kind")
            width, height = _size(kind, content) or (0, 0)
            if width * height > MAX_PIXELS:
                raise ResourceLimitError(name=name, width=width, height=height)
            picture_name = f"picture-1.{_KINDS[kind][0]}"
            picture = Picture(name=picture_name, media_type=kind, content=content, page=1)
            block = Block(kind="image", text=f"![](picture:{picture_name})", page=1)
            return build_document([block], name=name, pictures=[picture])


def _kind(content: bytes) -> str | None:
    """The media type by the first bytes; the ending of a name may lie."""
    for kind, (_ending, marks) in _KINDS.items():
        if content.startswith(marks) and (kind != "image/webp" or content[8:12] == b"WEBP"):
            return kind
    return None


def _size(kind: str, content: bytes) -> tuple[int, int] | None:
    """Width and height as the header says; None where it takes a decoder to know. Raises struct.error if cut off."""
    if kind == "image/png":
        return _pair(">II", content, 16)
    if kind == "image/gif":
        return _pair("<HH", content, 6)
    if kind == "image/bmp":
        width, height = _pair("<ii", content, 18)
        return abs(width), abs(height)
    if kind == "image/jpeg":
        return next(_jpeg_sizes(content), None)
    return None


def _pair(layout: str, content: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(layout, content, at)
    return int(first), int(second)


def _jpeg_sizes(content: bytes) -> Iterator[tuple[int, int]]:
    """Sizes in the frame headers of a JPEG file."""
    at = 2
    while at + 9 < len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = _pair(">HH", content, at + 5)
            yield width, height
            return
        at += 2 if marker in _JPEG_BARE else 1 if marker == 0xFF else 2 + struct.unpack_from(">H", content, at + 2)[0]
