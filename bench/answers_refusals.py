"""How many questions without an answer are refused, at given shares of wrongly refused ones (D21, D23)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from bench.answers_sets import AnswerSet, Asked, Ranking, half_of
from ragcore.answerability.model import Script, design, script_of
from ragcore.answerability.signs import FALLING, RISING, SIGNS, signs
from ragcore.ports import Embedder, FloatArray

RATES = (0.01, 0.02, 0.05, 0.1)
L2 = 3e-4
ROBBED = 0.3  # weight of robbed questions beside written ones
BORROWED = 0.2  # of questions in another script
# Questions for the meaning of a term are rare in the sets that may be learnt from. That nothing defines the term weighs
# as much as that a name is nowhere.
DEFINITION_AT_MOST = -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The signs of many questions of one kind: float32[n, f]."""

    group: str
    matrix: FloatArray
    weight: float = 1.0  # of the group in training


def judged(
    group: str, asked: Iterable[tuple[Asked, bool]], ranking: Ranking, *, embedder: Embedder | None = None
) -> Judged:
    """Signs of questions over a ranking; the flag takes the documents with the answer away."""
    rows = []
    for question, is_robbed in asked:
        sources = ranking.sources(question.text, without=question.wanted if is_robbed else frozenset())
        idf = ranking.query(question.text).weights
        found = signs(question.text, sources, tokenizer=ranking.tokenizer, embedder=embedder, idf=idf)
        if found is not None:
            rows.append([found[name] for name in SIGNS])
    return Judged(group=group, matrix=np.array(rows, np.float32).reshape(len(rows), len(SIGNS)))


def parts(data: AnswerSet, *, half: int | None, limit: int) -> tuple[list[Asked], list[Asked]]:
    """Answerable and unanswerable questions of one half of the titles, or of all."""
    answerable = [q for q in data.sample(len(data.answerable)) if half is None or half_of(q.about) == half]
    unanswerable = [q for q in data.unanswerable if half is None or half_of(q.about) == half]
    return answerable[:limit], unanswerable[:limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The questions of one set: answered ones, the same without their documents, and unanswerable ones as written."""

    script: Script
    answered: Judged
    robbed: Judged
    written: Judged


def groups_of(data: AnswerSet, *, half: int, limit: int) -> Groups:
    """Of one half of the titles. There are half as many robbed questions: they are easy."""
    can, cannot = parts(data, half=half, limit=limit)
    return Groups(
        script=script_of(data.answerable[0].text),
        answered=judged(data.name, ((q, False) for q in can), data.ranking),
        robbed=judged(data.name, ((q, True) for q in can[: max(1, limit // 2)]), data.ranking),
        written=judged(data.name, ((q, False) for q in cannot), data.ranking),
    )


def scripts_fit(groups: Sequence[Groups]) -> dict[Script, FloatArray]:
    """Weights for each script. Written questions count most; a script without any borrows a little from the others."""
    weights: dict[Script, FloatArray] = {}
    for script in dict.fromkeys(one.script for one in groups):
        mine, others = ([one for one in groups if (one.script == script) is same] for same in (True, False))
        has_written = any(len(one.written.matrix) for one in mine)
        borrowed = [] if has_written else [one for one in others if len(one.written.matrix)]
        answered = [one.answered for one in mine] + [replace(one.answered, weight=BORROWED) for one in borrowed]
        lost = [replace(one.robbed, weight=ROBBED if has_written else 1.0) for one in mine]
        lost += [one.written for one in mine] + [replace(one.written, weight=BORROWED) for one in borrowed]
        weights[script] = refusals_fit(answered, [one for one in lost if len(one.matrix)])
    return weights


def refusals_fit(answered: Sequence[Judged], unanswered: Sequence[Judged]) -> FloatArray:
    """Logistic regression: float64[f + 1]. Both sides weigh the same, and within a side each group by its weight.

    The direction of a sign is known beforehand, and a weight against it is chance: it becomes 0.
    """
    inputs, labels, weight = [], [], []
    for side, label in ((answered, 1.0), (unanswered, 0.0)):
        total = sum(one.weight for one in side if len(one.matrix))
        for one in side:
            inputs.append(design(one.matrix))
            labels.append(np.full(len(one.matrix), label))
            weight.append(np.full(len(one.matrix), 0.5 * one.weight / (total * max(len(one.matrix), 1))))
    rows, truth, share = np.vstack(inputs).astype(np.float64), np.concatenate(labels), np.concatenate(weight)

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        margin = rows @ weights
        value = float(share @ (np.logaddexp(0, margin) - truth * margin)) + L2 * float(weights[:-1] @ weights[:-1])
        gradient = rows.T @ (share * (1 / (1 + np.exp(-margin)) - truth)) + 2 * L2 * np.append(weights[:-1], 0.0)
        return value, gradient

    start = np.array([*(min(0.0, _bounds(name)[1] or 0.0) for name in SIGNS), 0.0])
    bounds = [*map(_bounds, SIGNS), (None, None)]
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def _bounds(sign: str) -> tuple[float | None, float | None]:
    if sign == "lacks_definition":
        return None, DEFINITION_AT_MOST
    return (0.0, None) if sign in RISING else (None, 0.0) if sign in FALLING else (None, None)


def scores(one: Judged, weights: FloatArray) -> FloatArray:
    """float64[n]: the probability that each question is answered."""
    return np.asarray(1 / (1 + np.exp(-(design(one.matrix) @ weights))))


def threshold_curve(answered: FloatArray) -> list[float]:
    """The score below which each of RATES of the answerable questions lies."""
    return [float(np.quantile(answered, rate)) for rate in RATES]


def refused(answered: FloatArray, unanswered: FloatArray) -> Mapping[float, float]:
    """Share of the unanswerable questions below the threshold of each rate."""
    return {r: float(np.mean(unanswered < t)) for r, t in zip(RATES, threshold_curve(answered), strict=True)}
