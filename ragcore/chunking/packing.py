"""Atoms to pieces of about equal size, each beginning with the last sentences of the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from math import ceil

from ragcore.chunking.atoms import Atom, render_atoms
from ragcore.ports import TokenCounter

SEPARATOR_TOKENS = 2  # the blank line between blocks, at most
EARLY = 0.85  # of the target size: from here on the end of a paragraph ends a piece
OVERLAP_SLACK = 1.25  # the overlap is whole sentences, so it may be a quarter more than asked for


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a section. `repeated` sentences come from the piece before, `new_atoms` atoms are new."""

    new_atoms: tuple[Atom, ...]
    repeated: tuple[Atom, ...]
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Packer:
    """Fills pieces of `low` to `high` tokens; `overlap` is a share of the piece before."""

    counter: TokenCounter
    low: int
    high: int
    overlap: float

    def pack(self, atoms: Sequence[Atom]) -> Iterator[Piece]:
        """All atoms in order, each in one piece. Longer than `high` is only a long atom, with what must precede it."""
        start = 0
        before: tuple[Atom, ...] = ()
        tokens_ahead = token_cost(atoms)  # tokens from `start` on
        while start < len(atoms):
            repeated = self._tail(before)
            end = self._end(atoms, start, token_cost(repeated), self._target(tokens_ahead))
            piece = self._fitted(atoms, start, end, repeated)
            yield piece
            before = piece.new_atoms
            tokens_ahead -= token_cost(before)
            start += len(before)

    def _end(self, atoms: Sequence[Atom], start: int, used: int, target: float) -> int:
        """Where the piece that begins at `start` should end, by the sizes of the atoms."""
        size = 0
        index = start
        while index < len(atoms):
            behind = _run_end(atoms, index)
            added = sum(_added(atoms, at, start) for at in range(index, behind))
            if index > start:
                at_block = atoms[index].block != atoms[index - 1].block
                if used + size + added > self.high:
                    return index
                if size >= target and not self._completes_table(atoms, index, used + size):
                    return index
                if at_block and size >= max(self.low, EARLY * target):
                    return index
                if at_block and size >= self.low // 4 and self._is_better_apart(atoms, index, used + size):
                    return index
            size += added
            index = behind
        return len(atoms)

    def _target(self, tokens_ahead: int) -> float:
        """An even share of what is left, so that the last piece is not a scrap; never below `low`."""
        room = self.high * (1 - self.overlap)
        return (
            max(min(self.low, room), tokens_ahead / ceil(tokens_ahead / room))
            if tokens_ahead > self.high
            else self.high
        )

    def _completes_table(self, atoms: Sequence[Atom], index: int, used: int) -> bool:
        """Whether the piece is inside a table of which the rest fits too."""
        atom = atoms[index]
        if atom.kind != "row" or atoms[index - 1].block != atom.block:
            return False
        rest = takewhile(lambda other: other.block == atom.block, _from(atoms, index))
        return all(total <= self.high for total in accumulate((other.tokens for other in rest), initial=used))

    def _is_better_apart(self, atoms: Sequence[Atom], index: int, used: int) -> bool:
        """Whether a table that begins here fits into a piece of its own, but not into the rest of this one."""
        behind = _run_end(atoms, index)
        if atoms[behind - 1].kind != "row":
            return False
        block = atoms[behind - 1].block
        rest = list(takewhile(lambda atom: atom.block == block, atoms[behind : behind + self.high]))
        whole = token_cost([*atoms[index:behind], *rest])
        return whole <= self.high < used + whole

    def _fitted(self, atoms: Sequence[Atom], start: int, end: int, repeated: tuple[Atom, ...]) -> Piece:
        """The sizes of atoms do not add up exactly: count the text, and give back what is too much."""
        while True:
            piece = self._piece(atoms[start:end], repeated)
            if piece.tokens <= self.high:
                return piece
            oversize = atoms[end - 1].tokens + atoms[end - 1].frame.tokens > self.high
            earlier = _border_before(atoms, start, end)
            if repeated and (oversize or earlier == start):
                repeated = repeated[1:]
            elif earlier > start:
                end = earlier
            elif oversize or end - start == 1:
                return piece
            else:
                end -= 1  # a heading or caption too long to stand with what follows it

    def _piece(self, new_atoms: Sequence[Atom], repeated: tuple[Atom, ...]) -> Piece:
        text = render_atoms((*repeated, *new_atoms))
        return Piece(tuple(new_atoms), repeated, text, self.counter.count(text))

    def _tail(self, before: Sequence[Atom]) -> tuple[Atom, ...]:
        """The last sentences of a piece, as many as make up the overlap; none behind a table or code."""
        allowed = self.overlap * OVERLAP_SLACK * token_cost(before)
        first, cost = len(before), 0
        while first and before[first - 1].kind == "sentence":
            cost += _begun(before[first - 1])
            if first < len(before) and before[first].block == before[first - 1].block:
                cost -= _begun(before[first]) - before[first].tokens  # it does not begin its block any more
            if cost > allowed:
                break
            first -= 1
        return tuple(before[first:])


def token_cost(atoms: Sequence[Atom]) -> int:
    """Tokens of atoms with their frames and the blank lines between blocks, an upper estimate."""
    return sum(_added(atoms, index, 0) for index in range(len(atoms)))


def _added(atoms: Sequence[Atom], index: int, start: int) -> int:
    atom = atoms[index]
    return _begun(atom) if index == start or atoms[index - 1].block != atom.block else atom.tokens


def _begun(atom: Atom) -> int:
    """Tokens of an atom with which its block begins in a piece."""
    return atom.tokens + atom.frame.tokens + SEPARATOR_TOKENS


def _from(atoms: Sequence[Atom], index: int) -> Iterator[Atom]:
    """The atoms from there on, without a copy."""
    return (atoms[at] for at in range(index, len(atoms)))


def _run_end(atoms: Sequence[Atom], index: int) -> int:
    """Index behind the atom and those that must stay with it."""
    while atoms[index].keeps_next and index + 1 < len(atoms):
        index += 1
    return index + 1


def _border_before(atoms: Sequence[Atom], start: int, end: int) -> int:
    """The last place before `end` where a piece may end; `start` if there is none."""
    border = end - 1
    while border > start and atoms[border - 1].keeps_next:
        border -= 1
    return border
