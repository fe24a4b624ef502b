"""Weights of the answerability that read cosines, of one embedding model; on the scale of those of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import minimize

from ragcore.answerability.across import FEATURES, across_features
from ragcore.answerability.model import Script, design, script_of
from ragcore.extractive.own_language import sources_across
from ragcore.ports import Embedder, FloatArray
from ragcore.text.scripts import language_of
from ragcore.training.answer_sets import AnswerSet, SetQuestion
from ragcore.training.refusal_training import Groups, aligned, parts, scripts_fit
from ragcore.types import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
ACROSS_REFUSED = 0.08  # of answered questions across languages, at the line that refuses 5 % of others
L2 = 0.01  # on weights of signs scaled to a spread of 1
Bounds = tuple[float | None, float | None]
RISES, FALLS = (0.0, None), (None, 0.0)
FALLING = frozenset({"lacks_kind"})


def meaning_fit(groups: Sequence[Groups], words: Mapping[Script, FloatArray]) -> dict[Script, FloatArray]:
    """Weights with the cosine of question and best sentence, of the scripts of these groups."""
    by_script: dict[Script, FloatArray] = {}
    for script in dict.fromkeys(group.script for group in groups):
        of_script = [group for group in groups if group.script == script]
        fitted = scripts_fit(of_script, meaning=True)[script]
        rows = np.vstack([design(group.answered.matrix) for group in of_script])
        by_script[script] = aligned(fitted, rows @ fitted, rows @ words[script])
    return by_script


def across_fit(
    sets: Sequence[AnswerSet],
    groups: Sequence[Groups],
    words: Mapping[Script, FloatArray],
    *,
    embedder: Embedder,
    half: int | None,
    limit: int,
) -> tuple[dict[Language, FloatArray], int]:
    """Weights for sources in the other language, of each language of questions, and the number of questions.

    Fitted to questions with and without the documents that answer them. `groups`: questions over sources in their own
    language, whose log-odds by words are the scale; it is another one for each language, as the lines are.
    """
    rows_by_language = {
        language: [across_rows(data, embedder=embedder, half=half, limit=limit, language=language) for data in sets]
        for language in LANGUAGES
    }
    answered, lost = (np.vstack([part[at] for rows in rows_by_language.values() for part in rows]) for at in (0, 1))
    fitted = _logistic(answered, lost)
    weights: dict[Language, FloatArray] = {}
    for language, rows in rows_by_language.items():
        answered_rows = np.vstack([part[0] for part in rows])
        alike = [group for group in groups if (group.script != "en") == (language == "zh")]
        like = np.concatenate([design(group.answered.matrix) @ words[group.script] for group in alike])
        weights[language] = np.asarray(
            aligned(fitted, design(answered_rows) @ fitted, like, low=ACROSS_REFUSED), np.float32
        )
    return weights, len(answered) + len(lost)


def across_rows(
    data: AnswerSet, *, embedder: Embedder, half: int | None, limit: int, language: Language
) -> tuple[FloatArray, FloatArray]:
    """float32[n, signs] of sources in the other language that answer a question of a set, and of such that do not.

    Only of questions in this language.

    Those that do not: what is left without the documents that answer it, without all about the same, and beside a
    document in the language of the question that answers it.
    """
    questions, _ = parts(data, half=half, limit=limit)
    answered: list[list[float]] = []
    lost: list[list[float]] = []
    for question in (question for question in questions if language_of(question.text) == language):
        about = frozenset().union(*(other.relevant for other in data.answerable if other.about == question.about))
        for without in (frozenset[str](), question.relevant, about):
            row, is_answered = _row(data, question, embedder, without=without)
            if row is not None:
                (answered if is_answered else lost).append(row)
    return _table(answered), _table(lost)


def _table(rows: Sequence[Sequence[float]]) -> FloatArray:
    return np.array(rows, np.float32).reshape(-1, len(FEATURES))


def _row(
    data: AnswerSet, question: SetQuestion, embedder: Embedder, *, without: frozenset[str]
) -> tuple[list[float] | None, bool]:
    """The signs of the sources in the other language, and whether one of them answers."""
    ranking = data.ranking
    foreign = sources_across(question.text, ranking.with_sentences(ranking.sources(question.text, without=without)))
    features = across_features(question.text, foreign, tokenizer=ranking.tokenizer, embedder=embedder)
    is_answered = any(source.passage.external_id in question.relevant for source in foreign)
    return None if features is None else [features[name] for name in FEATURES], is_answered


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
    solution = np.asarray(minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x)
    plain = solution[:-1] / spread
    return np.append(plain, solution[-1] - plain @ middle)


def script_of_set(data: AnswerSet) -> Script:
    """In which its questions are written."""
    return script_of(data.answerable[0].text)
