"""Characters of a PDF page to runs: stretches of text on one line without a wide gap.

Characters come from pdfium one call each, so this is the hot loop of PDF parsing: boxes are written straight
into one array, and Python looks at each character once.
"""

from __future__ import annotations

import ctypes
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import pi
from typing import Any

import pypdfium2.raw as pdfium

from ragcore.parsing.pdf.annotations import read_annotations
from ragcore.parsing.pdf.char_levels import OddChar, is_vertical, with_levels
from ragcore.parsing.pdf.drawing import Drawing, read_drawing
from ragcore.parsing.pdf.layout import CJK, GAP, SMALLER, Gap, PageText, Run

CJK_GAP = 0.15  # font sizes between two Chinese characters up to which a space is none
WORD_GAP = 0.22  # font sizes between two Latin characters from which a space is missing
MADE_GAP = 0.2  # the same for a space that pdfium has added: it does so from 0.15 on, which kerned letters have, too
MIN_SPACED = 6  # letters of a run; "a b c" may be three words
SPACED = 0.6  # share of the letters with a space behind from which the letters are set apart, and
SPACED_WORD = 1.6  # so many of their gaps part words
BOLD = 600  # font weight
FONT_NAME_BYTES = 128
_HYPHENS = frozenset("\x02\ufffe")  # how pdfium marks a hyphen that ends a line
_BLANK = frozenset("\x7f\xad\u200b\ufeff\ufffe\uffff") | {char for char in map(chr, range(0x3001)) if char.isspace()}

Wall = tuple[float, float, float]  # a vertical line: x, y0, y1
Sides = tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]  # x0, y0, x1, y1, as shown


def _native(name: str, *arguments: Any) -> Any:
    """A pdfium function that takes addresses as plain integers, twice as fast as the typed one."""
    address = ctypes.cast(getattr(pdfium, name), ctypes.c_void_p).value or 0
    return ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(address)


