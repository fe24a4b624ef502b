"""Listwise training of the linear reranker on golden cases (D5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from accounts.scope import Scope
from evaluation.models import GoldenCase, GoldenSet
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from ragcore.ports import RerankInput
from ragcore.reranking.linear import design, rerank_features
from ragcore.training.reranker_fitting import RankedList, list_ndcg, weights_fit

DEPTH = 50  # candidates a question
OPTIONS = {"deduplicate": False, "profile": False, "fuzzy": False}  # what competes, not what is shown


@dataclass(frozen=True, slots=True)
class Trained:
    """Weights and nDCG@10 per golden set: (fused order, reranked), on the questions held out."""

    weights: tuple[float, ...]
    held_out: dict[str, tuple[float, float]]
    questions: int


def lists_collect(
    *, scope: Scope, golden: GoldenSet, limit: int | None = None, within: bool = False
) -> Iterable[RankedList]:
    """One list per case that has a relevant document among its candidates and one that is not.

    `limit` takes a sample over all cases, the same one each time. `within`: only candidates under the title of a
    relevant one compete, for questions that name no subject because they were asked about a text at hand.
    """
    sets = tuple(golden.sets.values_list("pk", flat=True))
    group = f"{golden.name} (within a title)" if within else golden.name
    for case in sorted(golden.cases.all(), key=_spread)[:limit]:
        made = _list_of(scope, group, sets, case, within=within)
        if made is not None:
            yield made


def _spread(case: GoldenCase) -> bytes:
    """An order in which neighbours of a file do not follow each other."""
    return sha256(case.question.encode()).digest()


def _list_of(scope: Scope, group: str, sets: tuple[int, ...], case: GoldenCase, *, within: bool) -> RankedList | None:
    request = RetrievalRequest(query=case.question, sets=sets, top_k=DEPTH, rerank=False, options=OPTIONS)
    state = retrieve(scope=scope, request=request).state
    inputs = [RerankInput(passage=c.passage, arms=c.scores) for c in state.candidates if c.passage]
    wanted = set(case.relevant)
    matrix = design(rerank_features(state.query, inputs), state.query.cjk_share)
    relevant = np.array([i.passage.external_id in wanted for i in inputs], dtype=bool)
    if within:
        titles = {i.passage.title for i, is_relevant in zip(inputs, relevant, strict=True) if is_relevant}
        kept = np.array([i.passage.title in titles for i in inputs], dtype=bool)
        matrix, relevant = matrix[kept], relevant[kept]
    if not relevant.any() or relevant.all():
        return None
    return RankedList(group, matrix, relevant, len(wanted))


def reranker_train(lists: Sequence[RankedList], *, folds: int = 5) -> Trained:
    """Weights from all lists; the quality is measured by cross-validation over questions."""
    fold_of = np.arange(len(lists)) % folds
    held_out: dict[str, list[tuple[float, float]]] = {}
    for fold in range(folds):
        weights = weights_fit([one for one, f in zip(lists, fold_of, strict=True) if f != fold])
        for one in (one for one, f in zip(lists, fold_of, strict=True) if f == fold):
            held_out.setdefault(one.group, []).append((list_ndcg(one, None), list_ndcg(one, weights)))
    means = {group: tuple(map(float, np.mean(values, axis=0))) for group, values in held_out.items()}
    return Trained(tuple(map(float, weights_fit(lists))), means, len(lists))  # type: ignore[arg-type]
