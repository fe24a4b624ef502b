"""Latent semantic analysis of a corpus as the domain part of its vectors.

Passages are rows of BM25 weights times the rarity of the term, L2-normalised; their truncated singular value
decomposition gives each term a row of numbers (Deerwester et al., Indexing by Latent Semantic Analysis, JASIS 1990).
A new passage or a question is folded in: the sum of the rows of its terms, by their weights. The decomposition is the
randomised one with power iterations (Halko, Martinsson and Tropp, SIAM Review 2011).

The vector that is compared joins the embedder's prefix and the latent numbers, so that its cosine is the weighted mean
of both cosines. Cosines are brought to the scale of the embedder's own: limits and trained weights stay right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragcore.embedding.rotation import PREFIX
from ragcore.ports import FloatArray

Ints = npt.NDArray[np.int64]

LATENT = 384  # numbers of the latent part; with the prefix they are as many as the embedder's
RARITY_POWER = 1.0  # of idf, beside the weight of BM25
MOST_TERMS = 200_000  # the most frequent ones; each takes 0.9 kB in the database
SHARE = 0.5  # of the latent cosine in the joined one
OVERSAMPLING = 16
POWER_ITERATIONS = 4
SEED = 7

LEAST_SPREAD = 0.02  # of cosines, below which a scale says nothing
SLOPES = (0.25, 4.0)


@dataclass(frozen=True, slots=True)
class SparseRows:
    """Rows of weights by term, compressed: row i has `terms[starts[i]:starts[i + 1]]` with `weights` beside them."""

    starts: Ints
    terms: Ints
    weights: FloatArray

    @classmethod
    def of(cls, rows: Sequence[Mapping[int, float]]) -> SparseRows:
        """From a mapping of term to weight for each row."""
        starts = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        terms = np.fromiter((term for row in rows for term in row), np.int64, starts[-1])
        weights = np.fromiter((weight for row in rows for weight in row.values()), np.float32, starts[-1])
        return cls(starts, terms, weights)

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, slots=True)
class LatentTerms:
    """What folding needs: the numbers of each term.

    `ids` int64[v] ascending; `rows` float32[v, k], right singular vectors times the term's rarity; `rarity` float32[v].
    """

    ids: Ints
    rows: FloatArray
    rarity: FloatArray

    def fold(self, passages: SparseRows) -> FloatArray:
        """float32[n, k], L2-normalised; zeros for a passage without a known term."""
        folded = self._sums(passages)
        norms = np.linalg.norm(folded, axis=1, keepdims=True)
        return np.asarray(folded / np.where(norms == 0, 1, norms), dtype=np.float32)

    def captured(self, passages: SparseRows, *, rarest: float) -> float:
        """Share of the squared length of passages that their latent numbers hold, 0 to 1, mean over the passages.

        A term that the analysis has never met counts as `rarest`. Falls as passages come to be about other
        things: the measure of drift.
        """
        if not len(passages):
            return 0.0
        places, known = self._places(passages.terms)
        rarity = np.where(known, self.rarity[places] if len(self.ids) else 0.0, rarest)
        squares = (passages.weights * rarity).astype(np.float64) ** 2
        lengths = np.add.reduceat(np.append(squares, 0.0), passages.starts[:-1]) * (np.diff(passages.starts) > 0)
        held = (self._sums(passages).astype(np.float64) ** 2).sum(axis=1)
        return float(np.mean(held / np.maximum(lengths, 1e-12)))

    def _sums(self, passages: SparseRows) -> FloatArray:
        from scipy.sparse import csr_matrix

        places, known = self._places(passages.terms)
        weights = np.where(known, passages.weights, np.float32(0))
        matrix = csr_matrix((weights, places, passages.starts), shape=(len(passages), max(len(self.ids), 1)))
        rows = self.rows if len(self.ids) else np.zeros((1, self.rows.shape[1]), np.float32)
        return np.asarray(matrix @ rows, dtype=np.float32)

    def _places(self, terms: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
        if not len(self.ids):
            return np.zeros(len(terms), np.int64), np.zeros(len(terms), bool)
        places = np.minimum(np.searchsorted(self.ids, terms), len(self.ids) - 1)
        return places, self.ids[places] == terms


@dataclass(frozen=True, slots=True)
class FoldedQuestion:
    """The latent numbers of a question, float32[k] of unit length, or zeros; and how much of the question they hold."""

    numbers: FloatArray
    known: float  # length of its numbers by that of all its terms, 0 to 1


def question_folded(
    terms: Sequence[str], known: Mapping[str, tuple[FloatArray, float]], *, rarest: float
) -> FoldedQuestion:
    """Fold a question in. `known`: numbers and rarity of terms; others count as `rarest` in the length of all terms."""
    folded = np.zeros(LATENT, np.float32)
    square = 0.0
    for term, count in Counter(terms).items():
        numbers, rarity = known.get(term, (None, rarest))
        square += (count * rarity) ** 2
        if numbers is not None:
            folded += count * numbers
    length = float(np.linalg.norm(folded))
    return FoldedQuestion(folded / (length or 1.0), min(1.0, length / max(square, 1e-12) ** 0.5))


def question_weight(known: float, *, usual: float, share: float = SHARE) -> float:
    """By what cosines of a question are multiplied, 1 − share to 1: less where less of it is known than is usual.

    Common words alone have latent numbers, too, and these are near to some passage: it is no sign that a question of
    another subject has an answer here. The order of passages does not depend on this factor.
    """
    return 1.0 - share + share * min(1.0, known / max(usual, 1e-6))


def rarest_of(passages: int) -> float:
    """The rarity of a term that one of so many passages has."""
    return float(np.log1p((max(passages, 1) - 0.5) / 1.5) ** RARITY_POWER)


def latent_fit(passages: SparseRows, *, dimensions: int = LATENT) -> LatentTerms:
    """The latent numbers of the terms of these passages; fewer passages than `dimensions` leave the last ones at 0.

    `passages` hold the document side of BM25. Singular values stay in the numbers of the passages (not divided out),
    so that common subjects count more. Deterministic.
    """
    from scipy.sparse import csr_matrix, diags

    ids, columns, counts = np.unique(passages.terms, return_inverse=True, return_counts=True)
    rarer = np.sort(counts)[-MOST_TERMS - 1] if len(ids) > MOST_TERMS else 0  # terms of as many passages go
    kept = np.flatnonzero(counts > rarer)
    rarity = np.log1p((len(passages) - counts + 0.5) / (counts + 0.5)) ** RARITY_POWER
    weights = (passages.weights * rarity[columns]).astype(np.float32)
    matrix = csr_matrix((weights, columns, passages.starts), shape=(len(passages), len(ids)))
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    scaled = (diags(1 / np.maximum(lengths, 1e-9)) @ matrix).tocsr()[:, kept].astype(np.float32)
    directions = _right_singular(scaled, dimensions)
    rows = np.zeros((len(kept), dimensions), np.float32)
    rows[:, : directions.shape[1]] = directions * rarity[kept, None]
    return LatentTerms(ids[kept], rows, rarity[kept].astype(np.float32))


def _right_singular(matrix: object, dimensions: int) -> FloatArray:
    """float32[v, k]: right singular vectors of a sparse matrix, the largest values first; k <= dimensions."""
    from scipy.linalg import qr, svd

    sparse: object = matrix
    rows, columns = sparse.shape  # type: ignore[attr-defined]
    width = min(dimensions + OVERSAMPLING, rows, columns)
    random = np.random.default_rng(SEED)
    sample = sparse @ random.standard_normal((columns, width), dtype=np.float32)  # type: ignore[operator]
    for _ in range(POWER_ITERATIONS):
        sample = qr(sample, mode="economic", overwrite_a=True, check_finite=False)[0]
        back = qr(sparse.T @ sample, mode="economic", overwrite_a=True, check_finite=False)[0]  # type: ignore[attr-defined]
        sample = sparse @ back  # type: ignore[operator]
    basis = qr(sample, mode="economic", overwrite_a=True, check_finite=False)[0]
    small = (sparse.T @ basis).T  # type: ignore[attr-defined]
    directions = svd(small, full_matrices=False, overwrite_a=True, check_finite=False)[2]
    return np.asarray(directions[:dimensions].T, dtype=np.float32)


# ── joined with the embedder's vectors ────────────────────────────────────────────────────────────


def joined(prefixes: FloatArray, latent: FloatArray, *, share: float = SHARE) -> FloatArray:
    """float32[n, 768], L2-normalised, of float32[n, 384] of the embedder and the latent numbers of the same texts.

    Where the latent numbers of both have unit length, the cosine is (1 − share) of the embedder's and share of the
    latent one.
    """
    norms = np.linalg.norm(prefixes[:, :PREFIX], axis=1, keepdims=True)
    parts = [np.sqrt(1 - share) * prefixes[:, :PREFIX] / np.where(norms == 0, 1, norms), np.sqrt(share) * latent]
    whole = np.hstack(parts)
    return np.asarray(whole / np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1e-9), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class CosineScale:
    """Brings a cosine of joined vectors to the scale of the embedder's own: offset + slope · cosine, slope above 0."""

    offset: float = 0.0
    slope: float = 1.0

    def __call__(self, cosine: float) -> float:
        return min(1.0, self.offset + self.slope * cosine)


def cosine_scale(own: FloatArray, other: FloatArray) -> CosineScale:
    """The scale on which joined cosines are spread as the embedder's own are.

    `own` and `other`: float[q, 2] of the embedder and of joined vectors: for each question the best cosine of what it
    is about, and the best one of everything else. The medians of both columns are laid on each other.
    """
    if not len(own):
        return CosineScale()
    (near, far), (near_other, far_other) = np.median(own, axis=0), np.median(other, axis=0)
    if near_other - far_other < LEAST_SPREAD or near - far < LEAST_SPREAD:
        return CosineScale(float(far - far_other), 1.0)
    slope = float(np.clip((near - far) / (near_other - far_other), *SLOPES))
    return CosineScale(float(far - slope * far_other), slope)
