"""Pictures inside office files: bytes, safe names and the Markdown that shows them (D26)."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from ragcore.types import Picture

MAX_PICTURE_BYTES = 20 * 1024 * 1024
MAX_PICTURES_BYTES = 40 * 1024 * 1024  # of one document: they cross to the parent in Base64, several copies at once
MAX_NAME_CHARS = 64

_SIGNATURES = (  # what the bytes are counts, not what the part is called
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png", ".png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg", ".jpg"),
    (re.compile(rb"GIF8[79]a"), "image/gif", ".gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp", ".webp"),
    (re.compile(rb"BM.{4}\0\0\0\0", re.DOTALL), "image/bmp", ".bmp"),
    (re.compile(rb"II\*\0|MM\0\*"), "image/tiff", ".tif"),
)
_NO_ALT = re.compile(
    r"(?:[A-Za-z]:\\|https?://|/)\S+|\S+\.(?:png|jpe?g|gif|bmp|tiff?|webp|emf|wmf)|[A-Za-z0-9_-]{24,}"
    r"|(?:picture|image|graphic|图片|图像)\s*\d*",
    re.IGNORECASE,
)


class PictureShelf:
    """Collects the pictures of one document, each part once."""

    def __init__(self) -> None:
        self._by_part: dict[str, Picture] = {}
        self._taken: set[str] = set()
        self._bytes = 0
        self.left_out = 0  # pictures beyond MAX_PICTURES_BYTES

    def markdown(self, part: str, content: bytes, *, alt: str = "", page: int | None = None) -> str:
        """`![alt](picture:NAME)`; only the description for formats that no browser shows, such as EMF and WMF."""
        words = clean_alt(alt)
        picture = self._by_part.get(part) or self._added(part, content, words, page)
        return f"![{words}](picture:{picture.name})" if picture is not None else words

    def pictures(self) -> tuple[Picture, ...]:
        return tuple(self._by_part.values())

    def metadata(self) -> dict[str, str]:
        """What the document's metadata should say about pictures: how many were too large to keep."""
        return {"pictures_left_out": str(self.left_out)} if self.left_out else {}

    def _added(self, part: str, content: bytes, alt: str, page: int | None) -> Picture | None:
        kind = next(((media, ending) for sign, media, ending in _SIGNATURES if sign.match(content)), None)
        if kind is None:
            return None
        if len(content) > MAX_PICTURE_BYTES or self._bytes + len(content) > MAX_PICTURES_BYTES:
            self.left_out += 1
            return None
        self._bytes += len(content)
        picture = Picture(name=self._name(part, kind[1]), media_type=kind[0], content=content, page=page, alt=alt)
        self._by_part[part] = picture
        return picture

    def _name(self, part: str, ending: str) -> str:
        """The part's own name in ASCII with the ending of what it really is, numbered where it is taken."""
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", PurePosixPath(part).stem).strip("-")[:MAX_NAME_CHARS] or "picture"
        name, number = f"{stem}{ending}", 1
        while name in self._taken:
            number += 1
            name = f"{stem}-{number}{ending}"
        self._taken.add(name)
        return name


def clean_alt(text: str) -> str:
    """A description on one line that cannot end the Markdown around it; file names and numbers describe nothing."""
    words = " ".join(text.split()).replace("[", "(").replace("]", ")")
    return "" if _NO_ALT.fullmatch(words) else words
