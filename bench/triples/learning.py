"""Learning the weights of the second stage: softmax over the candidates of a question (listwise, as the reranker)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from ragcore.graph.features import FEATURES

FOLDS = 5
PENALTY = 0.002  # of squared distance from the prior
# measures that say nothing on masked questions ("what" for every kind of answer, no types) keep these weights
PRIOR = {"answer_kind": 0.6, "type_words": 0.6}
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Candidates of one question: their measures, and which are relevant."""

    measures: Matrix  # float64[candidates, FEATURES]
    relevant: npt.NDArray[np.bool_]
    group: str


def fold_of(group: str) -> int:
    """All questions with one subject are in one fold."""
    return zlib.crc32(group.encode()) % FOLDS


def learn(examples: Sequence[Example]) -> dict[str, float]:
    """A weight for each measure."""
    prior = np.array([PRIOR.get(name, 0.0) for name in FEATURES])
    usable = [(e.measures, e.relevant / e.relevant.sum()) for e in examples if e.relevant.any()]

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        total = PENALTY * float((weights - prior) @ (weights - prior))
        gradient = 2 * PENALTY * (weights - prior)
        for measures, wanted in usable:
            scores = measures @ weights
            share = np.exp(scores - scores.max())
            share /= share.sum()
            total -= float((wanted * np.log(share + 1e-12)).sum()) / len(usable)
            gradient = gradient + measures.T @ (share - wanted) / len(usable)
        return total, gradient

    weights = minimize(loss, prior, jac=True, method="L-BFGS-B").x
    return {name: round(float(value), 4) for name, value in zip(FEATURES, weights, strict=True)}


def cross_fitted(examples: Sequence[Example]) -> list[Matrix]:
    """Scores of each example's candidates by weights that were learned without its fold."""
    weights = {}
    for fold in range(FOLDS):
        named = learn([e for e in examples if fold_of(e.group) != fold])
        weights[fold] = np.array([named[name] for name in FEATURES])
    return [e.measures @ weights[fold_of(e.group)] for e in examples]
