"""Pictures that a page or message carries itself. Other pictures stay links and are never fetched."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

from ragcore.types import Picture

MAX_PICTURES = 500
MAX_PICTURES_BYTES = 48 * 1024 * 1024  # of one document; the answer of the parsing process is limited too
MIN_PICTURE_BYTES = 100  # spacers and counting pixels are smaller

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "png"),
    (b"\xff\xd8\xff", "image/jpeg", "jpg"),
    (b"GIF8", "image/gif", "gif"),
    (b"BM", "image/bmp", "bmp"),
    (b"II*\x00", "image/tiff", "tiff"),
    (b"MM\x00*", "image/tiff", "tiff"),
)
_DATA = re.compile(r"data:[^,;]{0,100}((?:;[^,;]{0,100}){0,5}),", re.IGNORECASE)

Lookup = Callable[[str], bytes | None]  # the address in the source -> the picture, None where the file has none


def picture_kind(content: bytes) -> tuple[str, str] | None:
    """Media type and file ending by the first bytes; None for what is no picture that we show."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp", "webp"
    return next(((media, ending) for start, media, ending in _SIGNATURES if content.startswith(start)), None)


class WebPictureCollector:
    """Collects the pictures of one document and says what a Markdown image points to."""

    def __init__(self, *, base: str = "", lookup: Lookup | None = None, links: bool = True) -> None:
        """`base` resolves relative addresses; `lookup` finds pictures in the same package; `links` keeps the others."""
        self.base = base
        self.pictures: list[Picture] = []
        self._lookup = lookup
        self._links = links
        self._targets: dict[tuple[str, str], str] = {}  # base and address -> what to show it by
        self._kept: dict[bytes, str] = {}  # digest of a picture -> the same
        self._bytes = 0

    def target(self, source: str, alt: str) -> str:
        """`picture:NAME` for a picture that the file carries, an address for one elsewhere, "" for nothing to show."""
        key = (self.base, source.strip())
        if key not in self._targets:
            self._targets[key] = self._embed_or_link(key[1], alt)
        return self._targets[key]

    def add(self, content: bytes, alt: str = "") -> str:
        """Keep a picture; the target to show it by, "" where it is too small, too much or no picture."""
        digest = sha256(content).digest()
        if digest in self._kept:
            return self._kept[digest]
        kind = picture_kind(content)
        too_much = len(self.pictures) >= MAX_PICTURES or self._bytes + len(content) > MAX_PICTURES_BYTES
        if kind is None or too_much or len(content) < MIN_PICTURE_BYTES:
            return ""
        name = f"picture-{len(self.pictures) + 1}.{kind[1]}"
        self._bytes += len(content)
        self.pictures.append(Picture(name=name, media_type=kind[0], content=content, alt=alt))
        self._kept[digest] = f"picture:{name}"
        return self._kept[digest]

    def _embed_or_link(self, source: str, alt: str) -> str:
        if source[:5].lower() == "data:":
            content = data_content(source)
            return self.add(content, alt) if content else ""
        if self._lookup is not None and (packed := self._lookup(source)) is not None:
            return self.add(packed, alt)
        return self._link(source) if self._links else ""

    def _link(self, source: str) -> str:
        try:
            address = urljoin(self.base, source) if self.base else source
            scheme = urlsplit(address).scheme.lower()
        except ValueError:  # e.g. an unfinished IPv6 address
            return ""
        if scheme not in ("", "http", "https"):
            return ""
        return address.replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("\n", "")


def data_content(source: str) -> bytes | None:
    """The bytes of a `data:` address; None where it is broken."""
    head = _DATA.match(source)
    if head is None:
        return None
    body = unquote_to_bytes(source[head.end() :])
    if ";base64" not in head[1].lower():
        return body
    try:
        body = re.sub(rb"\s+", b"", body).rstrip(b"=")
        return b64decode(body + b"=" * (-len(body) % 4))
    except (binascii.Error, ValueError):
        return None
