"""A reranker without a neural network: a linear model over lexical and vector features.

Weights belong to the embedding model whose cosines they were fitted with. They ship in a file for each packaged model
with the record of their training; `python -m ragcore.training reranker` makes them.
Listwise training: softmax cross-entropy over the candidates of a question (Cao et al., Learning to Rank: From
Pairwise Approach to Listwise Approach, ICML 2007).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.errors import WeightsRefusedError
from ragcore.fitted_weights import fitted_weights, neutral_weights
from ragcore.ports import FloatArray, RerankInput, RerankScore
from ragcore.text.lexical_features import (
    TermWeights,
    best_window_coverages,
    bm25_saturation,
    find_terms,
    first_position_share,
    longest_literal_run,
    ordered_proximity,
)
from ragcore.text.matching import MARK, needles, presence, searchable
from ragcore.text.scripts import beginning_language, is_across
from ragcore.text.source_code import is_source, readable_source
from ragcore.types import Query

FEATURES = (
    "bm25_relative",  # BM25 by the best candidate's
    "bm25_absolute",  # BM25 by the sum of idf of the question
    "dense",  # cosine of the whole vector
    "dense_relative",  # by the best candidate's
    "coarse",  # cosine of the 384-d prefix
    "coverage",  # idf-weighted share of the question's terms in title, headings and text
    "rare_coverage",  # the same with squared idf: do the rare terms occur?
    "title_coverage",  # idf-weighted share in the title; headings stand in the text of their first passage
    "window",  # idf-weighted share inside the best window of the text
    "narrow_window",  # the same in a window a third as long
    "adjacency",  # share of the question's neighbouring terms that are neighbours in the text
    "longest_run",  # longest piece of the question that occurs literally, by the question's length
    "first_match",  # how early in the text the rarest matching term stands
    "length",  # logarithm of the text's length
    "body",  # BM25 of the text alone, without title and headings, by the sum of idf of the question
    "across",  # 1 where the passage is in the other language, so that words cannot match
    "across_dense",  # the cosine there, 0 elsewhere
    "across_relative",  # the same by the best candidate's
    "across_coverage",  # the coverage there: names and numbers that both languages write alike
    "sentence",  # cosine of the nearest sentence; 0 throughout where no passage has vectors of its sentences
    "sentence_relative",  # by the best candidate's
    "across_sentence",  # the cosine of the nearest sentence where the passage is in the other language
    "across_sentence_relative",
)
WEIGHTS_FILE = "linear_reranker.json"
CLIFF = 4.0  # a factor of about 50 in odds
BODY_B = 0.75  # of BM25
PAIR_GAP = 4  # characters between two terms that stand together
LENGTH_SCALE = 10
WINDOW_CHARACTERS = {"cjk": 90, "latin": 260}


def rerank_features(query: Query, candidates: Sequence[RerankInput]) -> FloatArray:
    """float32[n, len(FEATURES)] in the order given."""
    question = _Question(query)
    bm25 = np.array([c.arms.get("lexical", 0.0) for c in candidates])
    dense = np.array([max(c.arms.get("dense", 0.0), 0.0) for c in candidates])
    coarse = np.array([max(c.arms.get("coarse", 0.0), 0.0) for c in candidates])
    sentence = _sentence_cosines(candidates, dense)
    heads = [searchable(" ".join([c.passage.title, *c.passage.heading_path])) for c in candidates]
    titles = [
        searchable(c.passage.title) if c.passage.heading_path else h for c, h in zip(candidates, heads, strict=True)
    ]
    bodies = [searchable(c.passage.text) for c in candidates]
    across = np.array([is_across(query.language, beginning_language(c.passage.text)) for c in candidates], dtype=float)
    features = question.text_features(titles, heads, bodies) | {
        "bm25_relative": bm25 / (bm25.max(initial=0.0) or 1.0),
        "bm25_absolute": bm25 / question.repeated / 2.2,  # a term's weight is below k1 + 1
        "dense": dense,
        "dense_relative": dense / (dense.max(initial=0.0) or 1.0),
        "coarse": coarse,
        "sentence": sentence,
        "sentence_relative": sentence / (sentence.max(initial=0.0) or 1.0),
    }
    features |= {
        "across": across,
        "across_dense": across * dense,
        "across_relative": across * features["dense_relative"],
        "across_coverage": across * features["coverage"],
        "across_sentence": across * sentence,
        "across_sentence_relative": across * features["sentence_relative"],
    }
    return np.column_stack([features[name] for name in FEATURES]).astype(np.float32)


def _sentence_cosines(candidates: Sequence[RerankInput], dense: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """float64[n] of the nearest sentences.

    A passage without vectors of its sentences, one that was just imported, has its own cosine and what the nearest
    sentences of the others lie above theirs.
    """
    cosines = np.array([c.arms.get("sentence", np.nan) for c in candidates])
    missing = np.isnan(cosines)
    if missing.all():
        return np.zeros(len(candidates))
    above = float(np.mean(cosines[~missing] - dense[~missing]))
    return np.maximum(np.where(missing, dense + above, cosines), 0.0)


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

    def text_features(
        self, titles: Sequence[str], heads: Sequence[str], bodies: Sequence[str]
    ) -> dict[str, npt.NDArray[np.float64]]:
        """The features that the texts of the passages give, float64[n] each; a head is a title with its headings."""
        terms, pairs = self.terms, self.pairs
        places = find_terms(self.needles, bodies)
        counts = _rows([[len(positions.get(term, ())) for term in self.needles] for positions in places])
        in_head = presence(list(self.needles.values()), heads).astype(np.float64)
        in_title = presence(list(self.needles.values()), titles).astype(np.float64)
        lengths = np.array([len(body) for body in bodies], dtype=float)
        weights = np.array(list(terms.weights.values()))
        total, squared = terms.total or 1.0, terms.squared or 1.0
        present = np.maximum(counts > 0, in_head)
        saturated = bm25_saturation(counts, (lengths / (lengths.mean() or 1.0))[:, None], b=BODY_B)
        windows = (self.window, self.window // 3)
        wide, narrow = (
            _rows([best_window_coverages(terms, positions, windows) for positions in places]).reshape(-1, 2).T
        )
        return {
            "coverage": present @ weights / total,
            "rare_coverage": present @ weights**2 / squared,
            "title_coverage": in_title @ weights / total,
            "window": wide,
            "narrow_window": narrow,
            "adjacency": np.array([ordered_proximity(terms, pairs, positions, gap=PAIR_GAP) for positions in places]),
            "longest_run": np.array([longest_literal_run(self.pieces, body, joiner=self.joiner) for body in bodies]),
            "first_match": np.array(
                [first_position_share(terms, at, len(body)) for at, body in zip(places, bodies, strict=True)]
            ),
            "length": np.log1p(lengths) / LENGTH_SCALE,
            "body": saturated @ weights / total,
        }


def _rows(numbers: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    """float64[n, terms], also without any term."""
    return np.array(numbers, dtype=np.float64).reshape(len(numbers), -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearReranker:
    """Scores are log-odds within one question's candidates, higher is better; only their differences mean anything."""

    client: ClassVar[ClientKind] = ClientKind(kind="linear")

    weights: tuple[float, ...]  # one per feature and, after them, its interaction with the share of CJK
    name: str = "linear"
    cliff: float = CLIFF

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> LinearReranker:
        """The weights that come with the product for the embedding model of the settings."""
        return cls.shipped(settings.embedding_model)

    @classmethod
    def shipped(cls, embedding_model: str = "") -> LinearReranker:
        """The weights that come with the product for this embedding model, or the neutral ones.

        Raises ValueError if they are of other features.
        """
        fitted_record = fitted_weights(__package__, WEIGHTS_FILE, embedding_model)
        record = fitted_record or neutral_weights(__package__, WEIGHTS_FILE)
        try:
            return cls(weights=_of_all_features(record["weights"], record["features"]), cliff=record["cliff"])
        except WeightsRefusedError as error:
            raise ValueError(f"{WEIGHTS_FILE} was trained on other features; run ragcore.training reranker") from error

    @classmethod
    def fitted(cls, weights: Sequence[float], features: Sequence[str], *, number: int) -> LinearReranker:
        """Weights that were fitted to judged questions, under a name that says which. Raises WeightsRefusedError."""
        all_weights = _of_all_features(weights, features)
        return cls(weights=all_weights, name=f"{cls.client.kind}, fitted {number}", cliff=cls.shipped().cliff)

    def score(self, query: Query, candidates: Sequence[RerankInput]) -> list[RerankScore]:
        """One score a candidate, in the order given, with the value of every feature.

        The weights were fitted on prose. They place source code among it; passages of source code share these places
        in the order of fusion: of 120 questions on functions it has an MRR of .58, that of the weights .51.
        """
        if not candidates:
            return []
        code = [at for at, candidate in enumerate(candidates) if is_source(candidate.passage.text)]
        texts = list(candidates)
        for at in code:
            texts[at] = _in_words(candidates[at])
        matrix = rerank_features(query, texts)
        scores = (design(matrix, query.cjk_share) @ np.asarray(self.weights)).tolist()
        best_first = sorted((scores[at] for at in code), reverse=True)
        in_order = sorted(code, key=lambda at: _fused(candidates[at]), reverse=True)
        for at, score in zip(in_order, best_first, strict=True):
            scores[at] = score
        return [
            RerankScore(score=score, detail=dict(zip(FEATURES, row, strict=True)))
            for score, row in zip(scores, matrix.tolist(), strict=True)
        ]


