"""What is drawn on a PDF page besides text: straight lines, which may be the rulings of tables, and pictures.

Positions are left, top, right, bottom in the coordinates of the file; pdf_chars turns them upright.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium

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
    for seen, (raw, kind, matrix) in enumerate(_objects(page.raw, _IDENTITY, 0)):
        if seen >= MAX_OBJECTS:
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
    said = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(raw, said):
        return _IDENTITY
    return said.a, said.b, said.c, said.d, said.e, said.f


def _product(inner: Matrix, outer: Matrix) -> Matrix:
    a, b, c, d, e, f = inner
    g, h, i, j, k, m = outer
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _at(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _picture(raw: Any, outer: Matrix) -> PlacedPicture:
    """A picture fills the unit square of its matrix."""
    matrix = _product(_matrix(raw), outer)
    corners = [_at(matrix, x, y) for x, y in ((0, 0), (1, 0), (0, 1), (1, 1))]
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
    return bool(pdfium.FPDFPageObj_GetFillColor(raw, *parts)) and all(one.value >= NEARLY_WHITE for one in parts[:3])


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
        corners.append(_at(matrix, x.value, y.value))
        if pdfium.FPDFPathSegment_GetClose(segment):
            corners.append(corners[0])
    if straight and len(corners) > 1:
        yield corners
