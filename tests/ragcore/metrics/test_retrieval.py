import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.metrics.retrieval import mrr_at_k, ndcg_at_k, precision_at_k, recall_at_k

RANKED = ["a", "b", "c", "d"]


def test_recall_counts_relevant_items_among_the_first_k():
    assert recall_at_k(RANKED, {"b", "d"}, 2) == 0.5
    assert recall_at_k(RANKED, {"b", "d"}, 4) == 1.0
    assert recall_at_k([], {"b"}, 4) == 0.0


def test_precision_counts_missing_places_as_wrong():
    assert precision_at_k(RANKED, {"b", "d"}, 4) == 0.5
    assert precision_at_k(["b"], {"b"}, 4) == 0.25


def test_mrr_is_the_inverse_of_the_first_hit():
    assert mrr_at_k(RANKED, {"c", "d"}, 4) == pytest.approx(1 / 3)
    assert mrr_at_k(RANKED, {"d"}, 3) == 0.0


def test_ndcg_by_hand():
    expected = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))

    assert ndcg_at_k(RANKED, {"b", "d"}, 4) == pytest.approx(expected)
    assert expected == pytest.approx(0.6509, abs=1e-4)


def test_ndcg_with_gains_by_hand():
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))

    assert ndcg_at_k(["a", "b"], {"a": 1, "b": 3}, 10) == pytest.approx(expected)


def test_a_repeated_item_gains_once():
    assert ndcg_at_k(["a", "a"], {"a", "b"}, 2) == pytest.approx(1 / (1 + 1 / math.log2(3)))


@pytest.mark.parametrize("measure", [recall_at_k, precision_at_k, mrr_at_k, ndcg_at_k])
def test_without_relevant_items_there_is_nothing_to_measure(measure):
    with pytest.raises(ValueError, match="relevant"):
        measure(RANKED, set(), 3)


@pytest.mark.parametrize("measure", [recall_at_k, precision_at_k, mrr_at_k, ndcg_at_k])
@given(ranked=st.permutations(range(6)), relevant=st.sets(st.integers(0, 8), min_size=1), k=st.integers(1, 8))
def test_all_measures_lie_between_0_and_1(measure, ranked, relevant, k):
    assert 0 <= measure(ranked, relevant, k) <= 1 + 1e-12
