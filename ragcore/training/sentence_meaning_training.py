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
    for question, statements, right, words in _learnable(data, half=half, limit=limit):
        cosines, foreign = (
            filled(sentence_cosines(question.text, statements, embedder)),
            are_foreign(question.text, statements),
        )
        same_language = np.where(foreign, 0.0, cosines)
        is_zh = language_of(question.text) == "zh"
        covered = sentences_covered(question.text, statements, foreign, tokenizer)
        kind = foreign * gives_kind(question.text, statements)
        across = [foreign, foreign * cosines, foreign * words, covered, kind]
        rows = np.stack([same_language * (not is_zh), same_language * is_zh, *across], axis=1)
        yield MeaningList(data.name, words, rows, right)


def _learnable(
    data: AnswerSet, *, half: int, limit: int
) -> Iterator[tuple[SetQuestion, list[Statement], npt.NDArray[np.bool_], FloatArray]]:
    """Questions of a half with the sentences of their sources, which of these are right, and log-odds by words.

    Only those that have a right sentence and a wrong one.
    """
    tokenizer = data.ranking.tokenizer
    questions = [question for question in data.sample(len(data.answerable)) if half_of(question.about) == half]
    for question in questions[:limit]:
        statements = read_statements(data.ranking.with_sentences(data.ranking.sources(question.text)), tokenizer)
        right = right_sentences(question, statements)
        if right.any() and not right.all():
            features = compute_sentence_features(question.text, statements, tokenizer)
            yield question, statements, right, SentenceScorer.shipped().scores(features)


def sentence_meaning_fit(lists: Sequence[MeaningList]) -> dict[str, float]:
    """The weights, by name, that make a right sentence likely."""

    def loss(weights: FloatArray) -> float:
        return float(np.mean([_surprise(meaning_list, weights) for meaning_list in lists]))

    solution = minimize(loss, np.array(START), method="L-BFGS-B", bounds=BOUNDS).x
    return dict(zip(NAMES, map(float, solution), strict=True))


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
    for question, statements, right, words in _learnable(data, half=half, limit=limit):
        compared = compared_scores(question.text, statements, words, record, embedder, tokenizer)
        read = pair_scores(question.text, statements, compared, embedder)
        if read is not None:
            yield ReadList(data.name, compared, read, right)


def reading_fit(lists: Sequence[ReadList]) -> dict[str, float]:
    """The weights "compared" and "read" that make a right sentence likely; every set weighs the same."""
    sizes = Counter(read_list.group for read_list in lists)

    def loss(weights: FloatArray) -> float:
        record = {"compared": float(weights[0]), "read": float(weights[1])}
        return sum(
            _surprise_of(read_beside(read_list.compared, read_list.read, record), read_list.right)
            / sizes[read_list.group]
            for read_list in lists
        )

    solution = minimize(loss, np.array([0.7, 0.7]), method="Nelder-Mead", bounds=((0.0, 2.0), (0.0, 3.0))).x
    return {"compared": float(solution[0]), "read": float(solution[1])}


def first_read(lists: Sequence[ReadList], weights: Mapping[str, float]) -> dict[str, float]:
    """Of each set the share of the questions whose best sentence is a right one."""
    hits: dict[str, list[bool]] = {}
    for read_list in lists:
        hits.setdefault(read_list.group, []).append(
            bool(read_list.right[read_beside(read_list.compared, read_list.read, weights).argmax()])
        )
    return {group: round(float(np.mean(firsts)), 4) for group, firsts in hits.items()}


def first_right(lists: Sequence[MeaningList], weights: Mapping[str, float]) -> dict[str, float]:
    """Of each set the share of the questions whose best sentence is a right one."""
    values = np.array([weights[name] for name in NAMES])
    groups = dict.fromkeys(meaning_list.group for meaning_list in lists)
    return {
        group: round(
            float(
                np.mean(
                    [
                        meaning_list.right[_scores(meaning_list, values).argmax()]
                        for meaning_list in lists
                        if meaning_list.group == group
                    ]
                )
            ),
            4,
        )
        for group in groups
    }


def _surprise(meaning_list: MeaningList, weights: FloatArray) -> float:
    return _surprise_of(_scores(meaning_list, weights), meaning_list.right)


def _surprise_of(scores: FloatArray, right: npt.NDArray[np.bool_]) -> float:
    powers = np.exp(scores - scores.max())
    return -float(np.log(powers[right].sum() / powers.sum() + 1e-12))


def _scores(meaning_list: MeaningList, weights: FloatArray) -> FloatArray:
    return np.asarray(meaning_list.words + meaning_list.rows @ weights)
