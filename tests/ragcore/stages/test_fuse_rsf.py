"""Relative score fusion (D4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.stages import FuseRsf
from tests.ragcore.states import ports, state_with

scores = st.dictionaries(st.integers(1, 30), st.floats(0.01, 50), min_size=1, max_size=20)


def best_first(arm):
    return dict(sorted(arm.items(), key=lambda item: -item[1]))


def test_a_short_query_trusts_words_more_than_meaning():
    state = state_with(words=2, dense={1: 0.9, 2: 0.5}, lexical={2: 12.0, 1: 6.0})

    fused = FuseRsf()(state, ports())

    assert fused.ids() == [2, 1]
    assert fused.candidates[0].scores["fuse.rsf"] == pytest.approx(0.822, abs=1e-3)


@pytest.mark.parametrize(("words", "alpha"), [(0, 0.4001), (8, 0.55), (30, 0.7)])
def test_alpha_follows_the_formula(words, alpha):
    assert FuseRsf().alpha(words) == pytest.approx(alpha, abs=1e-3)


def test_a_fixed_weight_replaces_the_formula():
    assert FuseRsf(vector_weight=0.8).alpha(3) == 0.8


def test_alpha_never_exceeds_the_trust_in_the_embedder():
    state = state_with(words=20, dense={1: 0.9}, lexical={2: 5.0})

    fused = FuseRsf()(state, ports(trust=0.2))

    assert fused.pending_note["alpha"] == 0.2
    assert fused.ids() == [2, 1]


def test_a_candidate_of_neither_arm_is_dropped_with_a_reason():
    state = state_with(dense={1: 0.9}, lexical={2: 5.0}, coarse={3: 0.4})

    fused = FuseRsf()(state, ports())

    assert [drop.chunks for drop in fused.drops] == [(3,)]
    assert fused.drops[0].stage == "fuse.rsf"


def test_negative_similarity_counts_as_none():
    state = state_with(dense={1: 0.5, 2: -0.5}, lexical={})

    fused = FuseRsf()(state, ports())

    assert fused.candidates[1].scores["fuse.rsf"] == 0.0


@given(dense=scores, lexical=scores, words=st.integers(0, 40), trust=st.floats(0, 1))
def test_scores_lie_between_0_and_1_and_fall(dense, lexical, words, trust):
    state = state_with(words=words, dense=best_first(dense), lexical=best_first(lexical))

    fused = FuseRsf()(state, ports(trust=trust))

    values = [c.scores["fuse.rsf"] for c in fused.candidates]
    assert values == sorted(values, reverse=True)
    assert all(0 <= value <= 1 + 1e-9 for value in values)


@given(arm=scores, factor=st.floats(0.1, 10))
def test_the_scale_of_an_arm_does_not_matter(arm, factor):
    plain = FuseRsf()(state_with(dense={}, lexical=best_first(arm)), ports())
    larger = FuseRsf()(state_with(dense={}, lexical=best_first({k: v * factor for k, v in arm.items()})), ports())

    assert [c.scores["fuse.rsf"] for c in plain.candidates] == pytest.approx(
        [c.scores["fuse.rsf"] for c in larger.candidates]
    )
