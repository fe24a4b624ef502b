"""Cells of a set of vectors, and which of them can hold what is nearest to a question (an inverted file).

k-means gives the centres, and each vector belongs to the cell of its nearest one (Sivic and Zisserman 2003, Video
Google; Jégou, Douze and Schmid 2011, Product quantization, section IV). A question looks into few cells. Which ones is
no fixed number of them: with s the cosine of question and centre, and a the mean cosine of a cell's vectors to it, the
cosines of the question to these vectors lie around a·s, and spread as far as the question and the vectors leave the
centre. A cell is left out where a·s and `reach` times this spread do not come up to the worst hit found so far. `reach`
is measured on the vectors themselves, so that nearly no hit is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragcore.embedding.rotation import principal_directions, second_moment
from ragcore.ports import FloatArray

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

STEPS = 4  # of k-means; more move few vectors
ROUNDS = 6  # in which the first centres are drawn
PER_CELL = 12  # vectors in the sample for each cell
MOST_CELLS = 8000  # their centres take 24 MB of a process
SHORT = 96  # principal directions in which vectors and centres are compared to choose the cell
AT_ONCE = 4096  # vectors whose products with all centres are in memory

REACHES = tuple(round(0.5 + 0.25 * step, 2) for step in range(47))  # tried in this order
WANTED = 0.99  # share of the nearest vectors, on average over the questions
WIDER = 10
USUAL = 80  # percent of the questions for which `rows` is enough


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one set of vectors. `centres` float32[n, d], normalised.

    `closeness` float32[n]: mean cosine of a cell's vectors to its centre. `sizes` int64[n]: how many it has.
    """

    centres: FloatArray
    closeness: FloatArray
    sizes: Ints

    def __len__(self) -> int:
        return len(self.centres)

    def bounds(self, questions: FloatArray, *, reach: float) -> FloatArray:
        """float32[q, n]: cosines above which hardly any vector of a cell comes. Questions are normalised."""
        expected, spread = self.parts(questions)
        return np.asarray(expected + reach * spread, dtype=np.float32)

    def parts(self, questions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What a bound is made of, both float32[q, n]: the expected cosine, and how far cosines spread around it."""
        near = np.clip(questions @ self.centres.T, -1.0, 1.0)
        away = np.sqrt((1 - near**2) * (1 - self.closeness**2) / self.centres.shape[1])
        return near * self.closeness, np.asarray(away, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class BoundedCells:
    """Cells by number, how many vectors each has, and what hardly any of these comes above for one question."""

    numbers: Ints
    sizes: Ints
    bounds: FloatArray

    def first(self, rows: float) -> Ints:
        """Places of the cells with the highest bounds that together have so many vectors; one at least."""
        order = np.argsort(-self.bounds, kind="stable")
        enough = int(np.searchsorted(np.cumsum(self.sizes[order]), rows)) + 1
        return np.asarray(order[:enough], dtype=np.int64)

    def beyond(self, worst: float, *, visited: Ints) -> Ints:
        """Places of the cells that were not seen and may have better hits than the worst one so far."""
        needed = self.bounds >= worst
        needed[visited] = False
        return np.asarray(np.flatnonzero(needed), dtype=np.int64)

    def compared(self, places: Ints) -> int:
        """Vectors in these cells."""
        return int(self.sizes[places].sum())


def cell_count(vectors: int) -> int:
    """How many cells so many vectors get: many small ones, so that texts about one thing share none with others."""
    return int(min(12 * np.sqrt(vectors), vectors / 8, MOST_CELLS)) or 1


# ── making them ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Divider:
    """Chooses the cell of a vector, by the cosine to the centres along some principal directions.

    Any rule would do that says the same each time, because bounds are measured on the cells as they are; this one takes
    an eighth of the time of whole vectors. `projection` float32[d, SHORT], `short` float32[n, SHORT], normalised.
    """

    projection: FloatArray
    short: FloatArray

    @classmethod
    def of(cls, centres: FloatArray, projection: FloatArray) -> Divider:
        return cls(projection, normalised(centres @ projection))

    def cells(self, vectors: FloatArray) -> Ints:
        """int64[n]: the cell of each of float32[n, d]."""
        return nearest_centres(vectors @ self.projection, self.short)


def normalised(vectors: FloatArray) -> FloatArray:
    """Rows of length 1, also of halves, which are not quite as long."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def cells_fit(sample: FloatArray, *, count: int, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """Centres float32[count, d], normalised, and the projection float32[d, SHORT] of their Divider.

    Spherical k-means of float32[n, d], normalised, along its principal directions; the same ones each time.
    """
    random = np.random.default_rng(seed)
    rows = sample[random.choice(len(sample), min(len(sample), AT_ONCE), replace=False)]  # nosec B311 - training
    projection = principal_directions(second_moment(rows))[:, :SHORT].copy()
    short = normalised(sample @ projection)
    centres = first_centres(short, count=count, random=random)
    cells = nearest_centres(short, centres)
    for _ in range(STEPS):
        centres = _means(short, cells, count, random)
        cells = nearest_centres(short, centres)
    return _means(sample, cells, count, random), projection


def first_centres(vectors: FloatArray, *, count: int, random: np.random.Generator) -> FloatArray:
    """float32[count, d] of float32[n, d], in rounds: what is far from the centres so far is drawn the sooner.

    Bahmani et al. 2012, Scalable k-means++; without it, one group in five has no centre of its own.
    """
    each = -(-count // ROUNDS)
    near = np.full(len(vectors), -1.0, np.float32)
    drawn: list[FloatArray] = []
    for start in range(0, count, each):
        weights = np.maximum(1.0 - near.astype(np.float64), 1e-6)
        size = min(each, count - start)
        picked = vectors[random.choice(len(vectors), size, replace=len(vectors) < size, p=weights / weights.sum())]  # nosec B311 - training
        drawn.append(picked)
        for at in range(0, len(vectors), AT_ONCE):
            part = slice(at, at + AT_ONCE)
            near[part] = np.maximum(near[part], (vectors[part] @ picked.T).max(axis=1))
    return np.concatenate(drawn)


def nearest_centres(vectors: FloatArray, centres: FloatArray) -> Ints:
    """int64[n]: the nearest centre of each of float32[n, d], by the inner product."""
    places = [(vectors[at : at + AT_ONCE] @ centres.T).argmax(axis=1) for at in range(0, len(vectors), AT_ONCE)]
    return np.concatenate(places) if places else np.zeros(0, np.int64)


def _means(vectors: FloatArray, cells: Ints, count: int, random: np.random.Generator) -> FloatArray:
    """The normalised mean of each cell; that of an empty one is a vector."""
    order = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells, minlength=count)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sums = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    filled = sizes > 0
    sums[filled] = np.add.reduceat(vectors[order], starts[filled], axis=0)
    empty = np.flatnonzero(~filled)
    sums[empty] = vectors[random.integers(len(vectors), size=len(empty))]
    return normalised(sums)


@dataclass(slots=True)
class CellTally:
    """Sizes and closeness of cells, counted batch by batch."""

    centres: FloatArray
    sizes: Ints
    cosines: npt.NDArray[np.float64]

    @classmethod
    def of(cls, centres: FloatArray) -> CellTally:
        return cls(centres, np.zeros(len(centres), np.int64), np.zeros(len(centres), np.float64))

    def add(self, vectors: FloatArray, cells: Ints) -> None:
        """Count float32[n, d] that are in these cells."""
        cosines = np.einsum("ij,ij->i", vectors, self.centres[cells])
        self.sizes += np.bincount(cells, minlength=len(self.centres))
        self.cosines += np.bincount(cells, weights=cosines, minlength=len(self.centres))

    def cells(self, *, scale: float = 1.0) -> Cells:
        """With `scale` times as many vectors as were counted. An empty cell is as close as the others on average."""
        usual = float(self.cosines.sum() / max(self.sizes.sum(), 1))
        means = np.where(self.sizes > 0, self.cosines / np.maximum(self.sizes, 1), usual)
        sizes = np.rint(self.sizes * scale).astype(np.int64)
        return Cells(self.centres, np.clip(means, 0.0, 1.0).astype(np.float32), sizes)


# ── measuring them ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReach:
    """How far to look, and what that holds: measured with questions on the vectors themselves."""

    reach: float
    contained: float  # share of the nearest `depth` vectors of a question that the cells hold which are looked into
    rows: float  # vectors in these cells: enough for four of five questions
    wider: float  # the same for WIDER times as many hits


def reach_measured(cells: Cells, questions: FloatArray, nearest: Nearest, *, depth: int) -> CellReach:
    """The shortest reach that holds WANTED of the `depth` nearest vectors; the longest one where none does."""
    expected, spread = cells.parts(questions)
    worst = nearest.worst(depth)
    for reach in REACHES:
        needed = expected + reach * spread >= worst[:, None]
        contained = nearest.contained(needed, depth)
        if contained >= WANTED:
            break
    far = expected + reach * spread >= nearest.worst(WIDER * depth)[:, None]
    rows, wider = (float(np.percentile(each @ cells.sizes, USUAL)) for each in (needed, far))
    return CellReach(reach=reach, contained=contained, rows=rows, wider=max(wider, rows))


@dataclass(slots=True)
class Nearest:
    """The nearest vectors of each question, with their cells, gathered batch by batch. Best first."""

    limit: int
    scores: FloatArray  # float32[q, up to limit]
    cells: Ints

    @classmethod
    def of(cls, questions: int, *, limit: int) -> Nearest:
        return cls(limit, np.zeros((questions, 0), np.float32), np.zeros((questions, 0), np.int64))

    def add(self, scores: FloatArray, cells: Ints) -> None:
        """Cosines float32[q, n] of n more vectors, and the cell of each."""
        every = np.hstack([self.scores, scores])
        theirs = np.hstack([self.cells, np.broadcast_to(cells, scores.shape)])
        order = np.argsort(-every, axis=1, kind="stable")[:, : self.limit]
        self.scores = np.take_along_axis(every, order, axis=1)
        self.cells = np.take_along_axis(theirs, order, axis=1)

    def worst(self, depth: int) -> FloatArray:
        """float32[q]: the cosine of the last of so many."""
        return np.asarray(self.scores[:, min(depth, self.scores.shape[1]) - 1])

    def contained(self, needed: Bools, depth: int) -> float:
        """Share of the nearest `depth` vectors in the cells marked for each question, bool[q, cells]."""
        return float(np.take_along_axis(needed, self.cells[:, :depth], axis=1).mean())
