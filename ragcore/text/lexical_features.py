"""Lexical features: how much of one text stands in another. Shared by the four trained models.

The models are the linear reranker (`ragcore.reranking.linear`), the choice of sentences (`ragcore.extractive`), the
answerability gate (`ragcore.answerability`) and the support of sentences (`ragcore.grounding`). Each of them computes
its features by name from these functions, and its weight file lists the names in the order of the weights.

Where two models define a feature differently, both definitions are here, and their names say what differs:

| feature | definitions |
|---|---|
| rarity of a term | `idf` (BM25) and `smoothed_idf` (less steep; a term that no text has counts most) |
| weighted share | `TermWeights.coverage` (0 without weights) and `share_of_selected` (1 without terms) |
| best window | `best_window_coverages` (of characters) and `sentence_windows` (of whole sentences) |
| neighbouring terms | `ordered_proximity` (in characters, weighted), `adjacent_share` (side by side, unweighted), |
| | `pairs_within` (in words, either order) and `cooccurrence_share` (anywhere in one sentence) |
| common run | `longest_literal_run` (without gaps) and `common_subsequence_length` (with gaps) |
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ragcore.text.matching import joined_texts

BM25_K1 = 1.2
Pairs = Iterable[tuple[str, str]]
N = TypeVar("N", float, npt.NDArray[np.float64])
Presence = npt.NDArray[np.bool_]  # [sentences, terms]: whether the sentence has the term


# ── rarity of terms ──


def idf(total: int, holding: int) -> float:
    """BM25's inverse document frequency of a term that `holding` of `total` texts have, in nats, above 0."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def smoothed_idf(total: int, holding: int) -> float:
    """A less steep inverse frequency with add-one smoothing, in nats; largest for a term that no text has."""
    return math.log(1 + (total + 1) / (holding + 1))


def idf_in(terms: Iterable[str], texts: Sequence[Collection[str]]) -> dict[str, float]:
    """The idf of each different term over the given texts (sets of terms), also of those that no text has."""
    frequency = Counter(term for text in texts for term in set(text))
    return {term: idf(len(texts), frequency[term]) for term in dict.fromkeys(terms)}


# ── shares of weighted terms ──


@dataclass(frozen=True, slots=True)
class TermWeights:
    """The different terms of a question with their weights, usually idf in nats."""

    weights: Mapping[str, float]
    total: float
    squared: float  # sum of the squared weights

    @classmethod
    def of(cls, weights: Mapping[str, float]) -> TermWeights:
        """Weights with their sums."""
        return cls(weights, sum(weights.values()), sum(w * w for w in weights.values()))

    def coverage(self, present: Collection[str]) -> float:
        """Weighted share of the terms that are present, 0 to 1; 0 without any weight."""
        return sum(w for t, w in self.weights.items() if t in present) / self.total if self.total else 0.0

    def rare_coverage(self, present: Collection[str]) -> float:
        """The same with squared weights: whether the rare terms are present."""
        return sum(w * w for t, w in self.weights.items() if t in present) / self.squared if self.squared else 0.0


def share_of_selected(
    weights: Mapping[str, float], selected: Collection[str], present: Collection[str], *, power: int = 1
) -> float:
    """Weighted share of the selected terms that are present, 0 to 1; 1 where none is selected."""
    total = sum(weights[t] ** power for t in selected)
    return sum(weights[t] ** power for t in selected if t in present) / total if total else 1.0


def heaviest_missing(weights: Mapping[str, float], present: Collection[str]) -> float:
    """Weight of the heaviest term that is not present, by the largest weight; 0 where none is missing."""
    most = max(weights.values(), default=1.0) or 1.0
    return max((w for t, w in weights.items() if t not in present), default=0.0) / most


def share_by_beginning(terms: Collection[str], present: Collection[str], *, letters: int) -> float:
    """Share of the terms that are missing although a present one begins with the same letters (invade, invasion).

    Only Latin words of at least so many letters can match.
    """
    missing = [t for t in terms if len(t) >= letters and t.isascii() and t.isalpha() and t not in present]
    if not missing:
        return 0.0
    beginnings = {t[:letters] for t in present}
    return sum(t[:letters] in beginnings for t in missing) / len(terms)


# ── positions of terms in a text ──


def find_positions(needles: Sequence[str], text: str) -> list[int]:
    """Where any of the needles begins in the text, in characters, ascending; occurrences do not overlap."""
    starts = []
    for needle in needles:
        position = text.find(needle)
        while position >= 0:
            starts.append(position)
            position = text.find(needle, position + len(needle))
    return starts if len(needles) == 1 else sorted(starts)


def find_terms(needles: Mapping[str, Sequence[str]], texts: Sequence[str]) -> list[dict[str, list[int]]]:
    """`find_positions` by term in each text, for the terms that it has. The texts are searched as one."""
    positions: list[dict[str, list[int]]] = [{} for _ in texts]
    joined, starts = joined_texts(texts)
    for term, sought in needles.items():
        for position in find_positions(sought, joined):
            row = bisect_right(starts, position) - 1
            positions[row].setdefault(term, []).append(position - starts[row])
    return positions


def best_window_coverages(
    terms: TermWeights, positions: Mapping[str, Sequence[int]], windows: Sequence[int]
) -> list[float]:
    """For each window: the largest coverage by the different terms that begin within so many characters."""
    marks = sorted((position, term) for term, places in positions.items() for position in places)
    if marks and terms.total:
        reach = marks[-1][0] - marks[0][0]
        every = sum(terms.weights[term] for term in positions) / terms.total
        return [every if reach <= window else _best_window(terms, marks, window) / terms.total for window in windows]
    return [0.0] * len(windows)


