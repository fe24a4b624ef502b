"""Fitting weights of the linear reranker to judged lists of candidates, from nothing or near to given weights.

Listwise: softmax cross-entropy over the candidates of a question (Cao et al., Learning to Rank: From Pairwise Approach
to Listwise Approach, ICML 2007). Near to given weights: a quadratic penalty on the distance from them, the estimate of
a Gaussian prior around them (Chelba and Acero, Adaptation of Maximum Entropy Capitalizer: Little Data Can Help a Lot,
EMNLP 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragcore.metrics.quality import ndcg_at_k
from ragcore.ports import FloatArray

L2 = 1e-4
STRENGTHS = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)  # how many lists the given weights count as; the first moves least
K = 10

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankedList:
    """The candidates of one question in fused order: float32[n, 2f] and which of them are relevant, bool[n]."""

    group: str  # golden set
    inputs: FloatArray
    relevant: npt.NDArray[np.bool_]
    relevant_count: int  # relevant documents that exist


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossFit:
    """Weights near to given ones, and what held-out lists say of them. Values are nDCG@10, higher is better."""

    weights: FloatArray  # float32[2f], fitted to all lists; the given ones where `step` is 0
    step: int  # 0: the given weights are the best ones; n: STRENGTHS[n - 1]
    curve: tuple[float, ...]  # mean over held-out lists at each step, the first one of the given weights
    before: Values  # float64[h], of the held-out lists by the given weights
    after: Values  # the same, each by a strength that its own fold had no part in choosing


def weights_fit(
    lists: Sequence[RankedList], *, near: FloatArray | None = None, penalty: float | FloatArray = L2
) -> FloatArray:
    """Minimise softmax cross-entropy, every group weighing the same, and Σ penalty · (w - near)². float32[2f].

    `near`: None for 0. `penalty`: of all weights, or of each.
    """
    from scipy.optimize import minimize

    groups = [ranked_list.group for ranked_list in lists]
    sizes = {group: groups.count(group) for group in set(groups)}
    rows = np.vstack([ranked_list.inputs for ranked_list in lists])
    relevant = np.concatenate([ranked_list.relevant / ranked_list.relevant.sum() for ranked_list in lists])
    lengths = np.array([len(ranked_list.relevant) for ranked_list in lists])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    share = np.repeat([1.0 / (sizes[group] * len(sizes)) for group in groups], lengths)
    start = np.zeros(rows.shape[1], dtype=np.float64) if near is None else near.astype(np.float64)

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        scores = rows @ weights
        scores -= np.repeat(np.maximum.reduceat(scores, starts), lengths)
        powers = np.exp(scores)
        totals = np.repeat(np.add.reduceat(powers, starts), lengths)
        away = weights - start
        value = -float(np.sum(share * relevant * (scores - np.log(totals)))) + float(np.sum(penalty * away**2))
        gradient = rows.T @ (share * (powers / totals - relevant)) + 2 * penalty * away
        return value, gradient

    solution = minimize(loss, start.copy(), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return np.asarray(solution.x, dtype=np.float32)


def list_ndcg(ranked_list: RankedList, weights: FloatArray | None) -> float:
    """nDCG@10 of a list as these weights order it; None: as it is."""
    order = (
        np.arange(len(ranked_list.relevant))
        if weights is None
        else np.argsort(-(ranked_list.inputs @ weights), kind="stable")
    )
    ranked = [f"r{i}" if ranked_list.relevant[i] else f"n{i}" for i in order]
    ideal = [r for r in ranked if r.startswith("r")] + [
        f"missing{i}" for i in range(ranked_list.relevant_count - int(ranked_list.relevant.sum()))
    ]
    return ndcg_at_k(ranked, ideal, K)


def held_out(touches: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Which questions can be judged: all their documents are in one fold. `touches`: bool[q, folds]."""
    return np.flatnonzero(touches.sum(axis=1) == 1)


class CrossFitting:
    """Fitting weights near to given ones, as far from them as held-out lists say, one fit at a time.

    A list is judged by weights fitted to lists that share no document with its fold. The strength for a fold is chosen
    on the other folds; of strengths that are worth the same the one that moves least.

    `table`: float64[1 + strengths, lists], nDCG@10 of the judged lists; `place`: fits that are done, of `total`. Begun
    with both as they were, it ends with the same result.
    """

    def __init__(
        self,
        lists: Sequence[RankedList],
        touches: npt.NDArray[np.bool_],
        near: FloatArray,
        *,
        table: Values | None = None,
        place: int = 0,
    ) -> None:
        self.lists, self.touches, self.near, self.place = lists, touches, near, place
        self.judged = held_out(touches)
        self._fold_of = touches.argmax(axis=1)
        self.total = touches.shape[1] * len(STRENGTHS)
        if table is None:
            table = np.zeros((len(STRENGTHS) + 1, len(lists)))
            table[0, self.judged] = [list_ndcg(lists[at], near) for at in self.judged]
        self.table = table

    @property
    def is_over(self) -> bool:
        """Whether `result` is known but for the last fit."""
        return bool(self.place >= self.total)

    def advance(self) -> None:
        """The next fit: one strength without one fold. Nothing where it is over."""
        if self.is_over:
            return
        fold, step = divmod(self.place, len(STRENGTHS))
        of_fold = [int(at) for at in self.judged if self._fold_of[at] == fold]
        if of_fold:
            touched_lists = zip(self.lists, self.touches[:, fold], strict=True)
            train = [ranked_list for ranked_list, is_touched in touched_lists if not is_touched]
            weights = _near(train, self.near, STRENGTHS[step]) if train else self.near
            self.table[step + 1, of_fold] = [list_ndcg(self.lists[at], weights) for at in of_fold]
        self.place += 1

    def result(self) -> CrossFit:
        """What it has come to."""
        judged, table = self.judged, self.table
        after = np.zeros(len(self.lists))
        for fold in range(self.touches.shape[1]):
            elsewhere = judged[self._fold_of[judged] != fold]
            of_fold = judged[self._fold_of[judged] == fold]
            after[of_fold] = table[_best(table[:, elsewhere]), of_fold]
        step = _best(table[:, judged])
        return CrossFit(
            weights=self.near if step == 0 else _near(self.lists, self.near, STRENGTHS[step - 1]),
            step=step,
            curve=tuple(float(value) for value in table[:, judged].mean(axis=1)),
            before=table[0, judged],
            after=after[judged],
        )


def weights_cross_fit(lists: Sequence[RankedList], touches: npt.NDArray[np.bool_], near: FloatArray) -> CrossFit:
    """All fits of a `CrossFitting` at once."""
    fitting = CrossFitting(lists, touches, near)
    while not fitting.is_over:
        fitting.advance()
    return fitting.result()


def _best(table: Values) -> int:
    """The step with the highest mean; of equals the first."""
    if not table.shape[1]:
        return 0
    means = table.mean(axis=1)
    return int(np.flatnonzero(means >= means.max() - 1e-9)[0])


def _near(lists: Sequence[RankedList], near: FloatArray, strength: float) -> FloatArray:
    """The penalty falls with the number of lists: few of them change little."""
    return weights_fit(lists, near=near, penalty=strength / (2 * len(lists)))
