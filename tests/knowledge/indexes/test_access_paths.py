"""The cheapest way through the index, from sizes alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.indexes.search_space import EXACT_WORTH, SearchSpace, exact_plan, fetched_for, lexical_plan, vector_plan

PER_DOCUMENT = 10


def space(total, share=1.0, **fields):
    visible = int(total * share)
    return SearchSpace(
        visible=visible, passages=visible, documents=max(visible // PER_DOCUMENT, 1), total=total, **fields
    )


@pytest.mark.parametrize(
    ("total", "share", "way"),
    [
        (100, 1.0, "documents"),
        (2_000, 1.0, "scan"),
        (50_000, 1.0, "scan"),
        (300_000, 1.0, "index"),
        (300_000, 0.5, "index"),
        (300_000, 0.1, "documents"),
        (1_000_000, 0.01, "documents"),
        (1_000_000, 0.0001, "documents"),
    ],
)
def test_few_visible_entries_are_gone_through_and_very_many_are_looked_up(total, share, way):
    assert vector_plan(space(total, share)).path == way


def test_without_an_index_everything_is_compared():
    assert vector_plan(space(1_000_000, is_indexed=False)).path == "scan"


def test_a_long_tail_makes_the_index_worth_less():
    short, long = (vector_plan(space(300_000, tail=tail)).costs["index"] for tail in (0, 200_000))

    assert long - short > 100


def test_rare_words_are_looked_up_and_common_ones_within_few_documents_are_not():
    assert lexical_plan(space(100_000, 0.01), candidates=20, limit=1500).path == "terms"
    assert lexical_plan(space(100_000, 0.01), candidates=20_000, limit=1500).path == "documents"
    assert lexical_plan(space(100_000), candidates=20_000, limit=1500).path == "terms"


@given(total=st.integers(0, 10**7), share=st.floats(0, 1), limit=st.integers(1, 5000))
def test_the_way_taken_is_never_dearer_than_an_exact_one_nor_half_as_dear_again_as_the_index(total, share, limit):
    plan, exact = vector_plan(space(total, share)), exact_plan(space(total, share), limit=limit)

    assert exact.costs[exact.path] == min(exact.costs.values())
    least = min(exact for way, exact in plan.costs.items() if way != "index")
    assert plan.costs[plan.path] <= min(least, EXACT_WORTH * plan.costs["index"])
    assert plan.path != "index" or EXACT_WORTH * plan.costs["index"] < least


@given(total=st.integers(1, 10**6), share=st.floats(0.0001, 1), limit=st.integers(1, 5000))
def test_more_is_fetched_the_less_of_it_is_visible(total, share, limit):
    found = space(total, share)

    assert fetched_for(found, limit=limit) >= limit / found.share


def test_the_trace_says_the_way_and_what_the_others_would_have_cost():
    note = vector_plan(space(20_000)).as_note()

    assert note["way"] == "scan"
    assert set(note["costs"]) == {"scan", "documents", "index"}
