"""Which cells the vectors of a tenant are divided into, for searches and for writers (decision 039).

A row of `knowledge_vectorcells` is one division of the vectors of one embedding model in `knowledge_wholevector`. Its
cells have numbers of their own, so a vector's `cell` also says of which division it is. While vectors move from one
division to the next, searches look into the cells of both. Cell 0 is of vectors that no division has yet: every search
looks at it. So a vector is found in whatever cell it stands, and nothing waits outside of an index.

Writers hold the row of the newest division (`FOR SHARE`); what deletes a division waits for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from knowledge.indexes.corpus_epoch import EpochCache
from knowledge.indexes.statements import fetch
from ragcore.embedding.cells import WIDER, BoundedCells, Cells, Divider, Ints, normalised
from ragcore.embedding.vectors import DIMENSIONS
from ragcore.ports import FloatArray

SPAN = 8192  # numbers of a division's cells: from its id times SPAN
DIVISIONS = 8  # whose centres a process keeps, 12 to 24 MB each
NO_CELL = 0
MEASURED_HITS = 100  # of a search that is measured
LEAST_CONTAINED = 0.98  # of these; where cells hold less, searches do not use them

DIVISIONS_OF = """
SELECT id, passages, measured, measured_passages FROM knowledge_vectorcells
WHERE tenant_id = %(tenant)s AND name = %(name)s ORDER BY id
"""
DIVIDER = "SELECT centres, projection FROM knowledge_vectorcells WHERE id = %(id)s"
CELLS = "SELECT centres, counts FROM knowledge_vectorcells WHERE id = %(id)s"
NEWEST = """
SELECT id FROM knowledge_vectorcells WHERE tenant_id = %(tenant)s AND name = %(name)s
ORDER BY id DESC LIMIT 1 FOR SHARE
"""

states: EpochCache[CellState] = EpochCache()


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigures:
    """What was measured with questions on the tenant's own vectors (`knowledge.indexes.calibration`)."""

    reach: float  # see ragcore.embedding.cells
    contained: float  # share of the hundred nearest that searches hold
    rows: float  # vectors that a search compares, enough for most questions
    wider: float  # the same for ten times as many hits
    scanned: float  # milliseconds to compare one vector in a scan of all
    start: float  # milliseconds of a search in cells whatever it compares
    row: float  # milliseconds to compare one vector of a cell

    def compared(self, hits: float, *, total: int) -> float:
        """Vectors that a search of so many hits compares, of `total`: a power of how many hits there are."""
        growth = math.log(max(self.wider, self.rows) / max(self.rows, 1)) / math.log(WIDER)
        return float(min(self.rows * (max(hits, MEASURED_HITS) / MEASURED_HITS) ** growth, total))

    def stored(self) -> list[float]:
        """As the column `measured`."""
        return [self.reach, self.contained, self.rows, self.wider, self.scanned, self.start, self.row]

    @classmethod
    def of(cls, stored: Sequence[float]) -> CellFigures:
        """From the column `measured`."""
        reach, contained, rows, wider, scanned, start, row = stored
        return cls(reach=reach, contained=contained, rows=rows, wider=wider, scanned=scanned, start=start, row=row)


@dataclass(frozen=True, slots=True)
class Division:
    """A row of the table without its centres."""

    id: int
    passages: int  # entries that there were at the fit
    figures: CellFigures | None  # None: vectors still move into its cells
    measured_passages: int  # entries that there were when the figures were measured


@dataclass(frozen=True, slots=True)
class CellState:
    """The divisions of the vectors with one name, oldest first."""

    divisions: tuple[Division, ...] = ()

    @property
    def figures(self) -> CellFigures | None:
        """Of the newest division that was measured; None: searches do not use cells."""
        measured = [one.figures for one in self.divisions if one.figures is not None]
        return measured[-1] if measured and measured[-1].contained >= LEAST_CONTAINED else None

    def worth(self, milliseconds: float) -> float:
        """How many vectors of cells are compared in the time that comparing everything would take."""
        figures = self.figures
        return 0.0 if figures is None else max(milliseconds - figures.start, 0.0) / max(figures.row, 1e-9)

    @property
    def newest(self) -> Division | None:
        """The one whose cells new vectors get."""
        return self.divisions[-1] if self.divisions else None


