"""A reranker without a neural network: a linear model over lexical and vector features (D5).

The weights ship in linear_reranker.json with the record of their training; `manage.py train_reranker` makes them.
Listwise training: softmax cross-entropy over the candidates of a question (Cao et al., Learning to Rank: From
Pairwise Approach to Listwise Approach, ICML 2007).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import log
from typing import ClassVar

import numpy as np

from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.ports import FloatArray, RerankInput, RerankScore
from ragcore.text.matching import MARK, needles, searchable
from ragcore.types import Query

FEATURES = (
    "bm25_relative",  # BM25 by the best candidate's
    "bm25_absolute",  # BM25 by the sum of idf of the question
    "dense",  # cosine of the whole vector
    "dense_relative",  # by the best candidate's
    "coarse",  # cosine of the 384-d prefix
    "coverage",  # idf-weighted share of the question's terms in title, headings and text
    "rare_coverage",  # the same with squared idf: do the rare terms occur?
    "title_coverage",  # idf-weighted share in title and headings
    "window",  # idf-weighted share inside the best window of the text
    "narrow_window",  # the same in a window a third as long
    "adjacency",  # share of the question's neighbouring terms that are neighbours in the text
    "longest_run",  # longest piece of the question that occurs literally, by the question's length
    "first_match",  # how early in the text the rarest matching term stands
    "length",  # logarithm of the text's length
    "body",  # BM25 of the text alone, without title and headings, by the sum of idf of the question
)
K1, B = 1.2, 0.75  # of BM25
WINDOW_CHARACTERS = {"cjk": 90, "latin": 260}


def rerank_features(query: Query, candidates: Sequence[RerankInput]) -> FloatArray:
    """float32[n, len(FEATURES)] in the order given."""
    asked = _Asked(query)
    best_bm25 = max((c.arms.get("lexical", 0.0) for c in candidates), default=0.0) or 1.0
    best_dense = max((c.arms.get("dense", 0.0) for c in candidates), default=0.0) or 1.0
    bodies = [searchable(c.passage.text) for c in candidates]
    average = sum(map(len, bodies)) / max(len(bodies), 1) or 1.0
    rows = []
    for candidate, body in zip(candidates, bodies, strict=True):
        bm25, dense = candidate.arms.get("lexical", 0.0), max(candidate.arms.get("dense", 0.0), 0.0)
        head = searchable(" ".join([candidate.passage.title, *candidate.passage.heading_path]))
        rows.append(
            [
                bm25 / best_bm25,
                bm25 / asked.repeated / 2.2,  # a term's weight is below k1 + 1
                dense,
                dense / best_dense,
                max(candidate.arms.get("coarse", 0.0), 0.0),
                *asked.in_text(head, body, relative_length=len(body) / average),
            ]
        )
    return np.asarray(rows, dtype=np.float32).reshape(len(candidates), len(FEATURES))


class _Asked:
    """A question prepared for many passages."""

    def __init__(self, query: Query) -> None:
        self.weights = {t: w for t, w in query.weights.items() if w > 0} or dict.fromkeys(query.terms, 1.0)
        self.total = sum(self.weights.values()) or 1.0
        counts = Counter(query.terms)  # the lexical index counts a term as often as it is asked
        self.repeated = sum(w * max(counts[t], 1) for t, w in self.weights.items()) or 1.0
        self.squared = sum(w * w for w in self.weights.values()) or 1.0
        self.needles = {term: needles(term) for term in self.weights}
        ordered = [t for t in query.terms if t in self.weights]
        self.pairs = list(dict.fromkeys((a, b) for a, b in zip(ordered, ordered[1:], strict=False) if a != b))
        kind = "cjk" if query.cjk_share >= 0.3 else "latin"
        self.window = WINDOW_CHARACTERS[kind]
        text = searchable(query.text)
        self.joiner = "" if kind == "cjk" else " "
        self.pieces = list(re.sub(rf"[^\w{MARK}]+", "", text)) if kind == "cjk" else text.split()

    def in_text(self, head: str, body: str, *, relative_length: float) -> list[float]:
        """The text features of one passage, in the order of FEATURES; its length by that of the average candidate."""
        places = {term: found for term, needles in self.needles.items() if (found := _places(needles, body))}
        in_head = {term for term, needles in self.needles.items() if any(needle in head for needle in needles)}
        present = set(places) | in_head
        return [
            self._share(present),
            sum(self.weights[t] ** 2 for t in present) / self.squared,
            self._share(in_head),
            self._best_window(places, self.window),
            self._best_window(places, self.window // 3),
            self._adjacency(places),
            self._longest_run(body),
            self._first_match(places, len(body)),
            log(1 + len(body)) / 10,
            self._body(places, relative_length),
        ]

    def _share(self, terms: set[str]) -> float:
        return sum(self.weights[t] for t in terms) / self.total

    def _body(self, places: Mapping[str, Sequence[int]], relative_length: float) -> float:
        """BM25 with the usual constants; how often a term occurs is counted in the text as it reads."""
        norm = K1 * (1 - B + B * relative_length)
        return sum(self.weights[t] * len(found) / (len(found) + norm) for t, found in places.items()) / self.total

    def _best_window(self, places: Mapping[str, Sequence[int]], size: int) -> float:
        """The largest idf-weighted share of distinct terms within `size` characters."""
        marks = sorted((place, term) for term, found in places.items() for place in found)
        counts: dict[str, int] = {}
        best = held = 0.0
        start = 0
        for place, term in marks:
            counts[term] = counts.get(term, 0) + 1
            held += self.weights[term] if counts[term] == 1 else 0.0
            while marks[start][0] < place - size:
                leaving = marks[start][1]
                counts[leaving] -= 1
                held -= self.weights[leaving] if counts[leaving] == 0 else 0.0
                start += 1
            best = max(best, held)
        return best / self.total

    def _adjacency(self, places: Mapping[str, Sequence[int]]) -> float:
        """idf-weighted share of neighbouring terms of the question that stand close together, in order."""
        total = near = 0.0
        for first, second in self.pairs:
            weight = self.weights[first] + self.weights[second]
            total += weight
            if first in places and second in places and _close(places[first], places[second], len(first) + 4):
                near += weight
        return near / total if total else 0.0

    def _longest_run(self, body: str) -> float:
        """Length of the longest literal piece of the question in the text (whole words for Latin script)."""
        best = start = 0
        for end in range(1, len(self.pieces) + 1):
            while end - start > best:
                if self.joiner.join(self.pieces[start:end]) in body:
                    best = end - start
                    break
                start += 1
        return best / max(len(self.pieces), 1)

    def _first_match(self, places: Mapping[str, Sequence[int]], length: int) -> float:
        if not places or not length:
            return 0.0
        rarest = max(places, key=lambda term: self.weights[term])
        return 1 - places[rarest][0] / length


def _places(needles: Sequence[str], text: str) -> list[int]:
    """Where any of the needles begins, ascending."""
    found = []
    for needle in needles:
        place = text.find(needle)
        while place >= 0:
            found.append(place)
            place = text.find(needle, place + len(needle))
    return found if len(needles) == 1 else sorted(found)


def _close(first: Sequence[int], second: Sequence[int], reach: int) -> bool:
    """Whether some second place lies within `reach` characters behind a first one."""
    for place in first:
        at = bisect_left(second, place + 1)
        if at < len(second) and second[at] - place <= reach:
            return True
    return False


WEIGHTS_FILE = "linear_reranker.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearReranker:
    """Scores are log-odds within one question's candidates, higher is better; only their differences mean anything."""

    client: ClassVar[ClientKind] = ClientKind(kind="linear")

    weights: tuple[float, ...]  # one per feature and, after them, its interaction with the share of CJK
    name: str = "linear"
    cliff: float = 4.0  # a factor of about 50 in odds

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> LinearReranker:
        """The shipped weights; nothing is configured."""
        return cls.shipped()

    @classmethod
    def shipped(cls) -> LinearReranker:
        """The weights that come with the product. Raises ValueError if they are of other features."""
        record = json.loads(files("ragcore.reranking").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8"))
        if record["features"] != list(FEATURES):
            raise ValueError(f"{WEIGHTS_FILE} was trained on other features; run manage.py train_reranker")
        return cls(weights=tuple(record["weights"]), cliff=record["cliff"])

    def score(self, query: Query, candidates: Sequence[RerankInput]) -> list[RerankScore]:
        """One score a candidate, in the order given, with the value of every feature."""
        if not candidates:
            return []
        matrix = rerank_features(query, candidates)
        scores = design(matrix, query.cjk_share) @ np.asarray(self.weights)
        return [
            RerankScore(score=float(s), detail=dict(zip(FEATURES, map(float, row), strict=True)))
            for s, row in zip(scores, matrix, strict=True)
        ]


def design(matrix: FloatArray, cjk_share: float) -> FloatArray:
    """float32[n, f] to float32[n, 2f]: the features and their interaction with the script of the question."""
    return np.hstack([matrix, matrix * np.float32(cjk_share)]).astype(np.float32)
