"""Characters of a PDF page to runs: stretches of text on one line without a wide gap.

Characters come from pdfium one call each, so this is the hot loop of PDF parsing: boxes are written straight
into one array, and Python looks at each character once.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import pypdfium2.raw as pdfium

from ragcore.types import Box

GAP = 1.3  # font sizes between two characters from which they belong to different columns or cells
WORD_GAP = 0.22  # font sizes between two Latin characters from which a space is missing
BOLD = 600  # font weight
FONT_NAME_BYTES = 128
CJK = "\u2e80"  # from here on characters are written without spaces between words
_HYPHENS = frozenset("\x02\ufffe")  # how pdfium marks a hyphen that ends a line
_MARKS = frozenset("\x7f\xad\u200b\ufeff\ufffe\uffff")


@dataclass(frozen=True, slots=True)
class Run:
    """Text with its box in points from the top left corner of the upright page."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float  # font size in points, as shown
    bold: bool = False

    @property
    def middle(self) -> float:
        return (self.y0 + self.y1) / 2


@dataclass(frozen=True, slots=True)
class PageText:
    """The runs of a page in the order of the file, as they stand when the text is upright."""

    number: int  # 1-based
    width: float  # with the text upright
    height: float
    runs: tuple[Run, ...]
    turn: int = 0  # quarter turns clockwise by which the page is shown after that

    def shown(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        """A rectangle on the page as it is shown, from its top left corner."""
        width, height = self.width, self.height
        sides = (
            (x0, y0, x1, y1),
            (height - y1, x0, height - y0, x1),
            (width - x1, height - y1, width - x0, height - y0),
            (y0, width - x1, y1, width - x0),
        )[self.turn]
        left, top, right, bottom = (round(value, 1) for value in sides)
        return Box(page=self.number, x0=left, y0=top, x1=right, y1=bottom)


def _native(name: str, *arguments: Any) -> Any:
    """A pdfium function that takes addresses as plain integers, twice as fast as the typed one."""
    address = ctypes.cast(getattr(pdfium, name), ctypes.c_void_p).value or 0
    return ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(address)


_loose_box = _native("FPDFText_GetLooseCharBox", ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def read_page(page: Any, number: int) -> PageText:
    """Runs of a pypdfium2 page. Text that stands across (stamps at the margin, D24) is dropped."""
    left, bottom, right, top = _visible_area(page)
    textpage = page.get_textpage()
    try:
        chars = _characters(textpage)
        boxes = _boxes(textpage, len(chars))
        text_turn = _dominant_turn(textpage, len(chars))
        turns = -text_turn % 4
        sides = _turned(boxes, turns, left, bottom, right, top)
        finished = (run.finished(textpage, text_turn) for run in _runs(chars, sides))
        runs = tuple(run for run in finished if run is not None)
    finally:
        textpage.close()
    width, height = right - left, top - bottom
    size = (height, width) if turns % 2 else (width, height)
    return PageText(number, *size, runs, turn=(page.get_rotation() // 90 - turns) % 4)


def _visible_area(page: Any) -> tuple[float, float, float, float]:
    """left, bottom, right, top of the crop box inside the media box, in the coordinates of the file."""
    crop, media = page.get_cropbox(), page.get_mediabox()
    area = max(crop[0], media[0]), max(crop[1], media[1]), min(crop[2], media[2]), min(crop[3], media[3])
    return area if area[0] < area[2] and area[1] < area[3] else media


def _characters(textpage: Any) -> str:
    """One character per pdfium index; those outside the basic plane would shift the indices of the bulk call."""
    count = textpage.count_chars()
    if count <= 0:
        return ""
    buffer = ctypes.create_string_buffer(2 * count + 2)
    pointer = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
    written = pdfium.FPDFText_GetText(textpage.raw, 0, count, pointer)
    text = buffer.raw[: 2 * (written - 1)].decode("utf-16-le", errors="replace")
    if len(text) == count:
        return text
    codes = (pdfium.FPDFText_GetUnicode(textpage.raw, i) for i in range(count))
    return "".join(chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else " " for code in codes)


def _boxes(textpage: Any, count: int) -> array[float]:
    """left, top, right, bottom of each character in the coordinates of the file."""
    boxes = array("f", bytes(16 * count))
    address, handle = boxes.buffer_info()[0], ctypes.cast(textpage.raw, ctypes.c_void_p).value
    for index in range(count):
        _loose_box(handle, index, address + 16 * index)
    return boxes


def _dominant_turn(textpage: Any, count: int) -> int:
    """Quarter turns clockwise in which most text of the page stands, from a sample."""
    votes = [0, 0, 0, 0]
    for index in range(0, count, max(1, count // 40)):
        votes[_turn(textpage, index)] += 1
    return votes.index(max(votes))


def _turn(textpage: Any, index: int) -> int:
    angle = float(pdfium.FPDFText_GetCharAngle(textpage.raw, index))
    return round(angle / (pi / 2)) % 4


Sides = tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]  # x0, y0, x1, y1, as shown


def _turned(boxes: array[float], turns: int, left: float, bottom: float, right: float, top: float) -> Sides:
    """Boxes after `turns` quarter turns clockwise."""
    lefts, tops, rights, bottoms = boxes[0::4], boxes[1::4], boxes[2::4], boxes[3::4]
    from_left = ([x - left for x in lefts], [x - left for x in rights])
    from_right = ([right - x for x in rights], [right - x for x in lefts])
    from_top = ([top - y for y in tops], [top - y for y in bottoms])
    from_bottom = ([y - bottom for y in bottoms], [y - bottom for y in tops])
    across, down = (
        (from_left, from_top),
        (from_bottom, from_left),
        (from_right, from_bottom),
        (from_top, from_right),
    )[turns]
    return across[0], down[0], across[1], down[1]


def _runs(chars: str, sides: Sides) -> Iterator[_OpenRun]:
    """Cut the stream of characters where a line or a cell ends."""
    open_run: _OpenRun | None = None
    x1 = y0 = y1 = 0.0  # right end and height of the open run, copied here for speed
    space = hyphen = False  # seen since the last character
    for index, (char, c0, d0, c1, d1) in enumerate(zip(chars, *sides, strict=False)):
        if char <= " " or char in _MARKS or char.isspace():
            space, hyphen = True, hyphen or char in _HYPHENS
            continue
        if open_run is not None:
            height, gap = d1 - d0, c0 - x1
            size = max(y1 - y0, height, 1.0)
            overlap = (d1 if d1 < y1 else y1) - (d0 if d0 > y0 else y0)
            if gap > GAP * size or gap < -0.7 * size or overlap < 0.4 * min(height, y1 - y0):
                open_run.hyphen = hyphen
                yield open_run
                open_run = None
            else:
                text = open_run.text
                if space or (gap > WORD_GAP * size and char < CJK and text[-1] < CJK):
                    text.append(" ")
                text.append(char)
                open_run.heights.append(height)
                x1 = c1 if c1 > x1 else x1
                y0 = d0 if d0 < y0 else y0
                y1 = d1 if d1 > y1 else y1
                open_run.x1, open_run.y0, open_run.y1 = x1, y0, y1
        if open_run is None:
            open_run = _OpenRun(index, [char], [d1 - d0], c0, d0, c1, d1)
            x1, y0, y1 = c1, d0, d1
        space = hyphen = False
    if open_run is not None:
        open_run.hyphen = hyphen
        yield open_run


@dataclass(slots=True)
class _OpenRun:
    """A run that is still growing."""

    start: int  # index of its first character
    text: list[str]
    heights: list[float]
    x0: float
    y0: float
    x1: float
    y1: float
    hyphen: bool = False  # a hyphen mark followed

    def finished(self, textpage: Any, turn: int) -> Run | None:
        """The run; None if it has no area or stands across the text of the page, as a stamp at the margin does."""
        if self.x1 <= self.x0 or self.y1 <= self.y0 or _turn(textpage, self.start) != turn:
            return None
        text = "".join(self.text)
        if self.hyphen and "a" <= text[-1].lower() <= "z":
            text += "-"
        return Run(text, self.x0, self.y0, self.x1, self.y1, self._size(textpage), self._is_bold(textpage))

    def _is_bold(self, textpage: Any) -> bool:
        """By the weight of the font or, as many files do not tell it, by its name."""
        if pdfium.FPDFText_GetFontWeight(textpage.raw, self.start) >= BOLD:
            return True
        name = ctypes.create_string_buffer(FONT_NAME_BYTES)
        flags = ctypes.c_int()
        pdfium.FPDFText_GetFontInfo(textpage.raw, self.start, name, FONT_NAME_BYTES, flags)
        return b"bold" in name.value.lower() or b"black" in name.value.lower()

    def _size(self, textpage: Any) -> float:
        """Font size as shown. What the file says ignores scaling, so it must agree with the median height."""
        height = sorted(self.heights)[len(self.heights) // 2]
        middle = self.start + (len(self.heights) // 2 if len(self.heights) == len(self.text) else 0)
        said = float(pdfium.FPDFText_GetFontSize(textpage.raw, middle))
        return said if 0.7 * said < height < 1.7 * said else height
