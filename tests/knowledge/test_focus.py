"""Passages of documents that a conversation is about join those of a search."""

from dataclasses import replace

import pytest

from knowledge.search_profile import Retrieved
from knowledge.services.focus import BONUS, MOST_IN_FOCUS, STAGE, narrowed_to_focus, with_focus
from knowledge.types import Filters, RetrievalRequest
from ragcore.types import Candidate, Query, State


def found(scores, *, stage="rerank", named=()):
    """A ranking of chunk -> score, best first; every chunk is a document of its own."""
    order = sorted(scores, key=lambda chunk: -scores[chunk])
    candidates = tuple(
        Candidate(chunk=chunk, document=chunk, scores={"fuse.rsf": 0.5, stage: scores[chunk]}, ranks={stage: rank})
        for rank, chunk in enumerate(order, 1)
    )
    state = State(
        query=Query(text="q", terms=()), candidates=candidates, is_ranked=True, named_documents=frozenset(named)
    )
    return Retrieved(state=state, relevant=False, timings_ms={"total": 1.0}, searched=9)


def order(result):
    return [candidate.chunk for candidate in result.state.candidates]


EVERYWHERE = {1: 9.0, 2: 6.0, 3: 4.0}


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ({3: 9.0}, [3, 1, 2]),  # known already: it moves up by what is said of it inside
        ({3: 2.0}, [1, 2, 3]),  # and never down
        ({7: 5.7}, [1, 7, 2, 3]),  # new: the bonus brings it before one that is a little better
        ({7: 3.4}, [1, 2, 3]),  # below the last one of the search of everything it stays out
        ({}, [1, 2, 3]),
        ({4: 9.9, 5: 9.8, 6: 9.7, 7: 9.6}, [4, 5, 6, 1, 2, 3]),  # no more than a few
    ],
)
def test_passages_of_the_focus_stand_where_their_scores_put_them(inside, expected):
    assert order(with_focus(found(EVERYWHERE), found(inside), top_k=10)) == expected


def test_the_number_of_passages_stays_below_what_was_asked_for():
    assert order(with_focus(found(EVERYWHERE), found({7: 9.0}), top_k=3)) == [7, 1, 2]


def test_an_empty_search_of_everything_leaves_the_focus():
    assert order(with_focus(found({}), found({7: 1.0}), top_k=3)) == [7]


def test_documents_that_the_question_names_stay_first():
    assert order(with_focus(found(EVERYWHERE, named=[2]), found({7: 9.9}), top_k=4)) == [2, 7, 1, 3]


def test_scores_of_other_kinds_are_not_compared():
    everywhere = found(EVERYWHERE)

    assert with_focus(everywhere, found({7: 0.9}, stage="coarse"), top_k=4) is everywhere


def test_the_trace_tells_the_score_and_the_documents():
    result = with_focus(found(EVERYWHERE), found({7: 5.7}), top_k=4)

    assert {one.chunk: one.scores[STAGE] for one in result.state.candidates} == {**EVERYWHERE, 7: 5.7 + BONUS}
    assert [one.ranks[STAGE] for one in result.state.candidates] == [1, 2, 3, 4]
    assert result.state.records[-1].note == {"documents": [7]}
    assert result.relevant is False  # what is near inside is near to the conversation, whatever is asked
    assert MOST_IN_FOCUS == 3


@pytest.mark.parametrize(
    ("focus", "asked", "inside"), [((5, 6), (), (5, 6)), ((5, 6), (6, 9), (6,)), ((5, 6), (9,), None)]
)
def test_the_focus_is_narrowed_by_the_filters_of_the_request(focus, asked, inside):
    request = RetrievalRequest(query="q", sets=(1,), filters=Filters(documents=asked, tags=("t",)), focus=focus)

    narrowed = narrowed_to_focus(request)

    if inside is None:
        assert narrowed is None
    else:
        assert narrowed == replace(request, filters=Filters(documents=inside, tags=("t",)), focus=())
