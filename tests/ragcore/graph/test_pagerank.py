from hypothesis import given
from hypothesis import strategies as st

from ragcore.graph.pagerank import passage_ranks

numbers = st.integers(0, 8)


def test_a_passage_of_two_strong_entities_outranks_one_of_a_weak_one():
    edges = [(1, 10), (2, 10), (3, 11)]
    ranks = passage_ranks(edges, entities={1: 1.0, 2: 1.0, 3: 0.1}, passages={10: 0.5, 11: 0.5})
    assert ranks[10] == 1.0 > ranks[11] > 0


def test_without_edges_there_are_no_ranks():
    assert passage_ranks([], entities={1: 1.0}, passages={2: 1.0}) == {}
    assert passage_ranks([(1, 3)], entities={1: 1.0}, passages={2: 1.0}) == {}


@given(st.sets(st.tuples(numbers, numbers)), st.dictionaries(numbers, st.floats(0, 2), min_size=1))
def test_ranks_are_shares_of_the_best_one(edges, passages):
    ranks = passage_ranks(edges, entities=dict.fromkeys(range(9), 1.0), passages=passages)
    assert set(ranks) <= set(passages)
    assert all(0 <= rank <= 1 for rank in ranks.values())
