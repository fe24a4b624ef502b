"""The gain of a training is measured with rounds that its own questions have not chosen."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluation.services.adapter_measuring import Judged
from ragcore.embedding.query_adapter import QueryAdapter

FOLDS = np.array([0, 0, 1, 1, 2, 2])


def judged(number: int, recall: np.ndarray) -> Judged:
    adapter = QueryAdapter(
        down=np.zeros((4, 2), np.float32), up=np.zeros((2, 4), np.float32), shift=np.zeros(4, np.float32)
    )
    rest = [fold != FOLDS for fold in range(3)]
    return Judged(
        round=number,
        adapter=adapter,
        recall=recall,
        ndcg=recall,
        folds=FOLDS,
        unchosen=np.stack([recall, recall]),
        worths=np.array([2 * recall[mine].mean() for mine in rest]),
        point={},
    )


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=6, max_size=6), min_size=1, max_size=8))
def test_each_fold_gets_the_round_that_the_others_choose(rounds):
    values = [np.array(one) for one in rounds]
    best = judged(0, values[0])
    for number, recall in enumerate(values[1:], 1):
        best = best.better_of(judged(number, recall))

    for fold in range(3):
        rest, mine = fold != FOLDS, fold == FOLDS
        chosen = max(range(len(values)), key=lambda at: (values[at][rest].mean(), -at))
        assert best.unchosen[0][mine].tolist() == values[chosen][mine].tolist()
    again, _state = Judged.unpacked(best.packed(b"state"))
    assert again.unchosen.tolist() == best.unchosen.tolist()
    assert again.worths.tolist() == best.worths.tolist()
