"""What a state remembers of candidates that it lost."""

from __future__ import annotations

from ragcore.types import Hit, Query, State


def fused() -> State:
    """Three candidates that a first ranking kept, of four."""
    hits = [Hit(chunk=n, document=n, score=5.0 - n) for n in (1, 2, 3, 4)]
    state = State(query=Query(text="q", terms=("q",))).with_arm("lexical", hits)
    return state.ranked("fuse.rsf", {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.1}, keep=3)


def test_a_candidate_that_is_dropped_is_remembered_with_its_scores():
    state = fused().ranked("rerank", {1: 1.0, 2: 3.0, 3: 2.0}, keep=3)

    left = state.narrowed(state.candidates[:1], stage="cutoff.top_k", code="below_best", best=1)

    assert list(left.fallen) == [3, 1]
    assert left.fallen[1].scores == {"lexical": 4.0, "fuse.rsf": 0.9, "rerank": 1.0}
    assert left.fallen[1].ranks["rerank"] == 3


def test_what_was_never_a_candidate_is_not_remembered():
    assert fused().fallen == {}


def test_a_ranking_that_keeps_fewer_remembers_the_others_as_they_were_before_it():
    state = fused().ranked("rerank", {1: 1.0, 2: 3.0, 3: 2.0}, keep=2)

    assert state.fallen[1].scores == {"lexical": 4.0, "fuse.rsf": 0.9}
