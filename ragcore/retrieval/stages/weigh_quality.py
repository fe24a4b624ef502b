"""Length, rating and weight of the document in the order (feature U15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, prod

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports, Tokenizer
from ragcore.retrieval.pipeline import stage
from ragcore.types import Candidate, Passage, ScoreScale, State

FULL_LENGTH = 100  # words
LONGEST = 1.2  # what more words can add
BEST_RATING = 5.0
WORD_CHARACTERS = 12  # more than words have on average: the beginning of a text is enough to count 120 of them
LEAST = 1e-6  # of a similarity, so that every score stays above 0


@stage("weigh.quality", label=_("quality"), optional=True, ranking="quality")
@dataclass(frozen=True, slots=True, kw_only=True)
class WeighQuality:
    """Order by similarity * min(words / 100, 1.2) * weight of the document * rating / 5 where it is rated.

    The similarity is the last score on a scale of (0, 1]: 1 / (1 + exp(-x)) for a reranker whose scores mean
    something by themselves (logits), 1 / (1 + (best - x) / cliff) for one where only differences do, which is one half
    a cliff below the best, and without a reranker the fused score, or the share of the best where scores exceed 1
    (BM25). The detail of a candidate has the factors.
    Scores are at most 2.4 (a weight of 2), and 0 only for a text without words.
    """

    def __call__(self, state: State, ports: Ports) -> State:
        loaded = [c for c in state.candidates if c.passage is not None]
        if not loaded:
            return state
        similarities = similarities_of([_last(c) for c in loaded], state.scale)
        weighed: list[Candidate] = []
        scores: dict[int, float] = {}
        for candidate, similarity in zip(loaded, similarities, strict=True):
            factors = {"similarity": similarity, **_factors(candidate.passage, ports.tokenizer)}
            weighed.append(replace(candidate, detail={**candidate.detail, "weigh.quality": factors}))
            scores[candidate.chunk] = prod(factors.values())
        return replace(state, candidates=tuple(weighed)).ranked("weigh.quality", scores, keep=len(weighed))


def similarities_of(scores: Sequence[float], scale: ScoreScale | None) -> list[float]:
    """Scores of one ranking on a scale of (0, 1], none overtaken. `scale`: of the reranker, if one gave them."""
    best = max(scores)
    if scale is None:
        mapped = [score / best for score in scores] if best > 1 else list(scores)
    elif scale.low is None:
        mapped = [1 / (1 + (best - score) / scale.cliff) for score in scores]
    else:
        mapped = [1 / (1 + exp(-max(score, -50.0))) for score in scores]
    return [min(max(value, LEAST), 1.0) for value in mapped]


def _last(candidate: Candidate) -> float:
    return list(candidate.scores.values())[-1] if candidate.scores else 0.0


def _factors(passage: Passage | None, tokenizer: Tokenizer) -> dict[str, float]:
    if passage is None:
        raise ValueError("only a passage that was loaded can be weighed")
    most = int(FULL_LENGTH * LONGEST)
    words = len(tokenizer.words(passage.text[: most * WORD_CHARACTERS]))
    rating = {} if passage.rating is None else {"rating": passage.rating / BEST_RATING}
    return {"length": min(words / FULL_LENGTH, LONGEST), "weight": passage.weight, **rating}
