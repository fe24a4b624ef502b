"""What use says moves passages within a bound, on the scale of the ranking that it finds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.options import RetrievalOptions
from ragcore.retrieval.stage_plan import stage_plan
from ragcore.retrieval.stages.use import WeighUse, value_of
from ragcore.types import ScoreScale, UseHint
from tests.ragcore.states import ports, ranked_with


class Hints:
    """Answers with the same hints to every question."""

    def __init__(self, *hints):
        self.given = hints
        self.asked = []

    def hints(self, query, chunks):
        self.asked.append(list(chunks))
        return [one for one in self.given if one.chunk in chunks]


def hint(chunk, value, nearness=1.0):
    return UseHint(chunk, value, nearness, people=4, shown=9, opened=5, helpful=2, unhelpful=0)


def state_of(scores, *, name="rerank", scale=None):
    state = ranked_with(*scores)
    named = tuple(replace(c, scores={**c.scores, name: scores[c.chunk]}) for c in state.candidates)
    return replace(state, candidates=named, scale=scale)


def weighed(scores, *hints, most=0.3, **given):
    return WeighUse(most=most)(state_of(scores, **given), ports(use=Hints(*hints)))


def test_a_passage_that_people_open_overtakes_one_just_above_it():
    state = weighed({1: 2.0, 2: 1.5, 3: -1.0}, hint(2, 1.0), scale=ScoreScale(cliff=4.0))

    assert state.ids() == [2, 1, 3]
    assert state.candidates[0].scores["weigh.use"] == pytest.approx(1.5 + 0.3 * 4.0)
    assert state.candidates[0].scores["rerank"] == 1.5  # never overwritten
    told = state.candidates[0].detail["use"]
    assert (told["place"], told["shift"], told["people"]) == (2, 1.2, 4)
    assert state.pending_note["moved"] == 1


def test_nothing_overtakes_what_is_far_better():
    assert weighed({1: 4.0, 2: 1.5}, hint(2, 1.0), hint(1, -1.0), scale=ScoreScale(cliff=4.0)).ids() == [1, 2]


def test_without_a_reranker_the_bound_is_a_share_of_the_score():
    state = weighed({1: 0.8, 2: 0.7}, hint(1, -1.0), name="fuse.rsf")

    assert state.ids() == [2, 1]
    assert state.candidates[1].scores["weigh.use"] == pytest.approx(0.8 * 0.7)


def test_the_quality_score_is_moved_as_a_share_also_behind_a_reranker():
    state = weighed({1: 0.8, 2: 0.7}, hint(1, -1.0), name="weigh.quality", scale=ScoreScale(cliff=4.0))

    assert state.candidates[1].scores["weigh.use"] == pytest.approx(0.8 * 0.7)


def test_every_candidate_keeps_a_score_where_nothing_is_known():
    state = weighed({1: 2.0, 2: 1.5}, scale=ScoreScale(cliff=4.0))

    assert [(c.chunk, c.scores["weigh.use"]) for c in state.candidates] == [(1, 2.0), (2, 1.5)]
    assert all("use" not in c.detail for c in state.candidates)


def test_nothing_is_asked_without_candidates_or_without_the_port():
    hints = Hints(hint(1, 1.0))
    empty = ranked_with()

    assert WeighUse()(empty, ports(use=hints)) is empty
    assert hints.asked == []
    state = state_of({1: 1.0})
    assert WeighUse()(state, ports()) is state


def test_a_near_question_counts_more_than_a_distant_one():
    assert value_of([hint(1, 1.0, 0.9), hint(1, -1.0, 0.1)]) == pytest.approx(0.72)
    assert value_of([hint(1, 1.0, 0.1)]) == pytest.approx(0.1)
    assert value_of([]) == value_of([hint(1, 1.0, 0.0)]) == 0.0


@given(
    scores=st.lists(st.floats(-8, 8), min_size=2, max_size=12, unique=True),
    values=st.lists(st.floats(-1, 1), min_size=12, max_size=12),
    most=st.floats(0.01, 0.5),
)
def test_only_the_order_changes_and_never_by_more_than_twice_the_bound(scores, values, most):
    given_ = dict(enumerate(sorted(scores, reverse=True), 1))
    state = weighed(given_, *(hint(c, values[c - 1]) for c in given_), most=most, scale=ScoreScale(cliff=4.0))

    order = state.ids()
    assert sorted(order) == sorted(given_)
    for place, above in enumerate(order):
        for below in order[place + 1 :]:
            assert given_[below] - given_[above] <= 2 * most * 4.0 + 1e-9


def test_the_stage_is_planned_only_where_the_option_is_on():
    names = lambda **given: [name for name, _ in stage_plan("hybrid", RetrievalOptions(**given))]  # noqa: E731

    assert "weigh.use" not in names()
    on = names(use_shift=0.2, quality=True, cliff=True)
    assert on.index("weigh.quality") < on.index("weigh.use") < on.index("cutoff.cliff")
