"""Triples for a question in two stages: words and vectors find candidates, four signals order them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from ragcore.graph.features import FEATURES, Measured, QuestionOfFacts, measure
from ragcore.graph.ports import TripleHit, TripleIndex
from ragcore.graph.triples import Triple
from ragcore.ports import Embedder, Tokenizer
from ragcore.text.fact_question import KindOfQuestion, kind_of_question

Weights = Literal["learned", "fixed"]
DEFAULT_RESULTS = 5
CANDIDATES = 4  # times the number of results, of each arm
MOST_RESULTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTriple:
    """A triple with its scores; each is better when higher.

    `stage1_score`: 0 to 1, of the fused first stage. `rerank_score`: of the second stage, None without it.
    `final_score`: the one that orders. `detailed_scores`: the four signals and what they are made of.
    """

    id: int
    triple: Triple
    stage1_score: float
    rerank_score: float | None
    final_score: float
    detailed_scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTriples:
    """The first triples of one search in the order of the first stage, and after re-scoring."""

    first: tuple[ScoredTriple, ...]
    rescored: tuple[ScoredTriple, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalWeights:
    """Weights of the second stage: fixed ones of the four signals, and learned ones of the finer measures."""

    entity: float
    relation: float
    type: float
    semantic: float
    learned: Mapping[str, float]

    @classmethod
    @cache
    def shipped(cls) -> SignalWeights:
        """The weights that come with the product. Raises ValueError if they are of other measures."""
        record = json.loads(files("ragcore.graph").joinpath("triple_weights.json").read_text(encoding="utf-8"))
        if sorted(record["learned"]) != sorted(FEATURES):
            raise ValueError("triple_weights.json was learned with other measures; run python -m bench.triples --learn")
        return cls(**record["fixed"], learned=record["learned"])

    def score(self, measured: Measured, weights: Weights) -> float:
        """Of one triple; fixed: 0 to 1, learned: log-odds within the candidates of a question."""
        if weights == "fixed":
            return (
                self.entity * measured.entity
                + self.relation * measured.relation
                + self.type * measured.type
                + self.semantic * measured.semantic
            )
        return sum(self.learned[name] * value for name, value in measured.features.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleSearch:
    """Finds triples in an index. Thread-safe as far as its parts are."""

    index: TripleIndex
    embedder: Embedder
    tokenizer: Tokenizer
    weights: SignalWeights

    def search(
        self,
        question: str,
        *,
        kind: KindOfQuestion | None = None,
        n_results: int = DEFAULT_RESULTS,
        use_reranking: bool = True,
        weights: Weights = "learned",
    ) -> list[ScoredTriple]:
        """Up to `n_results` triples, best first; [] for an empty question."""
        if not question.strip():
            return []
        n_results = min(max(n_results, 1), MOST_RESULTS)
        triples = self.candidates(
            question, kind=kind, limit=CANDIDATES * n_results, measured=use_reranking, weights=weights
        )
        if use_reranking:
            triples.sort(key=_by_final_score)
        return triples[:n_results]

    def rank(self, question: str, *, n_results: int = DEFAULT_RESULTS, weights: Weights = "learned") -> RankedTriples:
        """What `search` returns with and without re-scoring, from one search."""
        first = self.candidates(question, limit=CANDIDATES * n_results, weights=weights) if question.strip() else []
        rescored = sorted(first, key=_by_final_score)
        return RankedTriples(first=tuple(first[:n_results]), rescored=tuple(rescored[:n_results]))

    def candidates(
        self,
        question: str,
        *,
        kind: KindOfQuestion | None = None,
        limit: int,
        measured: bool = True,
        weights: Weights = "learned",
    ) -> list[ScoredTriple]:
        """What the first stage finds, in its order: `limit` of each arm; `measured`: with all scores."""
        kind = kind or kind_of_question(question)
        vector = self.embedder.embed_queries([question])[0]
        words = self.index.by_words(question, limit=limit)
        meaning = self.index.by_meaning(vector, limit=limit)
        first = fuse(words, meaning)
        if not measured:
            return [
                ScoredTriple(
                    id=hit.id,
                    triple=hit.triple,
                    stage1_score=hit.score,
                    rerank_score=None,
                    final_score=hit.score,
                    detailed_scores={},
                )
                for hit in first
            ]
        similarities = {hit.id: hit.score for hit in meaning}
        similarities |= self.index.meanings(vector, [hit.id for hit in first if hit.id not in similarities])
        by_words = {hit.id: hit.score for hit in words}
        terms = sorted(set(self.tokenizer.terms(" ".join([question, *(hit.triple.text for hit in first)]))))
        measures = measure(
            QuestionOfFacts(question, kind, self.tokenizer, self.index.rarity(terms)),
            [hit.triple for hit in first],
            embedder=self.embedder,
            meanings=[similarities.get(hit.id, 0.0) for hit in first],
            words=[by_words.get(hit.id, 0.0) for hit in first],
        )
        return [_scored(hit, m, self.weights.score(m, weights)) for hit, m in zip(first, measures, strict=True)]


def _by_final_score(triple: ScoredTriple) -> tuple[float, float, int]:
    return -triple.final_score, -triple.stage1_score, triple.id


def _scored(hit: TripleHit, measured: Measured, score: float) -> ScoredTriple:
    signals = {
        "entity": measured.entity,
        "relation": measured.relation,
        "type": measured.type,
        "semantic": measured.semantic,
    }
    return ScoredTriple(
        id=hit.id,
        triple=hit.triple,
        stage1_score=hit.score,
        rerank_score=score,
        final_score=score,
        detailed_scores=signals | dict(measured.features),
    )


def fuse(words: Sequence[TripleHit], meaning: Sequence[TripleHit]) -> list[TripleHit]:
    """One list of both arms, best first: half the score of each, by its best hit, 0 to 1."""
    scores: dict[int, float] = {}
    hits: dict[int, TripleHit] = {}
    for arm in (words, meaning):
        best = max((hit.score for hit in arm), default=0.0)
        for hit in arm:
            hits.setdefault(hit.id, hit)
            scores[hit.id] = scores.get(hit.id, 0.0) + (0.5 * max(hit.score, 0.0) / best if best > 0 else 0.0)
    ordered = sorted(hits, key=lambda number: (-scores[number], number))
    return [TripleHit(id=n, triple=hits[n].triple, score=scores[n]) for n in ordered]
