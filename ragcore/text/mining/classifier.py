"""Which phrases are terms: learnt from surely good ones and noisy others, averaged over many small models.

As AutoPhrase (Shang et al. 2018): positives are names that the documents define themselves, negatives a random sample
of the other phrases, of which few are terms, and where that is wanted phrases of general words. Each model sees another
sample; the mean of all is the score. What a reviewer has approved or rejected counts more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ragcore.text.mining.phrases import Phrase

MODELS = 25
SAMPLE = 100  # positives and negatives of each model
STEPS = 150
REVIEWED = 4.0  # weight of what a person has decided
LEAST_POSITIVES = 8  # with fewer, the figures are weighed as they usually turn out
# Weights of the figures (FEATURES) and the bias where there is nothing to learn from; set by hand.
USUAL = (2.2, 0.9, 1.1, 0.6, 1.4, 1.2, 0.3, 0.2, 1.4, 0.2, 2.5, 3.5, -1.5, 1.0)
USUAL_BIAS = -7.0
SEED = 11

Matrix = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def phrase_scores(
    phrases: Sequence[Phrase],
    *,
    positives: Collection[str],
    reviewed: Mapping[str, bool] | None = None,
    general: Callable[[str], bool] | None = None,
) -> list[float]:
    """How likely each phrase is a term, 0 to 1. `positives`: keys of names that the documents define; `reviewed`:
    what people have decided, by key; `general`: whether a phrase, by its key, is surely of no domain, so that it is a
    negative to learn from."""
    if not phrases:
        return []
    figures = np.array([phrase.figures() for phrase in phrases])
    good = np.array([_key(phrase) in positives for phrase in phrases])
    decided = np.array([(reviewed or {}).get(_key(phrase), -1) for phrase in phrases], dtype=float)
    good = (good & (decided != 0)) | (decided == 1)
    usual = _sigmoid(figures @ np.array(USUAL) + USUAL_BIAS)
    if good.sum() < LEAST_POSITIVES or good.all():
        return [float(score) for score in np.where(decided >= 0, np.where(decided == 1, 0.99, 0.01), usual)]
    surely_not = ~good & np.array([general is not None and general(_key(phrase)) for phrase in phrases])
    random = np.random.default_rng(SEED)
    total = np.zeros(len(phrases))
    for _ in range(MODELS):
        total += _one_model(figures, good, surely_not, decided, random)
    # the mean of what these documents taught and of what is usual
    mixed = 0.7 * total / MODELS + 0.3 * usual
    return [float(score) for score in np.where(decided >= 0, np.where(decided == 1, 0.99, 0.01), mixed)]


def _key(phrase: Phrase) -> str:
    return phrase.key


def _one_model(figures: Matrix, good: Flags, surely_not: Flags, decided: Matrix, random: np.random.Generator) -> Matrix:
    """Logistic regression on one sample, by gradient descent with momentum."""
    positives = np.flatnonzero(good)
    rows = np.concatenate(
        [
            random.choice(positives, size=min(SAMPLE, len(positives)), replace=False),  # nosec B311 - training
            _negatives(good, surely_not, random),
            np.flatnonzero(decided >= 0),
        ]
    )
    inputs = np.hstack([figures[rows], np.ones((len(rows), 1))])
    labels = good[rows].astype(float)
    weights = np.where(decided[rows] >= 0, REVIEWED, 1.0)
    weights /= weights.sum()
    theta = np.zeros(inputs.shape[1])
    speed = np.zeros_like(theta)
    for _ in range(STEPS):
        error = (_sigmoid(inputs @ theta) - labels) * weights
        speed = 0.9 * speed - 1.5 * (inputs.T @ error + 0.005 * theta)
        theta = theta + speed
    return _sigmoid(np.hstack([figures, np.ones((len(figures), 1))]) @ theta)


def _negatives(good: Flags, surely_not: Flags, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Rows of one model: up to half of them surely no terms, the others a random sample of what is not known."""
    sure, rest = np.flatnonzero(surely_not), np.flatnonzero(~good & ~surely_not)
    sample = sure[:0]
    if sure.size:
        sample = random.choice(sure, size=min(SAMPLE // 2, len(sure)), replace=False)  # nosec B311 - training
    size = min(SAMPLE - len(sample), len(rest))
    return np.concatenate([sample, random.choice(rest, size=size, replace=False)])  # nosec B311 - training


def _sigmoid(values: Matrix) -> Matrix:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))))


def is_readable_term(text: str) -> bool:
    """Whether a phrase may be shown as a term at all: letters, no lone punctuation, not only digits."""
    return bool(re.search(r"[^\W\d_]{2}", text)) and len(text) <= 80