_loose_box = _native("FPDFText_GetLooseCharBox", ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def read_page(page: Any, number: int) -> tuple[PageText, Drawing]:
    """Runs of a pypdfium2 page, and its lines and pictures in the same upright coordinates.

    Text that stands across (stamps at the margin) is dropped. A run ends at a vertical line. A page of vertical writing
    is turned, so that its columns are lines. What people typed over the page (annotations, forms) is among the runs.
    """
    left, bottom, right, top = _visible_area(page)
    textpage = page.get_textpage()
    try:
        chars = _characters(textpage)
        boxes = _boxes(textpage, len(chars))
        text_turn = _dominant_turn(textpage, len(chars))
        turns = -text_turn % 4
        if text_turn == 0 and is_vertical(chars, boxes):
            turns = 3
        drawing = _upright(read_drawing(page), turns, left, bottom, right, top)
        sides = _turned(boxes, turns, left, bottom, right, top)
        closed = (run.close(textpage, text_turn) for run in _runs(chars, sides, _walls(drawing)))
        runs = tuple(run for run in closed if run is not None)
        typed = read_annotations(page)
        placed = zip(*_turned(typed.boxes(), turns, left, bottom, right, top), strict=True)
        height = right - left if turns % 2 else top - bottom
        walls = _walls(drawing)
        is_parted = partial(_stands_between, walls)
        runs = (*runs, *typed.runs(list(placed), runs, height=height, is_parted=is_parted))
        share = _unmapped_share(textpage, chars)
    finally:
        textpage.close()
    width, height = right - left, top - bottom
    size = (height, width) if turns % 2 else (width, height)
    turn = (page.get_rotation() // 90 - turns) % 4
    return PageText(number, *size, runs, turn=turn, unmapped=share), drawing


def character_places(page: Any) -> tuple[str, list[tuple[float, float, float, float]]]:
    """The characters of a pypdfium2 page, and where each stands as the page is shown: x0, y0, x1, y1 from the top left.

    In points. A character without a shape of its own, such as a space that pdfium adds, has an empty rectangle.
    """
    area = _visible_area(page)
    textpage = page.get_textpage()
    try:
        chars = _characters(textpage)
        sides = _turned(_boxes(textpage, len(chars)), page.get_rotation() // 90, *area)
    finally:
        textpage.close()
    return chars, list(zip(*sides, strict=True))


def _upright(drawing: Drawing, turns: int, left: float, bottom: float, right: float, top: float) -> Drawing:
    """Lines and pictures as x0, y0, x1, y1 from the top left corner of the upright page."""
    pictures = drawing.pictures
    boxes = array("f", [side for line in drawing.lines for side in line])
    boxes.extend(side for picture in pictures for side in picture.sides)
    upright = list(zip(*_turned(boxes, turns, left, bottom, right, top), strict=True))
    split = len(drawing.lines)
    placed = [replace(picture, sides=sides) for picture, sides in zip(pictures, upright[split:], strict=True)]
    return Drawing(upright[:split], placed, drawing.paths)


def _walls(drawing: Drawing) -> list[Wall]:
    return sorted((x0, y0, y1) for x0, y0, x1, y1 in drawing.lines if y1 - y0 > x1 - x0)


def _stands_between(walls: Sequence[Wall], left: float, right: float, middle: float) -> bool:
    """Whether a vertical line separates what ends at `left` from what begins at `right`."""
    at = bisect_left(walls, (left - 1.0,))
    while at < len(walls) and walls[at][0] <= right + 1.0:
        if walls[at][1] <= middle <= walls[at][2]:
            return True
        at += 1
    return False


def _unmapped_share(textpage: Any, chars: str) -> float:
    """Share of characters whose glyphs the file does not map to Unicode, from a sample: such a text layer is noise."""
    sample = range(0, len(chars), max(1, len(chars) // 60))
    visible = [index for index in sample if not chars[index].isspace()]
    wrong = sum(
        chars[index] in "\ufffd\x00"
        or "\ue000" <= chars[index] <= "\uf8ff"
        or pdfium.FPDFText_HasUnicodeMapError(textpage.raw, index) == 1
        for index in visible
    )
    return wrong / len(visible) if visible else 0.0


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
    characters = pdfium.FPDFText_GetText(textpage.raw, 0, count, pointer)
    text = buffer.raw[: 2 * (characters - 1)].decode("utf-16-le", errors="replace")
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


def _runs(chars: str, sides: Sides, walls: Sequence[Wall] = ()) -> Iterator[_OpenRun]:
    """Cut the stream of characters where a line or a cell ends."""
    open_run: _OpenRun | None = None
    end = 0  # index of the last character that is seen
    x1 = y0 = y1 = 0.0  # right end and height of the open run, copied here for speed
    space = hyphen = typed = False  # seen since the last character; typed: a space that the file has
    for index, (char, c0, d0, c1, d1) in enumerate(zip(chars, *sides, strict=False)):
        if char <= " " or char in _BLANK:
            space, hyphen, typed = True, hyphen or char in _HYPHENS, typed or c1 > c0
            continue
        if open_run is not None:
            height, before, gap = d1 - d0, y1 - y0, c0 - x1
            size, small = (before, height) if before > height else (height, before)
            size = size if size > 1.0 else 1.0
            space = space and (typed or gap >= MADE_GAP * size)
            overlap = (d1 if d1 < y1 else y1) - (d0 if d0 > y0 else y0)
            if (
                gap > GAP * size
                or gap < -0.7 * size
                or overlap < 0.4 * small
                or (walls and (space or gap > WORD_GAP * size) and _stands_between(walls, x1, c0, (d0 + d1) / 2))
            ):
                open_run.hyphen, open_run.end = hyphen, end
                yield open_run
                open_run = None
            else:
                text = open_run.text
                if space or gap > WORD_GAP * size:
                    last = text[-1]
                    chinese = char >= CJK and last >= CJK
                    if (not chinese or gap >= CJK_GAP * size) if space else (char < CJK and last < CJK):
                        open_run.gaps.append((len(text), x1, c0))
                        text.append(" ")
                if height < SMALLER * open_run.heights[0] or open_run.heights[0] < SMALLER * height:
                    open_run.odd.append(OddChar(len(text), height, d1, index))
                text.append(char)
                open_run.heights.append(height)
                x1 = c1 if c1 > x1 else x1
                y0 = d0 if d0 < y0 else y0
                y1 = d1 if d1 > y1 else y1
                open_run.x1, open_run.y0, open_run.y1 = x1, y0, y1
        if open_run is None:
            open_run = _OpenRun(index, [char], [d1 - d0], [], c0, d0, c1, d1, bottom=d1)
            x1, y0, y1 = c1, d0, d1
        space = hyphen = typed = False
        end = index
    if open_run is not None:
        open_run.hyphen, open_run.end = hyphen, end
        yield open_run


@dataclass(slots=True)
class _OpenRun:
    """A run that is still growing."""

    start: int  # index of its first character
    text: list[str]
    heights: list[float]
    gaps: list[Gap]
    x0: float
    y0: float
    x1: float
    y1: float
    hyphen: bool = False  # a hyphen mark followed
    odd: list[OddChar] = field(default_factory=list)  # characters of another size than the first one
    bottom: float = 0.0  # of the first character
    end: int = 0  # index of its last character

    def close(self, textpage: Any, turn: int) -> Run | None:
        """The run; None if it has no area or stands across the text of the page, as a stamp at the margin does."""
        if self.x1 <= self.x0 or self.y1 <= self.y0 or _turn(textpage, self.start) != turn:
            return None
        if self.odd:
            first = OddChar(0, self.heights[0], self.bottom, self.start)
            self.text, self.gaps = with_levels(self.text, self.gaps, first, self.odd, textpage)
        text = self._with_letters_together()
        if self.hyphen and "a" <= text[-1].lower() <= "z":
            text += "-"
        size = self._size(textpage)
        places = (self.start, self.end, (self.start + self.end) // 2)  # bold words may begin and end a line of others
        bold = all(_is_bold(textpage, place) for place in places)
        return Run(text, self.x0, self.y0, self.x1, self.y1, size, bold, tuple(self.gaps))

    def _with_letters_together(self) -> str:
        """The text; without the narrower spaces where they stand between most letters, as in s p a c e d words."""
        letters = len(self.text) - len(self.gaps)
        if letters >= MIN_SPACED and len(self.gaps) >= SPACED * letters:
            widths = sorted(x1 - x0 for _at, x0, x1 in self.gaps)
            limit = SPACED_WORD * widths[len(widths) // 2]
            narrow = {at for at, x0, x1 in self.gaps if x1 - x0 < limit}
            wide = [gap for gap in self.gaps if gap[0] not in narrow]
            self.gaps = [(at - sum(place < at for place in narrow), x0, x1) for at, x0, x1 in wide]
            self.text = [char for at, char in enumerate(self.text) if at not in narrow]
        return "".join(self.text)

    def _size(self, textpage: Any) -> float:
        """Font size as shown. What the file says ignores scaling, so it must agree with the median height."""
        height = sorted(self.heights)[len(self.heights) // 2]
        middle = self.start + (len(self.heights) // 2 if len(self.heights) == len(self.text) else 0)
        font_size = float(pdfium.FPDFText_GetFontSize(textpage.raw, middle))
        return font_size if 0.7 * font_size < height < 1.7 * font_size else height


def _is_bold(textpage: Any, index: int) -> bool:
    """By the weight of the font or, as many files do not tell it, by its name."""
    if pdfium.FPDFText_GetFontWeight(textpage.raw, index) >= BOLD:
        return True
    name = ctypes.create_string_buffer(FONT_NAME_BYTES)
    flags = ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(textpage.raw, index, name, FONT_NAME_BYTES, flags)
    return b"bold" in name.value.lower() or b"black" in name.value.lower()
