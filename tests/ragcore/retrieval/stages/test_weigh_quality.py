"""Length, rating and weight of the document in the order."""

from dataclasses import replace
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.retrieval.stages.rerank import WeighQuality, is_on_scale, similarities_of
from ragcore.types import ScoreScale
from tests.ragcore.states import passage, ports, ranked_with

LONG = "word " * 300


def state_of(*passages, scores, scale=None, name="rerank"):
    """Candidates in this order with these passages and last scores."""
    state = ranked_with(*(p.chunk for p in passages))
    loaded = tuple(
        replace(c, passage=p, scores={**c.scores, name: score})
        for c, p, score in zip(state.candidates, passages, scores, strict=True)
    )
    return replace(state, candidates=loaded, scale=scale)


def weighed(*passages, scores, **given):
    state = WeighQuality()(state_of(*passages, scores=scores, **given), ports())
    return {c.chunk: c.scores["weigh.quality"] for c in state.candidates}


def test_the_score_is_the_product_of_the_factors():
    rated = replace(passage(1, LONG), weight=0.5, rating=4.0)

    state = WeighQuality()(state_of(rated, scores=[0.8], name="fuse.rsf"), ports())

    assert state.candidates[0].scores["weigh.quality"] == pytest.approx(0.8 * 1.2 * 0.5 * 0.8)
    assert state.candidates[0].detail["weigh.quality"] == {
        "similarity": 0.8,
        "length": 1.2,
        "weight": 0.5,
        "rating": 0.8,
    }


def test_a_document_that_nobody_rated_is_not_judged():
    assert weighed(passage(1, LONG), scores=[0.5], name="fuse.rsf")[1] == pytest.approx(0.5 * 1.2)


def test_short_texts_count_less_by_their_words_in_any_script():
    english, chinese = passage(1, "word " * 40), passage(2, "基站断电" * 20)

    found = weighed(english, chinese, scores=[0.9, 0.9], name="fuse.rsf")

    assert found[1] == pytest.approx(0.9 * 0.4)
    assert found[2] == pytest.approx(0.9 * 0.4)


def test_a_heavier_document_overtakes_a_little_better_one():
    heavy = replace(passage(2, LONG), weight=2.0)

    assert list(weighed(passage(1, LONG), heavy, scores=[0.6, 0.5], name="fuse.rsf")) == [2, 1]


def test_by_its_weight_alone_neither_length_nor_votes_count():
    short, heavy = replace(passage(1, "word"), rating=1.0), replace(passage(2, LONG), weight=2.0)

    state = WeighQuality(only_weight=True)(state_of(short, heavy, scores=[0.9, 0.5], name="fuse.rsf"), ports())

    assert {c.chunk: c.scores["weigh.quality"] for c in state.candidates} == {2: 1.0, 1: 0.9}
    assert state.candidates[0].detail["weigh.quality"] == {"similarity": 0.5, "weight": 2.0}


LOGITS, DIFFERENCES = ScoreScale(cliff=0.8, low=0.0), ScoreScale(cliff=4.0)


def by_weight(weights, scores, scale, name="rerank"):
    """Chunk (from 1) -> score, best first."""
    passages = [replace(passage(at, "word"), weight=weight) for at, weight in enumerate(weights, 1)]
    state = WeighQuality(only_weight=True)(state_of(*passages, scores=scores, scale=scale, name=name), ports())
    return {c.chunk: c.scores["weigh.quality"] for c in state.candidates}


def test_logits_stay_logits():
    found = by_weight([1.0, 0.5, 2.0], [3.0, 2.0, -2.0], LOGITS)

    half = 0.5 / (1 + exp(-2))
    twice = 2 / (1 + exp(2))
    assert found == {1: 3.0, 2: pytest.approx(log(half / (1 - half))), 3: pytest.approx(log(twice / (1 - twice)))}
    heavy = by_weight([1.0, 2.0, 1.6], [3.0, 2.0, 2.0], LOGITS)
    assert list(heavy) == [2, 3, 1]
    assert heavy[1] == 3.0
    assert 3.0 < heavy[3] < heavy[2] < 16