def _best_window(terms: TermWeights, marks: Sequence[tuple[int, str]], characters: int) -> float:
    weights, counts = terms.weights, dict.fromkeys(terms.weights, 0)
    best = coverage = 0.0
    start = 0
    for position, term in marks:
        counts[term] += 1
        if counts[term] == 1:
            coverage += weights[term]
        while marks[start][0] < position - characters:
            leaving = marks[start][1]
            counts[leaving] -= 1
            if counts[leaving] == 0:
                coverage -= weights[leaving]
            start += 1
        best = max(best, coverage)
    return best


def first_position_share(terms: TermWeights, positions: Mapping[str, Sequence[int]], length: int) -> float:
    """How early the heaviest term that is there stands: 1 at the beginning, 0 at the end or without any term."""
    if not positions or not length:
        return 0.0
    heaviest = max(positions, key=lambda term: terms.weights[term])
    return 1 - positions[heaviest][0] / length


def bm25_saturation(occurrences: N, relative_length: N, *, b: float) -> N:
    """BM25's weight of a term by how often it occurs, 0 to 1, without its idf; k1 is 1.2. Numbers or arrays.

    `relative_length`: of the text, by the mean of the texts. `b`: how much length counts, 0 to 1.
    """
    return occurrences / (occurrences + BM25_K1 * (1 - b + b * relative_length))


# ── neighbouring terms ──


def ordered_proximity(terms: TermWeights, pairs: Pairs, positions: Mapping[str, Sequence[int]], *, gap: int) -> float:
    """Weighted share of the pairs whose second term begins close behind the first one; 0 without pairs.

    Close: at most `gap` characters more than the length of the first term. A pair weighs what its terms weigh.
    """
    total = near = 0.0
    for first, second in pairs:
        weight = terms.weights[first] + terms.weights[second]
        total += weight
        if first in positions and second in positions:
            near += weight if _follows(positions[first], positions[second], len(first) + gap) else 0.0
    return near / total if total else 0.0


def _follows(first: Sequence[int], second: Sequence[int], reach: int) -> bool:
    """Whether some second position lies within `reach` characters behind a first one."""
    for position in first:
        at = bisect_left(second, position + 1)
        if at < len(second) and second[at] - position <= reach:
            return True
    return False


def adjacent_share(pairs: Collection[tuple[str, str]], terms: Sequence[str]) -> float:
    """Share of the pairs that stand next to each other in this order among the terms of a text; 0 without pairs."""
    return len(frozenset(pairs).intersection(zip(terms, terms[1:], strict=False))) / len(pairs) if pairs else 0.0


def pairs_within(pairs: Pairs, terms: Sequence[str], *, words: int) -> set[tuple[str, str]]:
    """The pairs of which both terms stand at most so many words apart, in either order."""
    listed = list(pairs)
    at: dict[str, list[int]] = {term: [] for pair in listed for term in pair}
    for number, term in enumerate(terms):
        if term in at:
            at[term].append(number)
    return {(a, b) for a, b in listed if any(abs(i - j) <= words for i in at[a] for j in at[b])}


def pair_share(weights: Mapping[str, float], pairs: Collection[tuple[str, str]], matched: Pairs) -> float:
    """Weighted share of the pairs that are kept; a pair weighs what its terms weigh; 1 without pairs."""
    total = sum(weights[a] + weights[b] for a, b in pairs)
    return sum(weights[a] + weights[b] for a, b in matched) / total if total else 1.0


def cooccurrence_share(present: Presence) -> float:
    """Share of all pairs of terms (at least two) that stand together in some sentence, in any order and distance."""
    there = present.astype(np.int16)
    together = (there.T @ there)[np.triu_indices(present.shape[1], 1)] > 0
    return float(together.mean())


# ── windows of sentences, and common runs ──


def sentence_windows(present: Presence, *, sentences: int) -> Presence:
    """bool[sentences, terms]: what the window of so many sentences that begins at each sentence has."""
    windows = present.copy()
    for shift in range(1, min(sentences, len(present))):
        windows[:-shift] |= present[shift:]
    return windows


def longest_literal_run(pieces: Sequence[str], text: str, *, joiner: str) -> float:
    """Length of the longest run of pieces, put together by `joiner`, that the text has literally, by all; 0 to 1."""
    best = start = 0
    for end in range(1, len(pieces) + 1):
        while end - start > best:
            if joiner.join(pieces[start:end]) in text:
                best = end - start
                break
            start += 1
    return best / max(len(pieces), 1)


def common_subsequence_length(tokens: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence: tokens in the same order, with others between them.

    Bit-parallel (Hyyrö: Bit-Parallel LCS-length Computation Revisited, AWOCA 2004): a bit for each token of `other`,
    0 where the row of the table of lengths grows.
    """
    places: dict[str, int] = {}
    for at, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << at
    every = (1 << len(other)) - 1
    row = every
    for token in tokens:
        if matching := row & places.get(token, 0):
            row = (row + matching | row - matching) & every
    return len(other) - row.bit_count()


def log_length(count: int, scale: float) -> float:
    """ln(1 + count) / scale: lengths on the scale of the other features."""
    return math.log1p(count) / scale
