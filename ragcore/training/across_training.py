"""Weights of one embedding model for sentences in the other language (A4); see `ragcore.extractive.across`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from ragcore.extractive.across import cosines_across, places_across
from ragcore.extractive.sentence_model import SentenceScorer, compute_sentence_features
from ragcore.extractive.sentences import read_statements
from ragcore.ports import Embedder, FloatArray
from ragcore.training.answer_sets import AnswerSet, half_of
from ragcore.training.sentence_training import right_sentences

START = (0.0, 10.0)


@dataclass(frozen=True, slots=True)
class AcrossList:
    """The sentences of one question."""

    words: FloatArray  # float[n]: log-odds by words
    cosines: FloatArray  # float[n]; nan where the sentence is not in the other language, or its source is a late one
    right: npt.NDArray[np.bool_]  # bool[n]


def across_lists(data: AnswerSet, *, embedder: Embedder, half: int, limit: int) -> Iterator[AcrossList]:
    """One for each question of a half that has a right sentence and a wrong one."""
    asked = [question for question in data.sample(len(data.answerable)) if half_of(question.about) == half]
    tokenizer = data.ranking.tokenizer
    for question in asked[:limit]:
        found = read_statements(data.ranking.sources(question.text), tokenizer)
        right = right_sentences(question, found)
        places = places_across(question.text, found)
        if not places or not right.any() or right.all():
            continue
        cosines = np.full(len(found), np.nan)
        cosines[places] = cosines_across(question.text, [found[at] for at in places], embedder)
        scores = SentenceScorer.shipped().scores(compute_sentence_features(question.text, found, tokenizer))
        yield AcrossList(scores, cosines, right)


def across_sentences_fit(lists: Sequence[AcrossList]) -> tuple[float, float]:
    """Constant and weight of the cosine that make a right sentence likely."""

    def loss(weights: FloatArray) -> float:
        return float(np.mean([_surprise(one, weights) for one in lists]))

    constant, cosine = minimize(loss, np.array(START), method="Nelder-Mead").x
    return float(constant), float(cosine)


def first_right(lists: Sequence[AcrossList], weights: tuple[float, float]) -> float:
    """Share of the questions whose best sentence is a right one."""
    return float(np.mean([one.right[_scores(one, np.array(weights)).argmax()] for one in lists]))


def _surprise(one: AcrossList, weights: FloatArray) -> float:
    powers = np.exp(_scores(one, weights) - _scores(one, weights).max())
    return -float(np.log(powers[one.right].sum() / powers.sum() + 1e-12))


def _scores(one: AcrossList, weights: FloatArray) -> FloatArray:
    return one.words + np.where(np.isnan(one.cosines), 0.0, weights[0] + weights[1] * np.nan_to_num(one.cosines))
