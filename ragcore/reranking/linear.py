"""A reranker without a neural network: a linear model over lexical and vector features (D5).

The weights ship in linear_reranker.json with the record of their training; `manage.py train_reranker` makes them.
Listwise training: softmax cross-entropy over the candidates of a question (Cao et al., Learning to Rank: From
Pairwise Approach to Listwise Approach, ICML 2007).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import ClassVar

import numpy as np

from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.ports import FloatArray, RerankInput, RerankScore
from ragcore.text.lexical_features import (
    TermWeights,
    best_window_coverage,
    bm25_saturation,
    find_positions,
    first_position_share,
    log_length,
    longest_literal_run,
    ordered_proximity,
)
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
WEIGHTS_FILE = "linear_reranker.json"
BODY_B = 0.75  # of BM25
PAIR_GAP = 4  # characters between two terms that stand together
WINDOW_CHARACTERS = {"cjk": 90, "latin": 260}


def rerank_features(query: Query, candidates: Sequence[RerankInput]) -> FloatArray:
    """float32[n, len(FEATURES)] in the order given."""
    question = _Question(query)
    best_bm25 = max((c.arms.get("lexical", 0.0) for c in candidates), default=0.0) or 1.0
    best_dense = max((c.arms.get("dense", 0.0) for c in candidates), default=0.0) or 1.0
    bodies = [searchable(c.passage.text) for c in candidates]
    mean_length = sum(map(len, bodies)) / max(len(bodies), 1) or 1.0
    rows = []
    for candidate, body in zip(candidates, bodies, strict=True):
        bm25, dense = candidate.arms.get("lexical", 0.0), max(candidate.arms.get("dense", 0.0), 0.0)
        head = searchable(" ".join([candidate.passage.title, *candidate.passage.heading_path]))
        named = question.text_features(head, body, relative_length=len(body) / mean_length) | {
            "bm25_relative": bm25 / best_bm25,
            "bm25_absolute": bm25 / question.repeated / 2.2,  # a term's weight is below k1 + 1
            "dense": dense,
            "dense_relative": dense / best_dense,
            "coarse": max(candidate.arms.get("coarse", 0.0), 0.0),
        }
        rows.append([named[name] for name in FEATURES])
    return np.asarray(rows, dtype=np.float32).reshape(len(candidates), len(FEATURES))


class _Question:
    """A question prepared for many passages."""

    def __init__(self, query: Query) -> None:
        weights = {t: w for t, w in query.weights.items() if w > 0} or dict.fromkeys(query.terms, 1.0)
        self.terms = TermWeights.of(weights)
        counts = Counter(query.terms)  # the lexical index counts a term as often as it is asked
        self.repeated = sum(w * max(counts[t], 1) for t, w in weights.items()) or 1.0
        self.needles = {term: needles(term) for term in weights}
        ordered = [t for t in query.terms if t in weights]
        self.pairs = list(dict.fromkeys((a, b) for a, b in zip(ordered, ordered[1:], strict=False) if a != b))
        script = "cjk" if query.cjk_share >= 0.3 else "latin"
        self.window = WINDOW_CHARACTERS[script]
        text = searchable(query.text)
        self.joiner = "" if script == "cjk" else " "
        self.pieces = list(re.sub(rf"[^\w{MARK}]+", "", text)) if script == "cjk" else text.split()

    def text_features(self, head: str, body: str, *, relative_length: float) -> dict[str, float]:
        """The features of one passage that its text gives; its length by that of the mean candidate."""
        terms = self.terms
        positions = {term: found for term, needles in self.needles.items() if (found := find_positions(needles, body))}
        in_head = {term for term, needles in self.needles.items() if any(needle in head for needle in needles)}
        present = set(positions) | in_head
        saturated = (
            terms.weights[t] * bm25_saturation(len(found), relative_length, b=BODY_B) for t, found in positions.items()
        )
        return {
            "coverage": terms.coverage(present),
            "rare_coverage": terms.rare_coverage(present),
            "title_coverage": terms.coverage(in_head),
            "window": best_window_coverage(terms, positions, characters=self.window),
            "narrow_window": best_window_coverage(terms, positions, characters=self.window // 3),
            "adjacency": ordered_proximity(terms, self.pairs, positions, gap=PAIR_GAP),
            "longest_run": longest_literal_run(self.pieces, body, joiner=self.joiner),
            "first_match": first_position_share(terms, positions, len(body)),
            "length": log_length(len(body), 10),
            "body": sum(saturated) / (terms.total or 1.0),
        }


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
