"""Training of the sentence model of extractive answers: listwise, on questions whose right answer is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from ragcore.extractive.sentence_model import compute_sentence_features, design
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.ports import FloatArray
from ragcore.text.normalise import squeeze
from ragcore.training.answer_sets import AnswerSet, SetQuestion, half_of
from ragcore.types import Source

L2 = 3e-4


@dataclass(frozen=True, slots=True)
class SentenceList:
    """The sentences of one question: float32[n, 2f], and which of them hold a right answer, bool[n]."""

    group: str
    inputs: FloatArray
    right: np.ndarray


def sentence_lists(data: AnswerSet, *, half: int, limit: int) -> Iterable[SentenceList]:
    """One list for each question of a half that can be learnt from."""
    questions = [question for question in data.sample(len(data.answerable)) if half_of(question.about) == half]
    for question in questions[:limit]:
        labelled_list = sentence_list(data, question, data.ranking.sources(question.text))
        if labelled_list is not None:
            yield labelled_list


def sentence_list(data: AnswerSet, question: SetQuestion, sources: Sequence[Source]) -> SentenceList | None:
    """None where no sentence of a right document holds a right answer, or all sentences do."""
    statements = read_statements(sources, data.ranking.tokenizer)
    right = right_sentences(question, statements)
    if not right.any() or right.all():
        return None
    return SentenceList(
        data.name, design(compute_sentence_features(question.text, statements, data.ranking.tokenizer)), right
    )


def right_sentences(question: SetQuestion, statements: Sequence[Statement]) -> npt.NDArray[np.bool_]:
    """bool[n]: which sentences are of a right document and hold a right answer."""
    golds = [gold for answer in question.answers if (gold := squeeze(answer))]
    return np.array(
        [
            s.source.passage.external_id in question.relevant and any(gold in squeeze(s.text) for gold in golds)
            for s in statements
        ],
        dtype=bool,
    )


def sentences_fit(lists: Sequence[SentenceList]) -> FloatArray:
    """Weights float64[2f] that make a right sentence likely; every group weighs the same.

    Minimises -log of the softmax probability of all right sentences of a question together.
    """
    sizes = {
        group: sum(labelled_list.group == group for labelled_list in lists)
        for group in {labelled_list.group for labelled_list in lists}
    }
    rows = np.vstack([labelled_list.inputs for labelled_list in lists]).astype(np.float64)
    right = np.concatenate([labelled_list.right for labelled_list in lists]).astype(np.float64)
    lengths = np.array([len(labelled_list.right) for labelled_list in lists])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    share = np.array([1.0 / (sizes[labelled_list.group] * len(sizes)) for labelled_list in lists])

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        scores = rows @ weights
        scores -= np.repeat(np.maximum.reduceat(scores, starts), lengths)
        powers = np.exp(scores)
        totals, hits = np.add.reduceat(powers, starts), np.add.reduceat(powers * right, starts) + 1e-12
        value = float(np.sum(share * (np.log(totals) - np.log(hits)))) + L2 * float(weights @ weights)
        among = powers / np.repeat(totals, lengths) - powers * right / np.repeat(hits, lengths)
        return value, rows.T @ (np.repeat(share, lengths) * among) + 2 * L2 * weights

    start = np.zeros(rows.shape[1])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 800}).x)


def first_right(lists: Sequence[SentenceList], weights: FloatArray, depth: int = 1) -> float:
    """Share of the questions with a right sentence among the best `depth`."""
    return float(
        np.mean(
            [
                labelled_list.right[np.argsort(-(labelled_list.inputs @ weights))[:depth]].any()
                for labelled_list in lists
            ]
        )
    )
