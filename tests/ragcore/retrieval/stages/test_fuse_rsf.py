"""Relative score fusion."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.e5 import MultilingualEmbedder
from ragcore.retrieval.stages.fusion import FuseRsf
from ragcore.types import Hit, PassageHead, Query
from tests.ragcore.states import ports, state_with

scores = st.dictionaries(st.integers(1, 30), st.floats(0.01, 50), min_size=1, max_size=20)


def query(*, words=3, language="en", style=""):
    return Query(text="q", terms=("q",) * words, words=("q",) * words, language=language, style=style)


def best_first(arm):
    return dict(sorted(arm.items(), key=lambda item: -item[1]))


def test_a_short_query_trusts_words_more_than_meaning():
    state = state_with(words=2, dense={1: 0.9, 2: 0.5}, lexical={2: 12.0, 1: 6.0})

    fused = FuseRsf()(state, ports())

    assert fused.ids() == [2, 1]
    assert fused.candidates[0].scores["fuse.rsf"] == pytest.approx(0.822, abs=1e-3)


@pytest.mark.parametrize(("words", "alpha"), [(0, 0.4001), (8, 0.55), (30, 0.7)])
def test_alpha_follows_the_formula(words, alpha):
    assert FuseRsf().alpha(query(words=words)) == (pytest.approx(alpha, abs=1e-3), "formula")


def test_a_fixed_weight_replaces_the_formula():
    assert FuseRsf(vector_weight=0.8).alpha(query()) == (0.8, "vector_weight")


def test_a_fixed_weight_comes_before_the_style():
    assert FuseRsf(vector_weight=0.5).alpha(query(style="precise")) == (0.5, "vector_weight")


def test_a_precise_answer_is_searched_by_meaning_as_far_as_the_embedder_can_be_trusted():
    state = state_with(dense={1: 0.9}, lexical={2: 5.0})
    state = replace(state, query=replace(state.query, style="precise"))

    assert FuseRsf()(state, ports()).pending_note["alpha"] == 0.8
    assert FuseRsf()(state, ports(trust=0.3)).pending_note["alpha"] == 0.3


@pytest.mark.parametrize("style", ["simple", "report", "advanced", ""])
def test_other_styles_leave_the_formula(style):
    assert FuseRsf().alpha(query(style=style))[1] == "formula"


def test_the_profile_shifts_the_formula_and_nothing_that_was_fixed():
    state = replace(state_with(words=8, dense={1: 0.9}, lexical={2: 5.0}), alpha_shift=-0.1)

    moved, fixed = FuseRsf()(state, ports()), FuseRsf(vector_weight=0.5)(state, ports())

    assert (moved.pending_note["alpha"], moved.pending_note["shift"]) == (0.45, -0.1)
    assert (fixed.pending_note["alpha"], fixed.pending_note["shift"]) == (0.5, 0.0)


def test_a_boost_changes_the_order_and_shows_the_score_before_it_and_why():
    state = state_with(dense={1: 0.9, 2: 0.85}, lexical={})

    fused = FuseRsf()(state.boosted({2: 1.15}, {2: ("product: BTS",)}), ports())

    assert fused.ids() == [2, 1]
    boosted, plain = fused.candidates
    assert boosted.detail["boost"]["factor"] == 1.15
    assert boosted.detail["boost"]["why"] == ["product: BTS"]
    assert boosted.scores["fuse.rsf"] == pytest.approx(1.15 * boosted.detail["boost"]["raw"])
    assert "boost" not in plain.detail


@given(factor=st.floats(0, 100))
def test_no_boost_is_larger_than_twofold_or_smaller_than_half(factor):
    state = state_with(dense={1: 0.9}, lexical={}).boosted({1: factor}, {})
    plain = FuseRsf()(state_with(dense={1: 0.9}, lexical={}), ports()).candidates[0].scores["fuse.rsf"]

    assert 0.5 * plain <= FuseRsf()(state, ports()).candidates[0].scores["fuse.rsf"] <= 2 * plain


class Heads:
    """What stands above chunks."""

    def __init__(self, heads):
        self.given = heads

    def heads(self, chunks):
        return {chunk: self.given[chunk] for chunk in chunks if chunk in self.given}


def test_words_of_the_question_in_the_title_count_a_little_more():
    state = state_with(lexical={1: 10.0, 2: 9.5})
    state = replace(state, query=replace(state.query, weights={"handov": 2.0, "cell": 1.0}))
    facts = Heads({2: PassageHead("Handover between cells")})

    assert FuseRsf(title_weight=0.0)(state, ports(facts=facts)).ids() == [1, 2]
    assert FuseRsf()(state, ports(facts=facts)).ids() == [2, 1]


def test_a_passage_that_only_its_title_brought_is_ranked_by_the_title():
    state = state_with(lexical={1: 10.0}, title={2: 0.8})
    state = replace(state, query=replace(state.query, weights={"handov": 2.0}))

    fused = FuseRsf(title_weight=0.3)(state, ports(facts=Heads({2: PassageHead("Handover")})))

    assert fused.ids() == [1, 2]
    assert fused.candidates[1].scores["title"] == 0.8
    assert fused.candidates[1].scores["fuse.rsf"] > 0


def test_a_passage_of_the_other_language_is_not_held_to_words():
    state = state_with(dense={1: 0.9, 2: 0.7}, lexical={2: 6.0})
    state = replace(state, query=replace(state.query, language="zh"))
    facts = Heads({1: PassageHead("", "en"), 2: PassageHead("", "zh")})

    both = FuseRsf()(state, ports(trust=0.7, facts=facts))

    assert both.pending_note["across"] == 1
    assert FuseRsf()(state, ports(trust=0.3, facts=facts)).pending_note["across"] == 0
    same = FuseRsf()(state, ports(trust=0.7, facts=Heads({1: PassageHead("", "zh"), 2: PassageHead("", "zh")})))
    scores = [found.candidates[found.ids().index(1)].scores["fuse.rsf"] for found in (both, same)]
    assert scores[0] > scores[1]


def test_the_entry_that_found_a_passage_is_told_by_arm():
    hits = [
        Hit(chunk=1, document=1, score=0.9, representation="question"),
        Hit(chunk=1, document=1, score=0.8),
        Hit(chunk=2, document=1, score=0.7),
    ]
    state = state_with(lexical={1: 3.0}).with_arm("dense", hits)

    fused = FuseRsf()(state, ports())

    assert {c.chunk: c.detail.get("via") for c in fused.candidates} == {1: {"dense": "question"}, 2: None}


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


def test_with_the_model_of_both_languages_alpha_follows_the_length_of_a_chinese_question(tmp_path):
    trust = MultilingualEmbedder(tmp_path).trust(cjk_share=1.0)  # loads nothing

    told = [
        FuseRsf()(state_with(words=words, dense={1: 0.9}, lexical={2: 5.0}), ports(trust=trust)).pending_note["alpha"]
        for words in (2, 12)
    ]

    assert told == [pytest.approx(0.4, abs=0.01), pytest.approx(0.695, abs=0.01)]