def cell_state(*, tenant_id: int, name: str, epoch: int) -> CellState:
    """The state of this corpus epoch: whoever changes a state advances the epoch."""
    return states.get((tenant_id, name), epoch=epoch, make=lambda: divisions_of(tenant_id=tenant_id, name=name))


def divisions_of(*, tenant_id: int, name: str) -> CellState:
    """The same, read anew."""
    rows = fetch(DIVISIONS_OF, {"tenant": tenant_id, "name": name})
    return CellState(
        tuple(
            Division(int(number), int(passages), CellFigures.of(measured) if measured else None, int(then))
            for number, passages, measured, then in rows
        )
    )


# ── for writers ───────────────────────────────────────────────────────────────────────────────────


def cells_for_new(vectors: FloatArray, *, tenant_id: int, name: str) -> Ints:
    """int64[n]: the cell numbers of float32[n, 768]; their division stays until the running transaction ends."""
    found = fetch(NEWEST, {"tenant": tenant_id, "name": name})
    if not found:
        return np.full(len(vectors), NO_CELL, np.int64)
    return cell_numbers(vectors, int(found[0][0]))


def cell_numbers(vectors: FloatArray, division: int) -> Ints:
    """int64[n]: the cells of float32[n, 768] in a division."""
    return division * SPAN + divider_of(division).cells(vectors)


@lru_cache(DIVISIONS)
def divider_of(division: int) -> Divider:
    """Of a division that exists; it never changes."""
    centres, projection = fetch(DIVIDER, {"id": division})[0]
    directions = np.frombuffer(bytes(projection), "<f2").reshape(DIMENSIONS, -1).astype(np.float32)
    return Divider.of(centres_read(bytes(centres)), directions)


def centres_of(division: int) -> FloatArray:
    """float32[n, 768] of a division that exists."""
    return centres_read(bytes(fetch(DIVIDER, {"id": division})[0][0]))


# ── for searches ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class NumberedCells:
    """Cells, and the numbers that vectors carry."""

    cells: Cells
    numbers: Ints

    @classmethod
    def of(cls, division: int, cells: Cells) -> NumberedCells:
        return cls(cells, division * SPAN + np.arange(len(cells), dtype=np.int64))

    def bounded(self, question: FloatArray, *, reach: float) -> BoundedCells:
        """For one question, float32[768] of length 1."""
        return BoundedCells(self.numbers, self.cells.sizes, self.cells.bounds(question[None, :], reach=reach)[0])


def cells_in_use(state: CellState) -> tuple[NumberedCells, ...]:
    """The cells of all divisions of a state."""
    return tuple(_counted(one.id, one.measured_passages) for one in state.divisions)


@lru_cache(DIVISIONS)
def _counted(division: int, _measured_passages: int) -> NumberedCells:
    """As they were counted with the figures; none where the division is gone, and no vector has its cells."""
    found = fetch(CELLS, {"id": division})
    centres = centres_read(bytes(found[0][0]) if found else b"")
    cells = counts_read(centres, bytes(found[0][1]) if found else b"")
    return NumberedCells.of(division, cells)


# ── packed ────────────────────────────────────────────────────────────────────────────────────────


def halves_packed(rows: FloatArray) -> bytes:
    """float16, row by row: 1.5 kB a centre."""
    return rows.astype("<f2").tobytes()


def centres_read(packed: bytes) -> FloatArray:
    """float32[n, 768], normalised."""
    return normalised(np.frombuffer(packed, "<f2").reshape(-1, DIMENSIONS).astype(np.float32))


def counts_packed(cells: Cells) -> bytes:
    """Closeness as float32, then sizes as int32."""
    return cells.closeness.astype("<f4").tobytes() + cells.sizes.astype("<i4").tobytes()


def counts_read(centres: FloatArray, packed: bytes) -> Cells:
    """Cells with what `counts_packed` made."""
    count = len(centres)
    closeness = np.frombuffer(packed, "<f4", count).astype(np.float32)
    return Cells(centres, closeness, np.frombuffer(packed, "<i4", count, 4 * count).astype(np.int64))
