"""Names to be found by how they begin."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest

LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class SortedNames:
    """Names in alphabetical order; case does not count."""

    folded: tuple[str, ...]
    names: tuple[str, ...]  # in the same order

    @classmethod
    def of(cls, names: Iterable[str]) -> SortedNames:
        """Each name once."""
        pairs = sorted({(name.casefold(), name) for name in names})
        return cls(tuple(folded for folded, _ in pairs), tuple(name for _, name in pairs))

    def beginning_with(self, part: str, *, most: int) -> list[str]:
        """The shortest names that go on behind `part`, at most so many."""
        part = part.casefold()
        first = bisect_left(self.folded, part)
        last = bisect_left(self.folded, f"{part}{LAST_CHARACTER}", lo=first)
        longer = (at for at in range(first, last) if self.folded[at] != part)
        return [self.names[at] for at in nsmallest(most, longer, key=lambda at: (len(self.folded[at]), at))]
