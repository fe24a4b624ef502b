"""Reranking, the cliff and the end of the list (D5)."""

from dataclasses import replace

from ragcore.errors import ModelUnavailableError
from ragcore.pipeline import Pipeline, build
from ragcore.ports import RerankScore
from ragcore.stages import CutoffCliff, CutoffTopK, LoadPassages, Rerank
from tests.ragcore.states import passage, ports, ranked_with


class ByNumber:
    """Scores chunk n with table[n]."""

    name = "by number"
    cliff = 0.8

    def __init__(self, table):
        self.table = table

    def score(self, query, candidates):
        return [RerankScore(score=self.table[c.passage.chunk]) for c in candidates]


class Unreachable:
    name = "unreachable"
    cliff = 1.0

    def score(self, query, candidates):
        raise ModelUnavailableError


def loaded(*chunks):
    state = ranked_with(*chunks)
    return replace(state, candidates=tuple(replace(c, passage=passage(c.chunk)) for c in state.candidates))


def test_the_reranker_decides_the_order_and_keeps_earlier_scores():
    state = loaded(1, 2, 3).ranked("fuse.rsf", {1: 0.9, 2: 0.8, 3: 0.7}, keep=3)

    ranked = Rerank()(state, ports(reranker=ByNumber({1: 0.1, 2: 2.0, 3: 1.0})))

    assert ranked.ids() == [2, 3, 1]
    assert ranked.candidates[0].scores == {"lexical": 9.0, "first": 9.0, "fuse.rsf": 0.8, "rerank": 2.0}
    assert ranked.candidates[0].ranks == {"lexical": 2, "first": 2, "fuse.rsf": 2, "rerank": 1}


def test_a_failing_reranker_is_recorded_and_the_order_stays():
    state = Pipeline(build([("rerank", {})]), ports(reranker=Unreachable())).run(loaded(3, 1))

    assert state.ids() == [3, 1]
    assert state.records[0].error == "model_unavailable"


def test_without_a_reranker_nothing_changes():
    assert Rerank()(loaded(2, 1), ports()).ids() == [2, 1]


def cut(table, **options):
    state = Rerank()(loaded(*table), ports(reranker=ByNumber(table)))
    return CutoffCliff(**options)(state, ports(reranker=ByNumber(table)))


def test_what_stands_below_a_cliff_and_low_is_dropped():
    state = cut({1: 3.0, 2: 2.8, 3: 0.5, 4: 0.4})

    assert state.ids() == [1, 2]
    assert [(d.chunks, d.stage, d.reason) for d in state.drops] == [((3, 4), "cutoff.cliff", "below the cliff")]


def test_a_gap_among_good_scores_is_no_cliff():
    assert cut({1: 5.0, 2: 4.0, 3: 3.9, 4: 0.0}).ids() == [1, 2, 3]


def test_small_gaps_cut_nothing():
    assert cut({1: 1.0, 2: 0.5, 3: 0.0}).ids() == [1, 2, 3]


def test_the_best_candidate_is_never_cut():
    assert cut({1: 9.0, 2: 0.0}).ids() == [1]


def test_top_k_drops_the_rest_with_a_reason():
    state = CutoffTopK(keep=1)(loaded(5, 6), ports())

    assert state.ids() == [5]
    assert state.drops[0].reason == "below the best 1"


def test_a_chunk_that_became_invisible_is_dropped():
    state = LoadPassages()(ranked_with(7), ports())

    assert state.ids() == []
    assert state.drops[0].reason == "no longer there"
