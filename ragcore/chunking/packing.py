"""Atoms to pieces of about equal size, each beginning with the last sentences of the one before (D11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from math import ceil

from ragcore.chunking.atoms import Atom, render
from ragcore.ports import TokenCounter

SEPARATOR_TOKENS = 2  # the blank line between blocks, at most
EARLY = 0.85  # of the target size: from here on the end of a paragraph ends a piece
OVERLAP_SLACK = 1.25  # the overlap is whole sentences, so it may be a quarter more than asked for


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a section. `repeated` sentences come from the piece before, `own` atoms are new."""

    own: tuple[Atom, ...]
    repeated: tuple[Atom, ...] = ()

    @property
    def text(self) -> str:
        return render((*self.repeated, *self.own))


@dataclass(frozen=True, slots=True)
class Packer:
    """Fills pieces of `low` to `high` tokens; `overlap` is a share of the piece before."""

    counter: TokenCounter
    low: int
    high: int
    overlap: float

    def pack(self, atoms: Sequence[Atom]) -> Iterator[Piece]:
        """All atoms in order, each in one piece. Longer than `high` are only pieces of a single long atom."""
        start = 0
        before: tuple[Atom, ...] = ()
        left = cost(atoms)  # tokens from `start` on
        while start < len(atoms):
            repeated = self._tail(before)
            end = self._end(atoms, start, cost(repeated), self._target(left))
            end, repeated = self._fitted(atoms, start, end, repeated)
            before = tuple(atoms[start:end])
            yield Piece(before, repeated)
            left -= cost(before)
            start = end

    def _end(self, atoms: Sequence[Atom], start: int, used: int, target: float) -> int:
        """Where the piece that begins at `start` should end, by the sizes of the atoms."""
        own = 0
        for index in range(start, len(atoms)):
            added = _added(atoms, index, start)
            if index > start and atoms[index - 1].kind != "heading":
                at_block = atoms[index].block != atoms[index - 1].block
                if used + own + added > self.high:
                    return index
                if own >= target and not self._completes_table(atoms, index, used + own):
                    return index
                if at_block and own >= max(self.low, EARLY * target):
                    return index
                if at_block and own >= self.low // 4 and self._is_better_apart(atoms, index, used + own):
                    return index
            own += added
        return len(atoms)

    def _target(self, left: int) -> float:
        """An even share of what is left, so that the last piece is not a scrap; never below `low`."""
        room = self.high * (1 - self.overlap)
        return max(min(self.low, room), left / ceil(left / room)) if left > self.high else self.high

    def _completes_table(self, atoms: Sequence[Atom], index: int, used: int) -> bool:
        """Whether the piece is inside a table of which the rest fits too."""
        atom = atoms[index]
        if atom.kind != "row" or atoms[index - 1].block != atom.block:
            return False
        rest = (other.tokens for other in takewhile(lambda other: other.block == atom.block, atoms[index:]))
        return all(total <= self.high for total in accumulate(rest, initial=used))

    def _is_better_apart(self, atoms: Sequence[Atom], index: int, used: int) -> bool:
        """Whether a table that begins here fits into a piece of its own, but not into the rest of this one."""
        if atoms[index].kind != "row":
            return False
        block = atoms[index].block
        whole = cost(list(takewhile(lambda atom: atom.block == block, atoms[index : index + self.high])))
        return whole <= self.high < used + whole

    def _fitted(
        self, atoms: Sequence[Atom], start: int, end: int, repeated: tuple[Atom, ...]
    ) -> tuple[int, tuple[Atom, ...]]:
        """The sizes of atoms do not add up exactly: count the text, and give back what is too much."""
        while self.counter.count(Piece(tuple(atoms[start:end]), repeated).text) > self.high:
            oversize = atoms[end - 1].tokens + atoms[end - 1].lead_tokens > self.high
            if repeated and (oversize or end - start == 1):
                repeated = repeated[1:]
            elif end - start == 1 or (oversize and all(atom.kind == "heading" for atom in atoms[start : end - 1])):
                break
            else:
                end -= 1
        return end, repeated

    def _tail(self, before: Sequence[Atom]) -> tuple[Atom, ...]:
        """The last sentences of a piece, as many as make up the overlap; none behind a table or code."""
        allowed = self.overlap * OVERLAP_SLACK * cost(before)
        first = len(before)
        while first and before[first - 1].kind == "sentence" and cost(before[first - 1 :]) <= allowed:
            first -= 1
        return tuple(before[first:])


def cost(atoms: Sequence[Atom]) -> int:
    """Tokens of atoms with their leads and the blank lines between blocks, rather too many."""
    return sum(_added(atoms, index, 0) for index in range(len(atoms)))


def _added(atoms: Sequence[Atom], index: int, start: int) -> int:
    atom = atoms[index]
    if index == start or atoms[index - 1].block != atom.block:
        return atom.tokens + atom.lead_tokens + SEPARATOR_TOKENS
    return atom.tokens
