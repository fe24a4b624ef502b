"""In which order a reader takes the boxes of a slide: recursive cuts along the widest empty stripe.

After Nagy and Seth, "Hierarchical representation of optically scanned documents" (1984), known as the X-Y cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A shape and where it lies, in the units of its surroundings; the top left corner is 0, 0."""

    shape: Any
    x0: int
    y0: int
    x1: int
    y1: int


def reading_order(shapes: Sequence[Placed]) -> list[Any]:
    """Shapes from the top left to the bottom right, columns kept together where a wide gap divides them."""
    if len(shapes) < 2:
        return [one.shape for one in shapes]
    rows, row_gap = _cut(shapes, vertical=True)
    columns, column_gap = _cut(shapes, vertical=False)
    parts = columns if column_gap > row_gap else rows
    if len(parts) < 2:
        return [one.shape for one in sorted(shapes, key=lambda one: (one.y0, one.x0))]
    return [shape for part in parts for shape in reading_order(part)]


def _cut(shapes: Sequence[Placed], *, vertical: bool) -> tuple[list[list[Placed]], int]:
    """The shapes in two parts on both sides of the widest empty stripe, and its width; -1 where there is none."""
    ends = [(one.y0, one.y1) if vertical else (one.x0, one.x1) for one in shapes]
    order = sorted(range(len(shapes)), key=lambda place: ends[place])
    best, best_gap, reached = 0, -1, ends[order[0]][1]
    for place in range(1, len(order)):
        start, end = ends[order[place]]
        if start - reached > best_gap:
            best, best_gap = place, start - reached
        reached = max(reached, end)
    parts = [order[:best], order[best:]] if best_gap >= 0 else [order]
    return [[shapes[place] for place in part] for part in parts], best_gap
