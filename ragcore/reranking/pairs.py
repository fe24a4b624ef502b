"""A reranker over any model that reads question and passage together.

Scores that are known are not computed again, and a model that failed is left alone for a while, so that not every
question waits for its failure.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from ragcore.errors import ModelUnavailableError
from ragcore.ports import RerankInput, RerankScore
from ragcore.types import Passage, Query

REST_SECONDS = 60.0


@runtime_checkable
class PairScorer(Protocol):
    """A model that scores each pair by itself. Thread-safe."""

    @property
    def name(self) -> str:
        """As people read it."""
        ...

    @property
    def scores_name(self) -> str:
        """Says which weights, and where: a cached score is that of such a name."""
        ...

    @property
    def cliff(self) -> float: ...

    @property
    def low(self) -> float: ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One finite number a text, in their order, higher is better.

        Raises ModelUnavailableError, RerankerRefusedError.
        """
        ...


class ScoreCache(Protocol):
    """Keeps scores for a while. Never raises: what cannot be read is not known. Thread-safe."""

    def get(self, question: str, texts: Sequence[str]) -> list[float | None]:
        """Known scores by digest of the question (with `scores_name`) and of the texts, in their order."""
        ...

    def put(self, question: str, scores: Mapping[str, float]) -> None:
        """Keep scores by digest of the text."""
        ...


class PairReranker:
    """Implements ports.Reranker. The scores are those of `scorer`, and mean the same for every question."""

    def __init__(
        self,
        scorer: PairScorer,
        cache: ScoreCache | None = None,
        *,
        rest_seconds: float = REST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.cliff, self.low = scorer.name, scorer.cliff, scorer.low
        self._scorer, self._cache = scorer, cache
        self._scores_name = scorer.scores_name
        self._rest_seconds, self._clock = rest_seconds, clock
        self._rests_until = float("-inf")
        self._reason = ""

    def score(self, query: Query, candidates: Sequence[RerankInput]) -> list[RerankScore]:
        """See ports.Reranker. Raises ModelUnavailableError, RerankerRefusedError."""
        texts = [pair_text(candidate.passage) for candidate in candidates]
        digests = [_digest(text) for text in texts]
        question = _digest(self._scores_name, query.text)
        scores = self._known(question, digests)
        new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in scores}
        if new:
            new_scores = dict(zip(new, self._scores(query.text, list(new.values())), strict=True))
            if self._cache is not None:
                self._cache.put(question, new_scores)
            scores |= new_scores
        return [RerankScore(score=scores[digest]) for digest in digests]

    def _known(self, question: str, digests: Sequence[str]) -> dict[str, float]:
        if self._cache is None or not digests:
            return {}
        pairs = zip(digests, self._cache.get(question, digests), strict=True)
        return {digest: score for digest, score in pairs if score is not None}

    def _scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if self._clock() < self._rests_until:
            raise ModelUnavailableError("reranker_rests", name=self.name, problem=self._reason)
        try:
            return self._scorer.scores(question, texts)
        except Exception as error:
            self._reason, self._rests_until = str(error), self._clock() + self._rest_seconds
            raise


def pair_text(passage: Passage) -> str:
    """What a model reads of a passage: title and headings, which short passages need, then the text."""
    head = " › ".join(dict.fromkeys(part for part in (passage.title, *passage.heading_path) if part))
    return f"{head}\n{passage.text}" if head else passage.text


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
