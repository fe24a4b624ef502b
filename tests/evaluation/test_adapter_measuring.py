"""The gain of a training is measured with rounds that its own questions have not chosen."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.services.adapter_measuring import AdapterJudge, Grounds, Judged
from ragcore.embedding.adapter_training import AdapterSettings, AdapterTraining, TrainingPairs, plain_scale
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
    grounds = Grounds(pairs=b"pairs", chunks=np.array([3, 5]))
    again, state, same = Judged.unpacked(best.packed(b"state", grounds))
    assert (state, same.pairs, same.chunks.tolist()) == (b"state", b"pairs", [3, 5])
    assert again.unchosen.tolist() == best.unchosen.tolist()
    assert again.worths.tolist() == best.worths.tolist()


# ── memory ──────────────────────────────────────────────────────────────────────────────────────


def units(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def judge_of(questions: int, passages: int, *, held_out: int = 10**6) -> AdapterJudge:
    """Each passage is a document of its own; question q is about passage q and the next one."""
    random = np.random.default_rng(5)
    entries = units(random.standard_normal((passages, 8)))
    right = [[at % passages, (at + 1) % passages] for at in range(questions)]
    asked = units(entries[[one[0] for one in right]] + random.standard_normal((questions, 8)))
    touches = np.zeros((questions, 2), bool)
    touches[np.arange(questions), np.arange(questions) % 2] = True
    touches[held_out:] = True
    return AdapterJudge(
        pairs=TrainingPairs(questions=asked, passages=entries, right=right, touches=touches),
        stored=[{"documents": one, "origin": "golden", "language": "en"} for one in right],
        entries=entries,
        starts=np.arange(passages),
        documents=np.arange(passages),
        grounds=Grounds(pairs=b"", chunks=np.arange(passages)),
        total=passages,
    )


def adapter_of(judge: AdapterJudge) -> QueryAdapter:
    training = AdapterTraining(judge.pairs, AdapterSettings(rank=2, rounds=1))
    training.advance()
    return training.kept()


@pytest.mark.parametrize("questions", [100, 128, 300])
def test_the_discrimination_is_that_of_all_cosines(questions):
    judge = judge_of(questions, 40)
    adapter = adapter_of(judge)

    found = judge._discrimination(adapter)

    for name, asked in (("before", judge.pairs.questions), ("after", adapter.apply(judge.pairs.questions))):
        cosines = asked.astype(np.float64) @ judge.pairs.passages.T.astype(np.float64)
        right = np.zeros(cosines.shape, bool)
        for at, rows in enumerate(judge.pairs.right):
            right[at, rows] = True
        assert found[name] == pytest.approx(cosines[right].mean() - cosines[~right].mean(), abs=1e-4)


@pytest.mark.full
def test_memory_does_not_grow_with_questions_times_passages():
    """A matrix of all of these cosines has 100 MB."""
    judge = judge_of(5_000, 5_000, held_out=600)
    adapter = adapter_of(judge)
    plain, adapted = judge.pairs.questions, adapter.apply(judge.pairs.questions)
    tracemalloc.start()
    try:
        judge._discrimination(adapter)
        plain_scale(plain, adapted, judge.pairs.passages)
        judge.ranked(plain[judge.pairs.held_out])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 25_000_000
