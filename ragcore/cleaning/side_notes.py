"""Notes in the margin beside the text of a page (D24)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ragcore.types import Block, Box

MIN_BLOCKS = 3  # of the text beside them
MIN_CHARACTERS = 400
MAX_SHARE = 0.1  # of the characters of the page
MAX_WIDTH = 0.25  # of the width of the text
_KINDS = frozenset({"paragraph", "heading"})


def drop_side_notes(blocks: Sequence[Block]) -> list[Block]:
    """Blocks without narrow ones that stand wholly left or right of everything else on their page.

    Only where the page has text enough to tell: a form or a slide of small boxes stays as it is.
    """
    kept: list[Block] = []
    for _, group in groupby(blocks, key=lambda block: block.page):
        page = list(group)
        notes = set(map(id, _notes(page)))
        kept += [block for block in page if id(block) not in notes]
    return kept


def _notes(page: Sequence[Block]) -> Iterator[Block]:
    """The side notes of one page."""
    placed = [(block, block.box) for block in page if block.box is not None]
    total = sum(len(block.text) for block, _ in placed)
    for place in _columns([box for _, box in placed]):
        inside = [block for block, box in placed if place[0] <= box.x0 and box.x1 <= place[1]]
        others = [(block, box) for block, box in placed if not (place[0] <= box.x0 and box.x1 <= place[1])]
        if _is_margin(place, inside, others, total):
            yield from inside


def _is_margin(
    place: tuple[float, float], inside: Sequence[Block], others: Sequence[tuple[Block, Box]], total: int
) -> bool:
    """Whether a column is a margin: little text, narrow, outside of all others."""
    if len(others) < MIN_BLOCKS or sum(len(block.text) for block, _ in others) < MIN_CHARACTERS:
        return False
    left, right = min(box.x0 for _, box in others), max(box.x1 for _, box in others)
    if not (place[1] <= left or place[0] >= right):
        return False
    is_narrow = place[1] - place[0] <= MAX_WIDTH * (right - left)
    is_little = sum(len(block.text) for block in inside) <= MAX_SHARE * total
    return is_narrow and is_little and all(block.kind in _KINDS for block in inside)


def _columns(boxes: Sequence[Box]) -> list[tuple[float, float]]:
    """Stretches of the page's width that boxes cover together, from left to right."""
    columns: list[tuple[float, float]] = []
    for box in sorted(boxes, key=lambda box: box.x0):
        if columns and box.x0 <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], box.x1))
        else:
            columns.append((box.x0, box.x1))
    return columns
