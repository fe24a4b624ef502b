"""Listwise training of the linear reranker on public sets; see `reranker_fitting` for the method.

In two steps. What ranks passages in the language of the question is fitted to lists without others, near to the weights
of another model: those were fitted to more questions, and much of them is about words. What ranks passages in the other
language is fitted to all lists then, with the rest hardly moved: questions across languages say nothing of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ragcore.ports import FloatArray
from ragcore.reranking.linear import FEATURES, design, rerank_features
from ragcore.training.answer_sets import AnswerSet, SetQuestion, half_of
from ragcore.training.reranker_fitting import RankedList, list_ndcg, weights_fit

FOLDS = 5
NEAR = 3e-4  # penalty of the distance from the weights that are given
KEPT, FREE = 3e-4, 1e-5  # in the second step: of the weights of the first one, and of the others
OWN_FIRST = 1.5  # log-odds that passages of the other language lose: in the sets as many answer as in the own one,
# while whoever asks in a language that an organisation writes in mostly finds the answer there
ACROSS = np.array([name.startswith("across") for name in (*FEATURES, *FEATURES)])


@dataclass(frozen=True, slots=True)
class Trained:
    """Weights, and nDCG@10 of each set: (by the cosine alone, reranked), on the articles held out."""

    weights: FloatArray
    held_out: dict[str, tuple[float, float]]
    questions: int


def ranked_lists(
    data: AnswerSet, *, limit: int, half: int | None = None, is_one_title: bool = False
) -> Iterator[tuple[str, RankedList]]:
    """What each question is about, and its candidates by cosine; only where one of them is right and one is not.

    `half`: only questions about this half of the articles. `is_one_title`: only passages under the title of a right one
    compete, for questions that name no subject because they were asked about a text at hand.
    """
    questions = [
        question for question in data.sample(len(data.answerable)) if half is None or half_of(question.about) == half
    ]
    group = f"{data.name} (within a title)" if is_one_title else data.name
    for question in questions[:limit]:
        ranked_list = _ranked_list(data, question, group, is_one_title=is_one_title)
        if ranked_list is not None:
            yield question.about, ranked_list


def _ranked_list(data: AnswerSet, question: SetQuestion, group: str, *, is_one_title: bool) -> RankedList | None:
    query, inputs = data.ranking.candidates(question.text)
    inputs.sort(key=lambda candidate: -candidate.arms.get("dense", candidate.arms["lexical"]))
    if is_one_title:
        titles = {candidate.passage.title for candidate in inputs if candidate.passage.external_id in question.relevant}
        inputs = [candidate for candidate in inputs if candidate.passage.title in titles]
    relevant = np.array([candidate.passage.external_id in question.relevant for candidate in inputs], dtype=bool)
    if not relevant.any() or relevant.all():
        return None
    rows = design(rerank_features(query, inputs), query.cjk_share)
    return RankedList(group, rows, relevant, len(question.relevant))


def reranker_train(lists: Sequence[tuple[str, RankedList]], *, near: FloatArray) -> Trained:
    """Weights from all lists; the quality is measured by cross-validation over what questions are about.

    `near`: float32[2f], from which the first step does not move far.
    """
    fold_of = [_fold(about) for about, _ in lists]
    held_out: dict[str, list[tuple[float, float]]] = {}
    for fold in range(FOLDS):
        weights = _two_steps(
            [ranked_list for (_, ranked_list), f in zip(lists, fold_of, strict=True) if f != fold], near
        )
        for ranked_list in (ranked_list for (_, ranked_list), f in zip(lists, fold_of, strict=True) if f == fold):
            held_out.setdefault(ranked_list.group, []).append(
                (list_ndcg(ranked_list, None), list_ndcg(ranked_list, weights))
            )
    means = {group: np.mean(values, axis=0) for group, values in held_out.items()}
    figures = {group: (float(before), float(after)) for group, (before, after) in means.items()}
    return Trained(_two_steps([ranked_list for _, ranked_list in lists], near), figures, len(lists))


def _two_steps(lists: Sequence[RankedList], near: FloatArray) -> FloatArray:
    same_language = [ranked_list for ranked_list in lists if not ranked_list.inputs[:, ACROSS].any()]
    first = weights_fit(same_language, near=near, penalty=NEAR) if same_language else near
    fitted = weights_fit(lists, near=first, penalty=np.where(ACROSS, FREE, KEPT)).copy()
    fitted[FEATURES.index("across")] -= OWN_FIRST
    return fitted


def _fold(about: str) -> int:
    """Of 0 to FOLDS - 1, by the text alone."""
    return sum(about.encode()) % FOLDS
