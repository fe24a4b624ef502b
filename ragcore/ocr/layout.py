"""Recognised lines to blocks: page rotation, drawn tables, columns and paragraphs.

The layout code of PDF text does the second half. It measures in points of a page whose text is 10 points high. Scans
come in any resolution, so pixels are scaled by the size of the document's text, and boxes are scaled back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragcore.parsing.image.pixels import RenderedPage
from ragcore.parsing.pdf.blocks import Layout, layout_blocks
from ragcore.parsing.pdf.layout import CJK, PageText, Run
from ragcore.parsing.pdf.ruled_tables import find_grids, split_lines, take_tables
from ragcore.ports import TextRecogniser
from ragcore.types import Block, Box, Pixels, RecognisedLine

TEXT_POINTS = 10.0
BODY_RANK = 0.6  # share of the characters that are smaller than the running text, or as small
FONT_SHARE = 0.72  # of the height of a recognised line: boxes have a margin
MARGIN_SHARE = 0.12  # of the height, cut off above and below so that lines do not overlap
SIDE_SHARE = 0.15  # the same left and right
# times the median size: the same font size, measured by the width of Chinese characters, or badly by the height
USUAL_CHINESE, USUAL_LATIN = (0.86, 1.25), (0.68, 1.25)
MIN_CHINESE = 6  # characters of a line whose width tells its font size
PUNCTUATION = "\u2010"  # dashes and quotes, which are as wide as Chinese characters among these
LATIN_WIDTH = 0.5  # of a Chinese character
SHORT_LINE = 20  # characters
MIN_RULING = 3.0  # font sizes; shorter lines are strokes of letters
MIN_LINES = 3  # fewer do not tell how a page lies
TALL = 1.5  # times as high as wide
DOUBTFUL = 0.8  # mean score of lines below which a page may stand on its head
SURE = 0.9  # score of a level line that is believed
SURE_SHARE = 0.25  # of the lines that are level and sure: a chart whose many labels stand upright on their axis
CONTRAST = 24  # of 255, between a line and what is beside it
REACH = 4  # pixels to each side at which the background is looked at: lines are thinner
BREAK = 4  # pixels that may be missing in a line
MAX_LINES = 4_000
PixelLine = tuple[float, float, float, float]  # x0, y0, x1, y1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedPage:
    """A page or picture after recognition. `pixels` stand upright after `turns` quarter turns clockwise."""

    number: int
    pixels: Pixels
    lines: tuple[RecognisedLine, ...]
    scale: float = 1.0  # pixels per point
    turns: int = 0


def read_blocks(pages: Sequence[RecognisedPage], *, are_pages: bool = True) -> Layout:
    """Blocks of recognised pages in reading order with boxes in points; headers and page numbers are left out."""
    with_text = [page for page in pages if page.lines]
    usual = _usual_size([line for page in with_text for line in page.lines])
    layout = layout_blocks([_page_text(page, usual) for page in with_text], are_pages=are_pages)
    scales = {page.number: usual / (TEXT_POINTS * page.scale) for page in with_text}
    return replace(layout, blocks=tuple(_scaled(block, scales) for block in layout.blocks))


def _usual_size(lines: Sequence[RecognisedLine]) -> float:
    """Font size of the running text in pixels, rather above the median: footnotes may be half of the text."""
    sizes = sorted(_size(line) for line in lines for _ in range(min(len(line.text), 40)))
    return max(sizes[int(BODY_RANK * len(sizes))], 1.0) if sizes else 1.0


def _size(line: RecognisedLine) -> float:
    """Font size in pixels. Chinese characters are as wide as high, which tells it better than the box does."""
    if _is_chinese(line.text):
        text = "".join(line.text.split())
        wide = sum(char >= PUNCTUATION for char in text)
        return (line.x1 - line.x0) / (wide + LATIN_WIDTH * (len(text) - wide))
    return FONT_SHARE * min(line.y1 - line.y0, line.x1 - line.x0)


def _is_chinese(text: str) -> bool:
    chinese = sum(char >= CJK for char in text)
    return chinese >= MIN_CHINESE and chinese >= 0.7 * len("".join(text.split()))


def _page_text(page: RecognisedPage, usual: float) -> PageText:
    unit = TEXT_POINTS / usual  # points of the layout per pixel
    runs: Sequence[Run] = [_run(line, usual, unit) for line in page.lines]
    rulings = find_ruling_lines(page.pixels, min_length=int(MIN_RULING * usual) + 1)
    across, down = split_lines([(x0 * unit, y0 * unit, x1 * unit, y1 * unit) for x0, y0, x1, y1 in rulings])
    if len(across) > 1 and down:
        runs, tables = take_tables(runs, list(find_grids(across, down)))
        runs = [*runs, *(table.as_run() for table in tables)]
    return PageText(page.number, page.pixels.width * unit, page.pixels.height * unit, tuple(runs), turn=-page.turns % 4)


def _run(line: RecognisedLine, usual: float, unit: float) -> Run:
    height, size = line.y1 - line.y0, _size(line)
    if len(line.text) <= SHORT_LINE:  # a heading: few characters, so their width tells less than their height
        size = max(size, FONT_SHARE * height)
    low, high = USUAL_LATIN if max(line.text) < CJK else USUAL_CHINESE
    if low * usual <= size <= high * usual:
        size = usual
    down, across = MARGIN_SHARE * height, min(SIDE_SHARE * height, 0.2 * (line.x1 - line.x0))
    sides = (line.x0 + across, line.y0 + down, line.x1 - across, line.y1 - down)
    x0, y0, x1, y1 = (side * unit for side in sides)
    return Run(line.text.strip(), x0, y0, x1, y1, size * unit, apart=True)


def _scaled(block: Block, scales: dict[int, float]) -> Block:
    if block.box is None:
        return block
    by = scales[block.box.page]
    sides = {side: round(getattr(block.box, side) * by, 1) for side in ("x0", "y0", "x1", "y1")}
    return replace(block, box=Box(page=block.box.page, **sides))


def read_upright(recogniser: TextRecogniser, frame: RenderedPage) -> RecognisedPage:
    """The lines of a page in the rotation that is read best. Raises what `recognise` raises.

    Most pages are read once; those with hardly any but lines from top to bottom, or hardly legible ones, up to three
    times.
    """
    best = _recognise_turned(recogniser, frame, 0)
    for turns in _turns_to_try(best.lines):
        other = _recognise_turned(recogniser, frame, turns)
        if _legibility(other.lines) > _legibility(best.lines):
            best = other
    level = tuple(line for line in best.lines if not _is_tall(line))
    # a few lines across an upright page are stamps at its margin; many are text that runs downwards
    return replace(best, lines=level) if len(level) > 0.5 * len(best.lines) else best


def _recognise_turned(recogniser: TextRecogniser, frame: RenderedPage, turns: int) -> RecognisedPage:
    pixels = rotate(frame.pixels, turns)
    lines = tuple(recogniser.recognise(pixels))
    return RecognisedPage(number=frame.page, pixels=pixels, lines=lines, scale=frame.scale, turns=turns)


def _turns_to_try(lines: Sequence[RecognisedLine]) -> tuple[int, ...]:
    if len(lines) < MIN_LINES:
        return ()
    if sum(map(_is_tall, lines)) > 0.5 * len(lines):
        return () if sum(map(_is_surely_level, lines)) >= SURE_SHARE * len(lines) else (1, 3)
    return (2,) if sum(line.score for line in lines) < DOUBTFUL * len(lines) else ()


def _legibility(lines: Sequence[RecognisedLine]) -> float:
    """Characters that were read with confidence; lines that stand across count little."""
    return sum(len(line.text) * line.score**4 for line in lines if not _is_tall(line))


def _is_tall(line: RecognisedLine) -> bool:
    return len(line.text) > 1 and line.y1 - line.y0 > TALL * (line.x1 - line.x0)


def _is_surely_level(line: RecognisedLine) -> bool:
    return len(line.text) > 1 and line.score >= SURE and line.x1 - line.x0 > line.y1 - line.y0


def rotate(pixels: Pixels, turns: int) -> Pixels:
    """A picture after quarter turns clockwise."""
    import numpy as np

    if turns % 4 == 0:
        return pixels
    rows = np.frombuffer(pixels.data, dtype=np.uint8).reshape(pixels.height, pixels.width, pixels.channels)
    upright = np.ascontiguousarray(np.rot90(rows, -turns))
    height, width, channels = upright.shape
    return Pixels(width=width, height=height, channels=channels, data=upright.tobytes())


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def find_ruling_lines(pixels: Pixels, *, min_length: int) -> list[PixelLine]:
    """Horizontal and vertical lines of at least `min_length` pixels, dark or light; [] for a picture full of them."""
    import numpy as np

    grey = np.frombuffer(pixels.data, dtype=np.uint8).reshape(pixels.height, pixels.width, pixels.channels)
    plane = grey.mean(axis=2).astype(np.int16)
    across = [(x0, y, x1, y) for y, x0, x1 in _line_rows(plane, min_length)]
    down = [(x, y0, x, y1) for x, y0, y1 in _line_rows(plane.T, min_length)]
    lines = across + down
    return lines if len(lines) <= MAX_LINES else []


def _line_rows(plane: npt.NDArray[np.int16], min_length: int) -> Iterator[tuple[float, float, float]]:
    """Row, start and end of the stretches that differ from what is above and from what is below in the same way."""
    import numpy as np

    if plane.shape[0] <= 2 * REACH or plane.shape[1] < min_length:
        return
    inner, above, below = plane[REACH:-REACH], plane[: -2 * REACH], plane[2 * REACH :]
    dark = (inner < above - CONTRAST) & (inner < below - CONTRAST)
    light = (inner > above + CONTRAST) & (inner > below + CONTRAST)
    for mask in (dark, light):
        for row in np.flatnonzero(mask.sum(axis=1) >= 0.9 * min_length):
            for start, end in _stretches(mask[row], min_length):
                yield float(row + REACH), start, end


def _stretches(row: npt.NDArray[np.bool_], min_length: int) -> Iterator[tuple[float, float]]:
    """Start and end of long stretches of True with small breaks."""
    import numpy as np

    places = np.flatnonzero(row)
    ends = np.flatnonzero(np.diff(places) > BREAK + 1)
    starts = np.concatenate(([0], ends + 1))
    for first, last in zip(starts, np.concatenate((ends, [len(places) - 1])), strict=True):
        if places[last] - places[first] + 1 >= min_length:
            yield float(places[first]), float(places[last] + 1)
