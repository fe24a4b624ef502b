"""Weights of the answerability that read cosines, of one embedding model; on the scale of those of words (D21, D23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import minimize

from ragcore.answerability.across import FEATURES, across_features, sources_across
from ragcore.answerability.model import Script, design, script_of
from ragcore.ports import Embedder, FloatArray
from ragcore.training.answer_sets import AnswerSet, SetQuestion
from ragcore.training.refusal_training import Groups, aligned, parts, scripts_fit

L2 = 0.01  # on weights of signs scaled to a spread of 1
Bounds = tuple[float | None, float | None]
RISES, FALLS = (0.0, None), (None, 0.0)
FALLING = frozenset({"lacks_kind"})


def meaning_fit(groups: Sequence[Groups], words: Mapping[Script, FloatArray]) -> dict[Script, FloatArray]:
    """Weights with the cosine of question and best sentence, of the scripts of these groups."""
    made: dict[Script, FloatArray] = {}
    for script in dict.fromkeys(one.script for one in groups):
        mine = [one for one in groups if one.script == script]
        fitted = scripts_fit(mine, meaning=True)[script]
        rows = np.vstack([design(one.answered.matrix) for one in mine])
        made[script] = aligned(fitted, rows @ fitted, rows @ words[script])
    return made


def across_fit(
    sets: Sequence[AnswerSet],
    groups: Sequence[Groups],
    words: Mapping[Script, FloatArray],
    *,
    embedder: Embedder,
    half: int | None,
    limit: int,
) -> tuple[FloatArray, int]:
    """Weights for sources in the other language, and the number of questions.

    Fitted to questions with and without the documents that answer them. `groups`: questions over sources in their own
    language, whose log-odds by words are the scale.
    """
    answered, robbed = (
        np.vstack([across_rows(one, embedder=embedder, is_robbed=robbed, half=half, limit=limit) for one in sets])
        for robbed in (False, True)
    )
    fitted = _logistic(answered, robbed)
    like = np.concatenate([design(one.answered.matrix) @ words[one.script] for one in groups])
    return np.asarray(aligned(fitted, design(answered) @ fitted, like), np.float32), len(answered) + len(robbed)


def across_rows(data: AnswerSet, *, embedder: Embedder, is_robbed: bool, half: int | None, limit: int) -> FloatArray:
    """float32[n, signs] of a set's questions, of which half the documents may be asked about; see `across_fit`."""
    asked, _ = parts(data, half=half, limit=limit)
    rows = [_row(data, question, embedder, is_robbed=is_robbed) for question in asked]
    return np.array([row for row in rows if row is not None], np.float32).reshape(-1, len(FEATURES))


def _row(data: AnswerSet, question: SetQuestion, embedder: Embedder, *, is_robbed: bool) -> list[float] | None:
    ranking = data.ranking
    sources = ranking.sources(question.text, without=question.wanted if is_robbed else frozenset())
    foreign = sources_across(question.text, sources)
    found = across_features(question.text, foreign, tokenizer=ranking.tokenizer, embedder=embedder)
    return None if found is None else [found[name] for name in FEATURES]


def _logistic(answered: FloatArray, robbed: FloatArray) -> FloatArray:
    """float64[f + 1]: both sides weigh the same; the direction of a sign is known, a weight against it becomes 0."""
    matrix = np.vstack([answered, robbed])
    truth = np.r_[np.ones(len(answered)), np.zeros(len(robbed))]
    share = np.r_[np.full(len(answered), 0.5 / len(answered)), np.full(len(robbed), 0.5 / len(robbed))]
    middle, spread = matrix.mean(axis=0), np.maximum(matrix.std(axis=0), 1e-3)
    rows = design((matrix - middle) / spread)

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        margin = rows @ weights
        value = float(share @ (np.logaddexp(0, margin) - truth * margin)) + L2 * float(weights[:-1] @ weights[:-1])
        gradient = rows.T @ (share * (1 / (1 + np.exp(-margin)) - truth)) + 2 * L2 * np.append(weights[:-1], 0.0)
        return value, gradient

    bounds: list[Bounds] = [FALLS if name in FALLING else RISES for name in FEATURES]
    bounds.append((None, None))
    found = np.asarray(minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x)
    plain = found[:-1] / spread
    return np.append(plain, found[-1] - plain @ middle)


def script_of_set(data: AnswerSet) -> Script:
    """In which its questions are written."""
    return script_of(data.answerable[0].text)
