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
from ragcore.metrics.quality import ndcg_at_k
from ragcore.ports import FloatArray, RerankInput
from ragcore.reranking.linear import design, rerank_features

DEPTH = 50  # candidates a question
L2 = 1e-4
OPTIONS = {"deduplicate": False, "profile": False, "fuzzy": False}  # what competes, not what is shown


@dataclass(frozen=True, slots=True)
class RankedList:
    """The candidates of one question in fused order: float32[n, 2f] and which of them are relevant, bool[n]."""

    group: str  # golden set
    inputs: FloatArray
    relevant: np.ndarray
    wanted: int  # relevant documents that exist


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
        weights = _fit([one for one, f in zip(lists, fold_of, strict=True) if f != fold])
        for one in (one for one, f in zip(lists, fold_of, strict=True) if f == fold):
            held_out.setdefault(one.group, []).append((_ndcg(one, None), _ndcg(one, weights)))
    means = {group: tuple(map(float, np.mean(values, axis=0))) for group, values in held_out.items()}
    return Trained(tuple(map(float, _fit(lists))), means, len(lists))  # type: ignore[arg-type]


def _fit(lists: Sequence[RankedList]) -> FloatArray:
    """Minimise softmax cross-entropy, every golden set weighing the same. float32[2f]."""
    from scipy.optimize import minimize

    sizes = {group: sum(one.group == group for one in lists) for group in {one.group for one in lists}}
    rows = np.vstack([one.inputs for one in lists])
    relevant = np.concatenate([one.relevant / one.relevant.sum() for one in lists])
    lengths = np.array([len(one.relevant) for one in lists])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    share = np.repeat([1.0 / (sizes[one.group] * len(sizes)) for one in lists], lengths)

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        scores = rows @ weights
        scores -= np.repeat(np.maximum.reduceat(scores, starts), lengths)
        powers = np.exp(scores)
        totals = np.repeat(np.add.reduceat(powers, starts), lengths)
        value = -float(np.sum(share * relevant * (scores - np.log(totals)))) + L2 * float(weights @ weights)
        gradient = rows.T @ (share * (powers / totals - relevant)) + 2 * L2 * weights
        return value, gradient

    start = np.zeros(rows.shape[1], dtype=np.float64)
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x.astype(np.float32)


def _ndcg(one: RankedList, weights: FloatArray | None) -> float:
    order = np.arange(len(one.relevant)) if weights is None else np.argsort(-(one.inputs @ weights), kind="stable")
    ranked = [f"r{i}" if one.relevant[i] else f"n{i}" for i in order]
    ideal = [r for r in ranked if r.startswith("r")] + [
        f"missing{i}" for i in range(one.wanted - int(one.relevant.sum()))
    ]
    return ndcg_at_k(ranked, ideal, 10)
