"""TODO"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.metrics.quality import (
    contains_gold,
    grounded_share,
    mrr_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    word_f1,
)
from ragcore.text.tokenise import JiebaTokenizer

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


TOKENIZER = JiebaTokenizer()


@pytest.mark.parametrize(
    ("answer", "golds", "found"),
    [
        ("全长３６４.６ 公里。[1]", ["364.6公里"], True),
        ("The Iranian coast", ["iran"], True),
        ("It is big data.", ["Big-Data"], True),
        ("It lasts four hours.", ["five hours", "six"], False),
        ("anything", [""], False),
        ("anything", [], False),
    ],
)
def test_gold_is_found_regardless_of_form(answer, golds, found):
    assert contains_gold(answer, golds) is found


def test_word_f1_by_hand():
    assert word_f1("mast in Ulm", "the mast in Ulm", TOKENIZER) == pytest.approx(2 * 3 / 7)
    assert word_f1("mast", "battery", TOKENIZER) == 0.0
    assert word_f1("", "", TOKENIZER) == 0.0


def test_grounded_share_by_hand():
    assert grounded_share("The red mast", ["A mast.", "It is blue."], TOKENIZER) == 0.5