def test_scores_of_which_only_differences_count_keep_their_differences():
    found = by_weight([1.0, 1.0, 2.0], [7.0, 3.0, 3.0], DIFFERENCES)

    assert found == {1: 7.0, 3: pytest.approx(7.0), 2: 3.0}  # twice one half is as good as the best
    assert by_weight([1.0, 0.5], [7.0, 7.0], DIFFERENCES) == {1: 7.0, 2: pytest.approx(3.0)}


def test_scores_of_words_are_doubled():
    assert by_weight([1.0, 2.0], [12.0, 9.0], None, name="rank.single_arm") == {2: pytest.approx(18.0), 1: 12.0}


def test_fused_scores_end_at_1():
    assert by_weight([1.0, 2.0], [0.8, 0.3], None, name="fuse.rsf") == {1: 0.8, 2: pytest.approx(0.6)}
    assert by_weight([1.0, 2.0], [0.9, 0.8], None, name="fuse.rsf") == {2: 1.0, 1: pytest.approx(0.9 / 1.6)}


@pytest.mark.parametrize("scale", [None, DIFFERENCES, LOGITS])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([0.5, 0.8, 1.0, 1.5, 2.0]), st.floats(-8, 8)), min_size=1, max_size=12
    ).filter(lambda rows: any(weight != 1 for weight, _score in rows))
)
def test_the_order_is_that_of_similarity_times_weight_on_any_scale(scale, rows):
    rows.sort(key=lambda row: -row[1])
    weights, scores = zip(*rows, strict=True)
    products = [s * w for s, w in zip(similarities_of(scores, scale), weights, strict=True)]

    found = by_weight(weights, scores, scale)

    ordered = [products[chunk - 1] for chunk in found]
    assert ordered == pytest.approx(sorted(products, reverse=True), rel=1e-6)


def test_whether_a_score_is_on_the_scale_of_the_reranker_is_known_of_each_candidate():
    state = state_of(replace(passage(1, LONG), weight=2.0), passage(2, LONG), scores=[2.0, 1.0], scale=LOGITS)

    assert all(map(is_on_scale, state.candidates))
    assert all(map(is_on_scale, WeighQuality(only_weight=True)(state, ports()).candidates))
    assert not any(map(is_on_scale, WeighQuality()(state, ports()).candidates))
    assert not any(map(is_on_scale, ranked_with(1).candidates))


def test_where_all_weights_are_normal_nothing_is_weighed():
    state = state_of(passage(1, "word"), passage(2, LONG), scores=[0.9, 0.5])

    assert WeighQuality(only_weight=True)(state, ports()) is state


def test_logits_become_probabilities():
    found = similarities_of([2.0, 0.0, -2.0], ScoreScale(cliff=0.8, low=0.0))

    assert found == pytest.approx([1 / (1 + exp(-2)), 0.5, 1 / (1 + exp(2))])


def test_where_only_differences_count_the_best_one_is_1_and_a_cliff_is_a_half():
    assert similarities_of([7.0, 6.0, 3.0], ScoreScale(cliff=4.0)) == pytest.approx([1.0, 0.8, 0.5])


def test_bm25_becomes_a_share_of_the_best():
    assert similarities_of([12.0, 6.0], None) == [1.0, 0.5]


def test_a_candidate_without_a_passage_stays_out_of_it():
    assert WeighQuality()(ranked_with(1, 2), ports()).ids() == [1, 2]


@pytest.mark.parametrize("scale", [None, ScoreScale(cliff=1.0), ScoreScale(cliff=1.0, low=0.0)])
@given(scores=st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=20))
def test_similarities_lie_above_0_up_to_1_and_none_overtakes_another(scale, scores):
    ordered = sorted(scores, reverse=True)

    found = similarities_of(ordered, scale)

    assert all(0 < value <= 1 for value in found)
    assert found == sorted(found, reverse=True)
