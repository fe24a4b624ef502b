"""Stage 3, a closer look at few candidates: a reranker, then length, rating and weight of documents."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, log, prod
from typing import Any

from ragcore.errors import RagError, RerankerRefusedError
from ragcore.labels import gettext_noop as _
from ragcore.ports import AbsoluteScores, Ports, Reranker, RerankInput, RerankScore, Tokenizer
from ragcore.retrieval.pipeline import stage
from ragcore.text.codes import codes_in, folded_code, without_codes
from ragcore.text.source_code import asked_identifiers, defined_names
from ragcore.types import Candidate, Passage, Query, ScoreScale, State

logger = logging.getLogger(__name__)
MOST_ROWS = 3  # passages with a row of one code; what heads more of them is hardly the thing that is asked about
_FIRST_CELL = re.compile(r"^\|[ ]?([A-Za-z0-9._/-]{2,40})[ ]?\|", re.MULTILINE)

FULL_LENGTH = 100  # words
LONGEST = 1.2  # what more words can add
BEST_RATING = 5.0
WORD_CHARACTERS = 12  # more than words have on average: the beginning of a text is enough to count 120 of them
LEAST = 1e-6  # of a similarity, so that every score stays above 0


@stage("rerank", label=_("reranking"), optional=True, timing="rerank", ranking="rerank")
@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank:
    """Order by the score of the reranker (its own scale, higher is better). Drops nothing.

    Passages of documents whose title names a version that is asked for count one cliff more: beside them stand the
    notes of other versions, which share every other word. So do the few passages with a row of a table that begins
    with another code of the question, such as "ALM-2007".
    Skipped where no reranker is configured. Where it fails, the second one orders and the record names both;
    without a second one the order stays and the record has the error.
    """

    def __call__(self, state: State, ports: Ports) -> State:
        loaded = [c for c in state.candidates if c.passage is not None]
        if ports.reranker is None or not loaded:
            return state
        inputs = [RerankInput(passage=_named(c.passage, state), arms=c.scores) for c in loaded if c.passage is not None]
        reranker, scores, note = _scored(ports.reranker, ports.second_reranker, state.query, inputs)
        detailed = tuple(c.explained("rerank", dict(s.detail)) for c, s in zip(loaded, scores, strict=True))
        lifted = _lifted(state.query.text, {c.chunk: c.passage for c in loaded if c.passage is not None})
        by_chunk = {
            c.chunk: s.score + reranker.cliff * (c.chunk in lifted) for c, s in zip(loaded, scores, strict=True)
        }
        state = replace(state, candidates=detailed, scale=scale_of(reranker))
        return state.ranked("rerank", by_chunk, keep=len(detailed), note={"reranker": reranker.name, **note})


def _lifted(question: str, passages: Mapping[int, Passage]) -> set[int]:
    """Chunks of documents of a version that is asked for, the few with a row of another code of it, and definitions."""
    codes = codes_in(question)
    versions = [code for code in codes if "." in code]
    identifiers = asked_identifiers(question)
    lifted = {chunk for chunk, passage in passages.items() if identifiers & defined_names(passage.text)}
    lifted |= {chunk for chunk, passage in passages.items() if versions and _names_version(passage.title, versions)}
    for code in codes:
        if "." in code:
            continue
        rows = {chunk for chunk, passage in passages.items() if _has_row_of(code, passage.text)}
        if len(rows) <= MOST_ROWS:
            lifted |= rows
    return lifted


def _has_row_of(code: str, text: str) -> bool:
    """Whether the first cell of a row is this code."""
    return any(folded_code(match[1]) == code for match in _FIRST_CELL.finditer(text))


def _names_version(title: str, versions: Sequence[str]) -> bool:
    """Whether a title holds one of these versions."""
    return len(without_codes(versions, title)) < len(versions)


def _named(passage: Passage, state: State) -> Passage:
    """The passage as the reranker reads it: a name that the question gives stands behind the title."""
    name = state.names.get(passage.document, "")
    return passage if not name else replace(passage, title=f"{passage.title} {name}")


def scale_of(reranker: Reranker) -> ScoreScale:
    """What its scores mean."""
    return ScoreScale(cliff=reranker.cliff, low=reranker.low if isinstance(reranker, AbsoluteScores) else None)


def _scored(
    first: Reranker, second: Reranker | None, query: Query, inputs: Sequence[RerankInput]
) -> tuple[Reranker, list[RerankScore], Mapping[str, Any]]:
    """Who scored, the scores, and what to note about it."""
    try:
        return first, _finite(first, query, inputs), {}
    except Exception as problem:
        if second is None:
            raise
        logger.warning("%s orders instead of %s: %s", second.name, first.name, problem)
        error = problem.code if isinstance(problem, RagError) else type(problem).__name__
        return second, _finite(second, query, inputs), {"instead_of": first.name, "error": error}


def _finite(reranker: Reranker, query: Query, inputs: Sequence[RerankInput]) -> list[RerankScore]:
    scores = reranker.score(query, inputs)
    if len(scores) != len(inputs) or not all(isfinite(s.score) for s in scores):
        raise RerankerRefusedError("scores_missing", name=reranker.name)
    return scores


@stage("weigh.quality", label=_("quality"), optional=True, ranking="quality")
@dataclass(frozen=True, slots=True, kw_only=True)
class WeighQuality:
    """Order by similarity * min(words / 100, 1.2) * weight of the document * rating / 5 where it is rated.

    `only_weight`: by similarity * weight alone, and only where a weight is another one than 1: otherwise nothing is
    ordered or scored. The scores stay on the scale that they came on, and those of weight 1 as they are, see
    `weighed_on_scale`.

    The similarity is the last score on a scale of (0, 1]: 1 / (1 + exp(-x)) for a reranker whose scores mean
    something by themselves (logits), 1 / (1 + (best - x) / cliff) for one where only differences do, which is one half
    a cliff below the best, and without a reranker the fused score, or the share of the best where scores exceed 1
    (BM25). The detail of a candidate has the factors.
    Scores are at most 2.4 (a weight of 2), and 0 only for a text without words.
    """

    only_weight: bool = False

    def __call__(self, state: State, ports: Ports) -> State:
        loaded = [c for c in state.candidates if c.passage is not None]
        is_even = all(c.passage is None or c.passage.weight == 1 for c in loaded)
        if not loaded or (self.only_weight and is_even):
            return state
        similarities = similarities_of([c.last_score for c in loaded], state.scale)
        weighed: list[Candidate] = []
        products: list[float] = []
        for candidate, similarity in zip(loaded, similarities, strict=True):
            factors = {"similarity": similarity, **self._factors(candidate.passage, ports.tokenizer)}
            weighed.append(candidate.explained("weigh.quality", factors))
            products.append(prod(factors.values()))
        if self.only_weight:
            products = weighed_on_scale(products, [c.last_score for c in loaded], similarities, state.scale)
        scores = {candidate.chunk: product for candidate, product in zip(loaded, products, strict=True)}
        return replace(state, candidates=tuple(weighed)).ranked("weigh.quality", scores, keep=len(weighed))

    def _factors(self, passage: Passage | None, tokenizer: Tokenizer) -> dict[str, float]:
        if passage is None:
            raise ValueError("only a passage that was loaded can be weighed")
        if self.only_weight:
            return {"weight": passage.weight}
        most = int(FULL_LENGTH * LONGEST)
        words = len(tokenizer.words(passage.text[: most * WORD_CHARACTERS]))
        rating = {} if passage.rating is None else {"rating": passage.rating / BEST_RATING}
        return {"length": min(words / FULL_LENGTH, LONGEST), "weight": passage.weight, **rating}


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


def weighed_on_scale(
    products: Sequence[float], scores: Sequence[float], similarities: Sequence[float], scale: ScoreScale | None
) -> list[float]:
    """The products of similarity and weight in the same order on the scale of the scores that they were made of.

    What has the weight 1 keeps its score. Only fused scores, which end at 1, are all divided by the best one where a
    product exceeds that. A logit has no value for a product of 1 and more: it goes on above the best score by what the
    product exceeds 1.
    """
    best = max(scores)
    if scale is None and max(products) > 1 and best <= 1:
        return [product / max(products) for product in products]
    if scale is None:
        back = [product * max(best, 1.0) for product in products]
    elif scale.low is None:
        back = [best - scale.cliff * (1 / product - 1) for product in products]
    else:
        most = max(best, _logit(1 - LEAST))
        back = [most + product - 1 if product >= 1 else min(_logit(product), most) for product in products]
    return [
        score if product == similarity > LEAST else value
        for score, product, similarity, value in zip(scores, products, similarities, back, strict=True)
    ]


def is_on_scale(candidate: Candidate) -> bool:
    """Whether the last score of a candidate is on the scale of the reranker, if one gave scores."""
    stage_name = candidate.last_stage
    return stage_name == "rerank" or (
        stage_name == "weigh.quality" and set(candidate.detail.get(stage_name, ())) == {"similarity", "weight"}
    )


def _logit(share: float) -> float:
    return log(share / (1 - share))
