"""Lists and steps of a source around the sentence that answers (A2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragcore.extractive.sentences import Statement
from ragcore.text.scripts import columns

MAX_ITEMS = 9
MIN_ITEMS = 2
MAX_COLUMNS = 900


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """The sentence that announces a list ("" if none does), and its points, in the order of the source."""

    intro: str
    number: int  # of the source
    items: tuple[str, ...]


def list_around(best: Statement, found: Sequence[Statement]) -> ListAnswer | None:
    """The whole list that the best sentence is a point of; None if it is none, or if the list is too long to show."""
    if not best.is_item:
        return None
    same = [s for s in found if s.source.number == best.source.number and s.heading == best.heading]
    at = same.index(best)
    first = last = at
    while first and same[first - 1].is_item and not same[first].announced:
        first -= 1
    while last + 1 < len(same) and same[last + 1].is_item and not same[last + 1].announced:
        last += 1
    points = same[first : last + 1]
    intro = points[0].announced
    items = [s.text.removeprefix(s.announced).strip() for s in points]
    if not MIN_ITEMS <= len(items) <= MAX_ITEMS or sum(map(columns, (intro, *items))) > MAX_COLUMNS:
        return None
    return ListAnswer(intro, best.source.number, tuple(items))