def _in_words(candidate: RerankInput) -> RerankInput:
    passage = candidate.passage
    return replace(candidate, passage=replace(passage, text=readable_source(passage.text)))


def _fused(candidate: RerankInput) -> float:
    """The last score of both arms; where only one was searched, of that."""
    return next((candidate.arms[name] for name in ("fuse.rsf", "dense", "lexical") if name in candidate.arms), 0.0)


def _of_all_features(weights: Sequence[float], features: Sequence[str]) -> tuple[float, ...]:
    """A weight and an interaction for each of FEATURES, 0 for those that came after the fit.

    Raises WeightsRefusedError.
    """
    if not set(features) <= set(FEATURES) or len(set(features)) != len(features):
        raise WeightsRefusedError("features")
    if len(weights) != 2 * len(features) or not all(isfinite(weight) for weight in weights):
        raise WeightsRefusedError("damaged")
    halves = (dict(zip(features, half, strict=True)) for half in (weights[: len(features)], weights[len(features) :]))
    return tuple(half.get(name, 0.0) for half in halves for name in FEATURES)


def design(matrix: FloatArray, cjk_share: float) -> FloatArray:
    """float32[n, f] to float32[n, 2f]: the features and their interaction with the script of the question."""
    return np.hstack([matrix, matrix * np.float32(cjk_share)]).astype(np.float32)
