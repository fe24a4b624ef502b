"""Pictures of PDF pages worth keeping: no logos, no backgrounds, no ornaments; each with its caption (D9, D26)."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from io import BytesIO
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from ragcore.parsing.pdf.drawing import Drawing, PlacedPicture
from ragcore.parsing.pdf.page import Insert, PageText, Run
from ragcore.types import Picture

MIN_PIXELS = 100  # both ways
MIN_POINTS = 36.0
MAX_PICTURES = 200  # of one document
MAX_PICTURE_BYTES = 8 * 1024 * 1024
MAX_TOTAL_BYTES = 32 * 1024 * 1024
MAX_DECODED_PIXELS = 20_000_000
MAX_SIDE_PIXELS = 2000  # of a picture that is encoded anew
BACKGROUND = 0.6  # share of the page; with text on it
REPEATED_PAGES = 3  # the same picture on so many pages is a logo
FEW_COLOURS = 256  # up to here PNG is smaller than JPEG
CAPTION_POINTS = 40.0  # between a picture and its caption
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)?|photo|chart|diagram|plate|图|圖|照片|附图)\s*[0-9A-Z一二三四五六七八九十]", re.I
)


@dataclass(slots=True)
class PictureCollector:
    """Gathers the pictures of a document page by page; the same bytes are kept once."""

    pictures: dict[str, Picture] = field(default_factory=dict)  # by digest
    pages: Counter[str] = field(default_factory=Counter)  # digest -> pages that show it
    total_bytes: int = 0

    def collect(self, document: Any, page: Any, text: PageText, drawing: Drawing) -> Iterator[Run]:
        """Runs that stand for the pictures of one page. `text` has no picture in it yet."""
        seen: set[str] = set()
        for placed in drawing.pictures:
            if not _is_worth_keeping(placed, text):
                continue
            digest = sha256(_stream(placed.raw)).hexdigest()
            if digest not in seen:
                self.pages[digest] += 1
                seen.add(digest)
            picture = self.pictures.get(digest) or self._kept(digest, document, page, placed, text.number)
            if picture is not None:
                caption = caption_near(placed.sides, text.runs)
                shown = f"![{_alt(caption)}](picture:{picture.name})"
                yield Insert("image", shown, *placed.sides).as_run()

    def _kept(self, digest: str, document: Any, page: Any, placed: PlacedPicture, number: int) -> Picture | None:
        if len(self.pictures) >= MAX_PICTURES or self.total_bytes >= MAX_TOTAL_BYTES:
            return None
        encoded = _encoded(document, page, placed)
        if encoded is None or len(encoded[1]) > MAX_PICTURE_BYTES:
            return None
        kind, content = encoded
        name = f"page{number}-{len(self.pictures) + 1}.{'jpg' if kind == 'image/jpeg' else 'png'}"
        self.pictures[digest] = Picture(name=name, media_type=kind, content=content, page=number)
        self.total_bytes += len(content)
        return self.pictures[digest]

    def kept(self, *, pages: int) -> tuple[Picture, ...]:
        """What is shown on a few pages only."""
        limit = REPEATED_PAGES if pages > REPEATED_PAGES else 2
        return tuple(picture for digest, picture in self.pictures.items() if self.pages[digest] < limit)


def _is_worth_keeping(placed: PlacedPicture, text: PageText) -> bool:
    x0, y0, x1, y1 = placed.sides
    if min(placed.width, placed.height) < MIN_PIXELS or min(x1 - x0, y1 - y0) < MIN_POINTS:
        return False
    if x1 < 0 or y1 < 0 or x0 > text.width or y0 > text.height:
        return False
    is_large = (x1 - x0) * (y1 - y0) >= BACKGROUND * text.width * text.height or x1 - x0 >= 0.95 * text.width
    return not (is_large and any(x0 < run.x0 < x1 and y0 < run.middle < y1 for run in text.runs))


def with_pictures(page: PageText, names: set[str]) -> PageText:
    """The page without pictures that are not kept."""
    return replace(page, runs=tuple(run for run in page.runs if run.insert is None or _is_kept(run.insert, names)))


def _is_kept(insert: Insert, names: set[str]) -> bool:
    return insert.kind != "image" or insert.text.rpartition("(picture:")[2].rstrip(")") in names


def caption_near(sides: tuple[float, float, float, float], runs: Sequence[Run]) -> str:
    """The line next to a picture that begins like a caption, below rather than above; "" if there is none."""
    x0, y0, x1, y1 = sides
    near = []
    for run in runs:
        below, above = run.y0 - y1, y0 - run.y1
        overlaps = min(run.x1, x1) - max(run.x0, x0) > 0
        if overlaps and max(below, above) <= CAPTION_POINTS and _CAPTION.match(run.text):
            near.append((abs(below) if below > -5 else abs(above) + 10, run.text))
    return min(near)[1] if near else ""


def _alt(caption: str) -> str:
    return re.sub(r"[\[\]\s]+", " ", caption).strip()


def _stream(raw: Any) -> bytes:
    """The bytes of a picture as the file has them, still encoded."""
    size = pdfium.FPDFImageObj_GetImageDataRaw(raw, None, 0)
    buffer = (ctypes.c_ubyte * size)()
    pdfium.FPDFImageObj_GetImageDataRaw(raw, buffer, size)
    return bytes(buffer)


def _encoded(document: Any, page: Any, placed: PlacedPicture) -> tuple[str, bytes] | None:
    """Media type and bytes: a JPEG as it is, anything else as pdfium shows it; None if it cannot be shown."""
    picture = pypdfium2.PdfImage(placed.raw, page=page, pdf=document)
    if placed.is_upright and list(picture.get_filters(skip_simple=True)) == ["DCTDecode"]:
        return "image/jpeg", bytes(picture.get_data(decode_simple=True))
    if placed.width * placed.height > MAX_DECODED_PIXELS:
        return None
    try:
        shown = picture.get_bitmap(render=True).to_pil()
    except (pypdfium2.PdfiumError, ValueError):
        return None
    shown.thumbnail((MAX_SIDE_PIXELS, MAX_SIDE_PIXELS))
    target = BytesIO()
    if shown.convert("RGB").getcolors(FEW_COLOURS) is not None or shown.mode == "RGBA":
        shown.save(target, "PNG")
        return "image/png", target.getvalue()
    shown.convert("RGB").save(target, "JPEG", quality=85)
    return "image/jpeg", target.getvalue()
