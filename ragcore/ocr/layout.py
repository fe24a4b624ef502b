"""Recognised lines to pages of runs, so that the layout of PDF text serves them too: columns, tables, paragraphs.

Scans come in any resolution. The layout measures in points of a page whose text is 10 points high, so pixels are
scaled by the size of the text of the document, and boxes are scaled back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcore.ocr.rulings import pixel_lines
from ragcore.parsing.pdf.blocks import Layout, layout_blocks
from ragcore.parsing.pdf.page import CJK, PageText, Run
from ragcore.parsing.pdf.ruled_table_text import take_tables
from ragcore.parsing.pdf.ruled_tables import grids, split_lines
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page or picture after recognition. `pixels` stand upright after `turns` quarter turns clockwise."""

    number: int
    pixels: Pixels
    lines: tuple[RecognisedLine, ...]
    scale: float = 1.0  # pixels per point
    turns: int = 0


def read_blocks(pages: Sequence[ReadPage], *, are_pages: bool = True) -> Layout:
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


def _page_text(page: ReadPage, usual: float) -> PageText:
    unit = TEXT_POINTS / usual  # points of the layout per pixel
    runs: Sequence[Run] = [_run(line, usual, unit) for line in page.lines]
    rulings = pixel_lines(page.pixels, min_length=int(MIN_RULING * usual) + 1)
    across, down = split_lines([(x0 * unit, y0 * unit, x1 * unit, y1 * unit) for x0, y0, x1, y1 in rulings])
    if len(across) > 1 and down:
        runs, tables = take_tables(runs, list(grids(across, down)))
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
