"""Lines and pictures of a PDF page.

Lines may be the rulings of tables (ruled_tables.py). Pictures are kept unless they are logos, backgrounds or ornaments;
each gets its caption. Positions are left, top, right, bottom in the coordinates of the file; characters.py
turns them upright.
"""

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

from ragcore.parsing.pdf.layout import Insert, PageText, Run
from ragcore.types import Picture

MAX_DEPTH = 4  # forms inside forms
MAX_OBJECTS = 50_000  # of a page
MAX_SEGMENTS = 6_000  # more than any table needs: a map or a chart
MAX_PATH_SEGMENTS = 2_000
THIN = 3.0  # points: a filled rectangle that is not thicker is a line
MIN_LENGTH = 4.0  # points of a line
SLOPE = 1.0  # points by which a straight line may lean
NEARLY_WHITE = 245

Matrix = tuple[float, float, float, float, float, float]
Sides = tuple[float, float, float, float]  # left, top, right, bottom
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
MIN_PIXELS, MIN_POINTS = 100, 36.0  # both ways, or
STRIP_PIXELS, STRIP_POINTS = (200, 48), (120.0, 14.0)  # width and height of a line of text
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


@dataclass(frozen=True, slots=True)
class PlacedPicture:
    """A picture object; `raw` is valid until its page is closed."""

    raw: Any
    sides: Sides
    width: int  # pixels
    height: int
    is_upright: bool  # neither turned nor mirrored: its bytes show what the page shows


@dataclass(slots=True)
class Drawing:
    """Lines and pictures of one page."""

    lines: list[Sides] = field(default_factory=list)
    pictures: list[PlacedPicture] = field(default_factory=list)
    paths: int = 0


def read_drawing(page: Any) -> Drawing:
    """The lines and pictures of a pypdfium2 page. Pages with thousands of lines are drawings: no line is returned."""
    drawing = Drawing()
    for number, (raw, kind, matrix) in enumerate(_objects(page.raw, _IDENTITY, 0)):
        if number >= MAX_OBJECTS:
            break
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            drawing.pictures.append(_picture(raw, matrix))
        else:
            drawing.paths += 1
            if len(drawing.lines) <= MAX_SEGMENTS:
                drawing.lines += _path_lines(raw, matrix)
    if len(drawing.lines) > MAX_SEGMENTS:
        drawing.lines = []
    return drawing


def _objects(container: Any, matrix: Matrix, depth: int) -> Iterator[tuple[Any, int, Matrix]]:
    """Paths and pictures with the matrix of the forms that they stand in."""
    inside = depth > 0
    count = pdfium.FPDFFormObj_CountObjects(container) if inside else pdfium.FPDFPage_CountObjects(container)
    get = pdfium.FPDFFormObj_GetObject if inside else pdfium.FPDFPage_GetObject
    for index in range(count):
        raw = get(container, index)
        kind = pdfium.FPDFPageObj_GetType(raw)
        if kind in (pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE):
            yield raw, kind, matrix
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < MAX_DEPTH:
            yield from _objects(raw, _product(_matrix(raw), matrix), depth + 1)


