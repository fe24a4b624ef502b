"""How well a model finds passages for held-out questions, and for questions about nothing in particular."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ragcore.metrics.quality import ndcg_at_k, recall_at_k
from ragcore.training.general_pairs import general_pairs, recall_of
from ragcore.training.whole_model.plan import TuneData

K = 10
NARROW = 384

FloatArray = npt.NDArray[np.float32]
Alive = Callable[[int], None]


class Encoder(Protocol):
    """What is judged: float32[n, d], L2-normalised."""

    def questions(self, texts: Sequence[str], alive: Alive = ...) -> FloatArray: ...

    def passages(self, texts: Sequence[str], alive: Alive = ...) -> FloatArray: ...


def texts_to_judge(data: TuneData) -> int:
    """How many texts one judgement embeds."""
    return len(data.held_out) + len(data.passages) + 2 * len(general_pairs())


def judge(encoder: Encoder, data: TuneData, alive: Alive = lambda count: None) -> dict[str, Any]:
    """Recall@10 and nDCG@10 of each held-out question by documents; recall@10 of 384 numbers, and of general texts.

    `discrimination`: mean cosine of a question and its passages less that of it and all others. `alive` is called with
    the number of texts that are embedded.
    """
    count = 0

    def stage(embed: Callable[..., FloatArray], texts: Sequence[str]) -> FloatArray:
        nonlocal count
        rows = embed(texts, lambda some: alive(count + some))
        count += len(texts)
        return rows

    passages = stage(encoder.passages, list(data.passages))
    questions = stage(encoder.questions, [case.question for case in data.held_out])
    general = general_pairs()
    general_questions = stage(encoder.questions, [question for question, _rest in general])
    rest = stage(encoder.passages, [rest for _question, rest in general])
    recall, ndcg = ranked(data, questions, passages)
    narrow, _ndcg = ranked(data, _unit(questions[:, :NARROW]), _unit(passages[:, :NARROW]))
    return {
        "recall": recall,
        "ndcg": ndcg,
        "narrow": narrow if questions.shape[1] > NARROW else [],
        "general": recall_of(general_questions, rest).tolist(),
        "discrimination": discrimination(data, questions, passages),
    }


def ranked(data: TuneData, questions: FloatArray, passages: FloatArray) -> tuple[list[float], list[float]]:
    """Recall@10 and nDCG@10 of each held-out question, by documents."""
    documents = np.asarray(data.documents)
    recall, ndcg = [], []
    for case, row in zip(data.held_out, questions, strict=True):
        order = documents[np.argsort(-(passages @ row), kind="stable")]
        top = list(dict.fromkeys(order.tolist()))[:K]
        right = {int(documents[place]) for place in case.passages}
        recall.append(recall_at_k(top, right, K))
        ndcg.append(ndcg_at_k(top, right, K))
    return recall, ndcg


def discrimination(data: TuneData, questions: FloatArray, passages: FloatArray) -> float:
    """Mean cosine of right pairs less that of all others."""
    right_sum = every_sum = 0.0
    right = 0
    for case, row in zip(data.held_out, questions, strict=True):
        cosines = passages @ row
        every_sum += float(cosines.sum(dtype=np.float64))
        right_sum += float(cosines[list(case.passages)].sum(dtype=np.float64))
        right += len(case.passages)
    wrong_pairs = len(data.held_out) * len(passages) - right
    return round(right_sum / right - ((every_sum - right_sum) / wrong_pairs if wrong_pairs else 0.0), 4)


def _unit(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)
