"""Weights of one embedding model for what sentences mean; see `ragcore.extractive.sentence_meaning`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from ragcore.extractive.own_language import are_foreign
from ragcore.extractive.pair_scores import pair_scores
from ragcore.extractive.sentence_cosines import sentence_cosines
from ragcore.extractive.sentence_meaning import (
    compared_scores,
    filled,
    gives_kind,
    read_beside,
    sentences_covered,
)
from ragcore.extractive.sentence_model import SentenceScorer, compute_sentence_features
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.ports import Embedder, FloatArray
from ragcore.text.scripts import language_of
from ragcore.training.answer_sets import AnswerSet, SetQuestion, half_of
from ragcore.training.sentence_training import right_sentences

NAMES = ("own", "own_zh", "across_constant", "across", "across_words", "across_covered", "across_kind")
START = (5.0, 5.0, 0.0, 10.0, 0.0, 1.0, 1.0)
BOUNDS = ((0.0, None), (0.0, None), (None, None), (0.0, None), (-1.0, 0.0), (0.0, None), (0.0, None))


@dataclass(frozen=True, slots=True)
class MeaningList:
    """The sentences of one question."""

    group: str
    words: FloatArray  # float[n]: log-odds by words
    rows: FloatArray  # float[n, NAMES]: what each weight is multiplied by
    right: npt.NDArray[np.bool_]  # bool[n]


def meaning_lists(data: AnswerSet, *, embedder: Embedder, half: int, limit: int) -> Iterator[MeaningList]:
    """One for each question of a half that has a right sentence and a wrong one."""
    tokenizer = data.ranking.tokenizer
    for question, found, right, words in _learnable(data, half=half, limit=limit):
        cosines, foreign = filled(sentence_cosines(question.text, found, embedder)), are_foreign(question.text, found)
        own = np.where(foreign, 0.0, cosines)
        is_zh = language_of(question.text) == "zh"
        said = sentences_covered(question.text, found, foreign, tokenizer)
        kind = foreign * gives_kind(question.text, found)
        across = [foreign, foreign * cosines, foreign * words, said, kind]
        rows = np.stack([own * (not is_zh), own * is_zh, *across], axis=1)
        yield MeaningList(data.name, words, rows, right)


def _learnable(
    data: AnswerSet, *, half: int, limit: int
) -> Iterator[tuple[SetQuestion, list[Statement], npt.NDArray[np.bool_], FloatArray]]:
    """Questions of a half with the sentences of their sources, which of these are right, and log-odds by words.

    Only those that have a right sentence and a wrong one.
    """
    tokenizer = data.ranking.tokenizer
    asked = [question for question in data.sample(len(data.answerable)) if half_of(question.about) == half]
    for question in asked[:limit]:
        found = read_statements(data.ranking.with_sentences(data.ranking.sources(question.text)), tokenizer)
        right = right_sentences(question, found)
        if right.any() and not right.all():
            features = compute_sentence_features(question.text, found, tokenizer)
            yield question, found, right, SentenceScorer.shipped().scores(features)


def sentence_meaning_fit(lists: Sequence[MeaningList]) -> dict[str, float]:
    """The weights, by name, that make a right sentence likely."""

    def loss(weights: FloatArray) -> float:
        return float(np.mean([_surprise(one, weights) for one in lists]))

    found = minimize(loss, np.array(START), method="L-BFGS-B", bounds=BOUNDS).x
    return dict(zip(NAMES, map(float, found), strict=True))


@dataclass(frozen=True, slots=True)
class ReadList:
    """The sentences of one question, some of them read together with it."""

    group: str
    compared: FloatArray  # float[n]: log-odds by words and vectors
    read: FloatArray  # float[n], nan for those that were not read
    right: npt.NDArray[np.bool_]  # bool[n]


def read_lists(
    data: AnswerSet, *, embedder: Embedder, record: Mapping[str, float], half: int, limit: int
) -> Iterator[ReadList]:
    """One for each question of a half that has a right sentence and a wrong one. `record`: the shipped weights."""
    tokenizer = data.ranking.tokenizer
    for question, found, right, words in _learnable(data, half=half, limit=limit):
        compared = compared_scores(question.text, found, words, record, embedder, tokenizer)
        read = pair_scores(question.text, found, compared, embedder)
        if read is not None:
            yield ReadList(data.name, compared, read, right)


def reading_fit(lists: Sequence[ReadList]) -> dict[str, float]:
    """The weights "compared" and "read" that make a right sentence likely; every set weighs the same."""
    sizes = Counter(one.group for one in lists)

    def loss(weights: FloatArray) -> float:
        record = {"compared": float(weights[0]), "read": float(weights[1])}
        return sum(
            _surprise_of(read_beside(one.compared, one.read, record), one.right) / sizes[one.group] for one in lists
        )

    found = minimize(loss, np.array([0.7, 0.7]), method="Nelder-Mead", bounds=((0.0, 2.0), (0.0, 3.0))).x
    return {"compared": float(found[0]), "read": float(found[1])}


def first_read(lists: Sequence[ReadList], weights: Mapping[str, float]) -> dict[str, float]:
    """Of each set the share of the questions whose best sentence is a right one."""
    hits: dict[str, list[bool]] = {}
    for one in lists:
        hits.setdefault(one.group, []).append(bool(one.right[read_beside(one.compared, one.read, weights).argmax()]))
    return {group: round(float(np.mean(found)), 4) for group, found in hits.items()}


def first_right(lists: Sequence[MeaningList], weights: Mapping[str, float]) -> dict[str, float]:
    """Of each set the share of the questions whose best sentence is a right one."""
    values = np.array([weights[name] for name in NAMES])
    groups = dict.fromkeys(one.group for one in lists)
    return {
        group: round(
            float(np.mean([one.right[_scores(one, values).argmax()] for one in lists if one.group == group])), 4
        )
        for group in groups
    }


def _surprise(one: MeaningList, weights: FloatArray) -> float:
    return _surprise_of(_scores(one, weights), one.right)


def _surprise_of(scores: FloatArray, right: npt.NDArray[np.bool_]) -> float:
    powers = np.exp(scores - scores.max())
    return -float(np.log(powers[right].sum() / powers.sum() + 1e-12))


def _scores(one: MeaningList, weights: FloatArray) -> FloatArray:
    return np.asarray(one.words + one.rows @ weights)
