"""The weights of the confidence of quoted answers, fitted on several sets together, each with the same weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.calibration import Reliability
from ragcore.answerability.confidence import confidence_by, cut

EVIDENCE = ("read", "lead")
BOUNDS = ((-4.0, 2.0), (-2.0, 3.0))  # log-odds; beyond, more of it was no more often right
RIDGE = 1.0  # of the weights, so that a few answers do not decide
ROUNDS = 60  # of Newton's method, which needs about ten
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer with the evidence for it."""

    name: str  # of its set
    evidence: Mapping[str, float]
    is_right: bool


def fitted(answers: Sequence[Answered]) -> dict[str, Any]:
    """The content of confidence.MODEL.json. Raises ValueError where all answers are right, or none."""
    truth = np.array([answer.is_right for answer in answers], np.float64)
    if not 0 < truth.sum() < len(truth):
        raise ValueError("right and wrong answers are needed")
    record: dict[str, Any] = {"evidence": list(EVIDENCE), "bounds": [list(pair) for pair in BOUNDS]}
    rows = np.array([[*cut(record, answer.evidence), 1.0] for answer in answers], np.float64)
    sizes = {name: sum(answer.name == name for answer in answers) for name in {answer.name for answer in answers}}
    shares = np.array([len(answers) / len(sizes) / sizes[answer.name] for answer in answers], np.float64)
    weights = _logistic(rows, truth, shares)
    return record | {
        "weights": [round(float(weight), 4) for weight in weights[:-1]],
        "offset": round(float(weights[-1]), 4),
        "answers": sizes,
    }


def _logistic(rows: Numbers, truth: Numbers, shares: Numbers) -> Numbers:
    """float64[f]: weighted logistic regression; the last column is the constant, which alone may be of any size."""
    weights = np.zeros(rows.shape[1])
    ridge = np.diag([*[RIDGE] * (rows.shape[1] - 1), RIDGE / 100])
    for _ in range(ROUNDS):
        chances = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (shares * (chances - truth)) + ridge @ weights
        curve = (rows.T * (shares * chances * (1 - chances))) @ rows + ridge
        weights = weights - np.linalg.solve(curve, slope)
    return weights


def errors(answers: Sequence[Answered]) -> Iterator[tuple[str, int, float, float]]:
    """Each set with its answers and its calibration error, by weights of all sets and by those of the others alone."""
    for name in dict.fromkeys(answer.name for answer in answers):
        own = [answer for answer in answers if answer.name == name]
        others = [answer for answer in answers if answer.name != name]
        alone = fitted(others) if others else fitted(answers)
        yield name, len(own), _error(fitted(answers), own), _error(alone, own)


def _error(record: Mapping[str, Any], answers: Sequence[Answered]) -> float:
    reliability = Reliability()
    for answer in answers:
        reliability.add(confidence_by(record, answer.evidence), is_right=answer.is_right)
    return reliability.error()
