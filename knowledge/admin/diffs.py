"""Differences of two texts for the eye: side by side or one below the other (B9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from knowledge.selectors.versions import DiffLine


@dataclass(frozen=True, slots=True)
class DiffRow:
    """Left and right of one row; None where that side has nothing. `skipped` stands for rows that are the same."""

    left: str | None = None
    right: str | None = None
    changed: bool = False
    skipped: int = 0


def side_by_side(lines: Iterable[DiffLine]) -> list[DiffRow]:
    """What went and what came in its place stand in the same rows."""
    rows: list[DiffRow] = []
    removed: list[str] = []
    added: list[str] = []
    for line in lines:
        if line.change == "removed" and added:  # the next replacement begins
            rows += _paired(removed, added)
            removed, added = [], []
        if line.change == "removed":
            removed.append(line.text)
        elif line.change == "added":
            added.append(line.text)
        else:
            rows += _paired(removed, added)
            removed, added = [], []
            rows.append(DiffRow(skipped=line.count) if line.change == "skipped" else DiffRow(line.text, line.text))
    return [*rows, *_paired(removed, added)]


def _paired(removed: list[str], added: list[str]) -> Iterator[DiffRow]:
    return (DiffRow(left, right, changed=True) for left, right in zip_longest(removed, added))