def _matrix(raw: Any) -> Matrix:
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(raw, matrix):
        return _IDENTITY
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _product(inner: Matrix, outer: Matrix) -> Matrix:
    a, b, c, d, e, f = inner
    g, h, i, j, k, m = outer
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _transform(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _picture(raw: Any, outer: Matrix) -> PlacedPicture:
    """A picture fills the unit square of its matrix."""
    matrix = _product(_matrix(raw), outer)
    corners = [_transform(matrix, x, y) for x, y in ((0, 0), (1, 0), (0, 1), (1, 1))]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(raw, width, height)
    upright = matrix[0] > 0 and matrix[3] > 0 and abs(matrix[1]) < 0.01 * matrix[0] > abs(matrix[2])
    return PlacedPicture(raw, (min(xs), max(ys), max(xs), min(ys)), width.value, height.value, upright)


def _path_lines(raw: Any, outer: Matrix) -> Iterator[Sides]:
    """Straight horizontal and vertical lines that a path draws; edges of filled areas count as lines."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(raw, fill, stroke)
    count = pdfium.FPDFPath_CountSegments(raw)
    if not (fill.value or stroke.value) or not 1 < count <= MAX_PATH_SEGMENTS:
        return
    if not stroke.value and _is_white(raw):
        return
    matrix = _product(_matrix(raw), outer)
    for corners in _subpaths(raw, count, matrix):
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        left, right, bottom, top = min(xs), max(xs), min(ys), max(ys)
        if min(right - left, top - bottom) <= THIN and fill.value:
            corners = _middle_line(left, top, right, bottom)
        for (x, y), (next_x, next_y) in zip(corners, corners[1:], strict=False):
            across, down = abs(next_x - x), abs(next_y - y)
            if max(across, down) >= MIN_LENGTH and min(across, down) <= SLOPE:
                yield min(x, next_x), max(y, next_y), max(x, next_x), min(y, next_y)


def _middle_line(left: float, top: float, right: float, bottom: float) -> list[tuple[float, float]]:
    if right - left >= top - bottom:
        return [(left, (top + bottom) / 2), (right, (top + bottom) / 2)]
    return [((left + right) / 2, top), ((left + right) / 2, bottom)]


def _is_white(raw: Any) -> bool:
    parts = [ctypes.c_uint() for _ in range(4)]
    return bool(pdfium.FPDFPageObj_GetFillColor(raw, *parts)) and all(part.value >= NEARLY_WHITE for part in parts[:3])


def _subpaths(raw: Any, count: int, matrix: Matrix) -> Iterator[list[tuple[float, float]]]:
    """Corners of each part of a path that consists of straight lines; closed parts return to their first corner."""
    corners: list[tuple[float, float]] = []
    straight = True
    x, y = ctypes.c_float(), ctypes.c_float()
    for index in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(raw, index)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            if straight and len(corners) > 1:
                yield corners
            corners, straight = [], True
        elif kind != pdfium.FPDF_SEGMENT_LINETO:
            straight = False
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        corners.append(_transform(matrix, x.value, y.value))
        if pdfium.FPDFPathSegment_GetClose(segment):
            corners.append(corners[0])
    if straight and len(corners) > 1:
        yield corners


@dataclass(slots=True)
class PdfPictureCollector:
    """Gathers the pictures of a document page by page; the same bytes are kept once."""

    pictures: dict[str, Picture] = field(default_factory=dict)  # by digest
    pages: Counter[str] = field(default_factory=Counter)  # digest -> pages that show it
    total_bytes: int = 0

    def collect(self, document: Any, page: Any, text: PageText, drawing: Drawing) -> Iterator[Run]:
        """Runs that stand for the pictures of one page. `text` has no picture in it yet."""
        digests: set[str] = set()
        for placed in drawing.pictures:
            if not _is_worth_keeping(placed, text):
                continue
            digest = sha256(_stream(placed.raw)).hexdigest()
            if digest not in digests:
                self.pages[digest] += 1
                digests.add(digest)
            picture = self.pictures.get(digest) or self._kept(digest, document, page, placed, text.number)
            if picture is not None:
                caption = find_caption(placed.sides, text.runs)
                link = f"![{_alt(caption)}](picture:{picture.name})"
                yield Insert("image", link, *placed.sides).as_run()

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
    pixels, points = (placed.width, placed.height), (x1 - x0, y1 - y0)
    sizes = zip((*pixels, *points), (*STRIP_PIXELS, *STRIP_POINTS), strict=True)
    is_strip = all(size >= least for size, least in sizes)
    if not is_strip and (min(pixels) < MIN_PIXELS or min(points) < MIN_POINTS):
        return False
    if x1 < 0 or y1 < 0 or x0 > text.width or y0 > text.height:
        return False
    is_large = (x1 - x0) * (y1 - y0) >= BACKGROUND * text.width * text.height or x1 - x0 >= 0.95 * text.width
    return not (is_large and any(x0 < run.x0 < x1 and y0 < run.middle < y1 for run in text.runs))


def drop_unkept_pictures(page: PageText, names: set[str]) -> PageText:
    """The page without pictures that are not kept."""
    return replace(page, runs=tuple(run for run in page.runs if run.insert is None or _is_kept(run.insert, names)))


def _is_kept(insert: Insert, names: set[str]) -> bool:
    return insert.kind != "image" or insert.text.rpartition("(picture:")[2].rstrip(")") in names


def find_caption(sides: tuple[float, float, float, float], runs: Sequence[Run]) -> str:
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
        image = picture.get_bitmap(render=True).to_pil()
    except (pypdfium2.PdfiumError, ValueError):
        return None
    image.thumbnail((MAX_SIDE_PIXELS, MAX_SIDE_PIXELS))
    target = BytesIO()
    if image.convert("RGB").getcolors(FEW_COLOURS) is not None or image.mode == "RGBA":
        image.save(target, "PNG")
        return "image/png", target.getvalue()
    image.convert("RGB").save(target, "JPEG", quality=85)
    return "image/jpeg", target.getvalue()
