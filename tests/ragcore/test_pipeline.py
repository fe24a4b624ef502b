"""Building and running pipelines."""

from dataclasses import replace

import pytest

from ragcore.errors import InvalidOptionsError
from ragcore.retrieval import stages  # noqa: F401
from ragcore.retrieval.pipeline import PipelineRetriever, build
from ragcore.types import Hit
from tests.ragcore.states import ports, ranked_with, state_with


def test_an_unknown_stage_is_refused():
    with pytest.raises(InvalidOptionsError, match="no stage 'guess'"):
        build([("guess", {})])


def test_an_unknown_option_is_refused():
    with pytest.raises(InvalidOptionsError, match="no option kep"):
        build([("cutoff.top_k", {"kep": 3})])


def test_every_stage_leaves_a_record_with_counts():
    heard = []

    state = PipelineRetriever(build([("cutoff.top_k", {"keep": 2})]), ports()).run(
        ranked_with(1, 2, 3), on_stage=heard.append
    )

    assert [(r.stage, r.before, r.after) for r in state.records] == [("cutoff.top_k", 3, 2)]
    assert heard == list(state.records)


def test_an_error_of_a_required_stage_is_raised():
    with pytest.raises(AttributeError):
        PipelineRetriever(build([("search.fine", {})]), ports()).run(replace(ranked_with(1), query=vectored()))


def vectored():
    import numpy as np

    from ragcore.types import Query

    return Query(text="q", terms=("q",), vector=np.zeros(768, dtype=np.float32))


def test_scores_are_never_overwritten():
    state = state_with(lexical={1: 1.0}).ranked("a", {1: 0.5}, keep=1)

    with pytest.raises(ValueError, match="already there"):
        state.ranked("a", {1: 0.6}, keep=1)


def test_the_best_entry_of_a_chunk_counts():
    hits = [
        Hit(chunk=1, document=1, score=0.9, representation="question"),
        Hit(chunk=1, document=1, score=0.4),
        Hit(chunk=2, document=1, score=0.3),
    ]

    state = state_with().with_arm("lexical", hits)

    assert state.arms["lexical"] == {1: 0.9, 2: 0.3}
    ranked = state.ranked("any", {1: 1.0, 2: 0.5}, keep=2)
    assert ranked.candidates[0].representation == "question"
    assert ranked.candidates[1].ranks == {"lexical": 2, "any": 2}
