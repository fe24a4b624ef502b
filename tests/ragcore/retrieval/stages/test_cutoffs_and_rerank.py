"""Reranking, the cliff and the end of the list."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ragcore.errors import ModelUnavailableError
from ragcore.ports import RerankScore
from ragcore.retrieval.pipeline import PipelineRetriever, build
from ragcore.retrieval.stages.rerank import Rerank
from ragcore.retrieval.stages.search import LoadPassages
from ragcore.retrieval.stages.selection import CutoffCliff, CutoffTopK
from ragcore.types import ScoreScale
from tests.ragcore.states import passage, ports, ranked_with


class ByNumber:
    """Scores chunk n with table[n]."""

    name = "by number"
    cliff = 0.8

    def __init__(self, table):
        self.table = table

    def score(self, query, candidates):
        return [RerankScore(score=self.table[c.passage.chunk]) for c in candidates]


class WithLow(ByNumber):
    """The same, and its scores mean something by themselves."""

    low = 0.0


class Unreachable:
    name = "unreachable"
    cliff = 1.0

    def score(self, query, candidates):
        raise ModelUnavailableError


def loaded(*chunks):
    state = ranked_with(*chunks)
    return replace(state, candidates=tuple(replace(c, passage=passage(c.chunk)) for c in state.candidates))


@pytest.mark.parametrize(
    ("question", "first"), [("stop", 2), ("Timer.stop()", 2), ("what does stop() do", 2), ("when does it stop?", 1)]
)
def test_the_definition_of_an_identifier_that_is_asked_for_counts_one_cliff_more(question, first):
    state = loaded(1, 2)
    definition = "### `stop`\n\n```python lines=4-5\ndef stop():\n    pass\n```"
    texts = {1: "```python lines=1-1\nstop()\n```", 2: definition}
    candidates = (replace(c, passage=replace(c.passage, text=texts[c.chunk])) for c in state.candidates)
    state = replace(state, query=replace(state.query, text=question), candidates=tuple(candidates))

    ranked = Rerank()(state, ports(reranker=ByNumber({1: 2.0, 2: 1.5})))

    assert ranked.ids()[0] == first


def test_the_reranker_decides_the_order_and_keeps_earlier_scores():
    state = loaded(1, 2, 3).ranked("fuse.rsf", {1: 0.9, 2: 0.8, 3: 0.7}, keep=3)

    ranked = Rerank()(state, ports(reranker=ByNumber({1: 0.1, 2: 2.0, 3: 1.0})))

    assert ranked.ids() == [2, 3, 1]
    assert ranked.candidates[0].scores == {"lexical": 9.0, "first": 9.0, "fuse.rsf": 0.8, "rerank": 2.0}
    assert ranked.candidates[0].ranks == {"lexical": 2, "first": 2, "fuse.rsf": 2, "rerank": 1}


@pytest.mark.parametrize(
    ("question", "first"),
    [("最低要什么版本 3.2.0", 2), ("what does V3.2.0 need", 2), ("what does V3.3.0 need", 1), ("what is needed", 1)],
)
def test_documents_of_the_version_that_is_asked_for_come_first(question, first):
    state = loaded(1, 2)
    titles = {1: "Release notes V3.3.0", 2: "Release notes V3.2.0"}
    named = tuple(replace(c, passage=replace(c.passage, title=titles[c.chunk])) for c in state.candidates)
    state = replace(state, candidates=named, query=replace(state.query, text=question))

    assert Rerank()(state, ports(reranker=ByNumber({1: 1.0, 2: 0.5}))).ids()[0] == first


@pytest.mark.parametrize(
    ("question", "first"),
    [("what do i do about ALM-1008", 6), ("what does ALM-1001 of the BX9 mean", 5), ("the BX9 is hot", 1)],
)
def test_the_few_passages_with_a_row_of_a_code_come_first(question, first):
    state = loaded(1, 2, 3, 4, 5, 6)
    row = "| Alarm | Cause |\n| --- | --- |\n| {} | {} of the BX9 |"
    texts = {5: row.format("ALM-1001", "low voltage"), 6: row.format("ALM-1008", "hot board"), 4: "Not ALM-1008."}
    named = tuple(
        replace(c, passage=replace(c.passage, text=texts.get(c.chunk, f"Page {c.chunk} about the BX9")))
        for c in state.candidates
    )
    state = replace(state, candidates=named, query=replace(state.query, text=question))
    scores = {1: 1.0, 2: 0.9, 3: 0.8, 4: 0.7, 5: 0.6, 6: 0.5}

    assert Rerank()(state, ports(reranker=ByNumber(scores))).ids()[0] == first


def test_a_failing_reranker_is_recorded_and_the_order_stays():
    state = PipelineRetriever(build([("rerank", {})]), ports(reranker=Unreachable())).run(loaded(3, 1))

    assert state.ids() == [3, 1]
    assert state.records[0].error == "model_unavailable"


def test_the_second_reranker_orders_where_the_first_fails_and_the_record_says_so():
    second = ByNumber({3: 0.1, 1: 2.0})
    state = PipelineRetriever(build([("rerank", {})]), ports(reranker=Unreachable(), second_reranker=second)).run(
        loaded(3, 1)
    )

    assert state.ids() == [1, 3]
    record = state.records[0]
    assert record.error is None
    assert record.note == {"reranker": "by number", "instead_of": "unreachable", "error": "model_unavailable"}
    assert state.scale == ScoreScale(cliff=0.8)


def test_any_fault_of_the_first_reranker_makes_the_second_one_order():
    class Broken(Unreachable):
        def score(self, query, candidates):
            raise ZeroDivisionError

    state = Rerank()(loaded(3, 1), ports(reranker=Broken(), second_reranker=ByNumber({3: 1.0, 1: 2.0})))

    assert state.ids() == [1, 3]
    assert state.pending_note["error"] == "ZeroDivisionError"


@pytest.mark.parametrize("scores", [[1.0], [1.0, float("nan")], [1.0, float("inf")], []])
def test_scores_that_are_not_a_number_for_every_passage_count_as_a_failure(scores):
    class Odd(Unreachable):
        def score(self, query, candidates):
            return [RerankScore(score=score) for score in scores]

    state = PipelineRetriever(build([("rerank", {})]), ports(reranker=Odd())).run(loaded(3, 1))

    assert state.ids() == [3, 1]
    assert state.records[0].error == "reranker_refused"


def test_the_state_says_what_the_scores_mean():
    assert Rerank()(loaded(1), ports(reranker=WithLow({1: 1.0}))).scale == ScoreScale(cliff=0.8, low=0.0)
    assert Rerank()(loaded(1), ports()).scale is None


def test_without_a_reranker_nothing_changes():
    assert Rerank()(loaded(2, 1), ports()).ids() == [2, 1]


def cut(table, reranker=ByNumber, **options):
    state = Rerank()(loaded(*table), ports(reranker=reranker(table)))
    return CutoffCliff(**options)(state, ports())


def test_what_stands_below_a_cliff_and_low_is_dropped():
    state = cut({1: 3.0, 2: 2.8, 3: 0.5, 4: 0.4})

    assert state.ids() == [1, 2]
    assert [(d.chunks, d.stage, d.reason) for d in state.drops] == [((3, 4), "cutoff.cliff", "below the cliff")]


def test_the_record_says_where_the_cliff_is_and_how_high():
    note = cut({1: 3.0, 2: 2.8, 3: 0.5, 4: 0.4}).pending_note

    assert {key: note[key] for key in ("cut_after", "gap", "below", "cliff", "low")} == {
        "cut_after": 2,
        "gap": 2.3,
        "below": 0.5,
        "cliff": 0.8,
        "low": 1.7,
    }
    assert cut({1: 1.0, 2: 0.5, 3: 0.0}).pending_note["cut_after"] is None
    assert cut({1: 1.0, 2: 0.5, 3: 0.2}).pending_note["gap"] == 0.5


def test_a_gap_among_good_scores_is_no_cliff():
    assert cut({1: 5.0, 2: 4.0, 3: 3.9, 4: 0.0}).ids() == [1, 2, 3]


def test_where_scores_mean_something_by_themselves_what_follows_must_be_low_itself():
    assert cut({1: 5.0, 2: 2.0, 3: 0.5}, WithLow).ids() == [1, 2, 3]
    assert cut({1: 5.0, 2: 2.0, 3: -0.5}, WithLow).ids() == [1, 2]
    assert cut({1: -1.0, 2: -2.0}, WithLow).ids() == [1]


def test_small_gaps_cut_nothing():
    assert cut({1: 1.0, 2: 0.5, 3: 0.0}).ids() == [1, 2, 3]


def test_the_best_candidate_is_never_cut():
    assert cut({1: 9.0, 2: 0.0}).ids() == [1]


def test_an_order_of_other_reasons_stays_and_loses_what_is_below_the_cliff():
    state = Rerank()(loaded(1, 2, 3), ports(reranker=WithLow({1: 3.0, 2: -4.0, 3: 2.5})))
    state = state.ranked("weigh.quality", {3: 0.9, 2: 0.8, 1: 0.1}, keep=3)

    assert CutoffCliff()(state, ports()).ids() == [3, 1]


def test_without_scores_of_a_reranker_nothing_is_cut():
    assert CutoffCliff()(loaded(1, 2), ports(reranker=ByNumber({}))).ids() == [1, 2]


tables = st.dictionaries(st.integers(1, 50), st.floats(-8, 8), min_size=1, max_size=30)


@given(tables)
def test_what_is_cut_is_below_a_cliff_low_and_worse_than_all_that_stays(table):
    state = cut(table, WithLow)

    kept = [table[chunk] for chunk in state.ids()]
    gone = [table[chunk] for drop in state.drops for chunk in drop.chunks]
    assert sorted(kept + gone) == sorted(table.values())
    assert kept == sorted(kept, reverse=True)
    assert max(kept) == max(table.values())
    if gone:
        assert min(kept) - max(gone) > 0.8
        assert max(gone) < 0
    inside = [(a, b) for a, b in pairwise(kept) if a - b > 0.8]
    assert all(below >= 0 for _, below in inside)  # a gap that was let pass has good scores behind it


@given(tables)
def test_cutting_twice_cuts_no_more(table):
    once = cut(table, WithLow)

    assert CutoffCliff()(once, ports()).ids() == once.ids()


@given(tables, st.floats(-5, 5))
def test_where_only_differences_count_a_shift_changes_nothing(table, shift):
    rounded = {chunk: round(score, 3) for chunk, score in table.items()}
    shifted = {chunk: score + round(shift, 3) for chunk, score in rounded.items()}
    edge = {round(a - b, 3) for a, b in pairwise(sorted(rounded.values(), reverse=True))}
    assume(0.8 not in edge)

    assert len(cut(shifted).ids()) == len(cut(rounded).ids())


def test_top_k_drops_the_rest_with_a_reason():
    state = CutoffTopK(keep=1)(loaded(5, 6), ports())

    assert state.ids() == [5]
    assert state.drops[0].reason == "below the best 1"


def test_a_chunk_that_became_invisible_is_dropped():
    state = LoadPassages()(ranked_with(7), ports())

    assert state.ids() == []
    assert state.drops[0].reason == "no longer there"
