"""Options that cannot work together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.options import AnswerOptions, ChunkingOptions, RetrievalOptions, conflicts, resolve

GROUPS = {"chunking": ChunkingOptions, "retrieval": RetrievalOptions, "answer": AnswerOptions}


def found(**layer):
    """The options at fault where one layer says this."""
    groups = {code: resolve(group, ("site", layer.get(code, {}))) for code, group in GROUPS.items()}
    return [one.option for one in conflicts(groups)]


def test_the_defaults_fit_together():
    assert found() == []


@pytest.mark.parametrize(
    ("layer", "option"),
    [
        ({"chunking": {"min_tokens": 500, "max_tokens": 300}}, "chunking.min_tokens"),
        ({"chunking": {"max_tokens": 900, "section_tokens": 800}}, "chunking.max_tokens"),
        ({"chunking": {"max_tokens": 900}, "answer": {"context_tokens": 500}}, "chunking.max_tokens"),
        ({"retrieval": {"top_k": 20, "fused_limit": 15}}, "retrieval.top_k"),
        ({"retrieval": {"fused_limit": 5}, "answer": {"max_chunks": 6}}, "answer.max_chunks"),
        ({"answer": {"mode": "agentic", "context_tokens": 39_001}}, "answer.context_tokens"),
        ({"answer": {"strategy": "self_rag", "context_tokens": 90_000}}, "answer.context_tokens"),
    ],
)
def test_what_cannot_work_together_is_named_at_one_of_its_options(layer, option):
    assert found(**layer) == [option]


@pytest.mark.parametrize(
    "layer",
    [
        {"chunking": {"max_tokens": 100}},  # the least size of 512 is a default and gives way
        {"retrieval": {"fused_limit": 5}},
        {"retrieval": {"top_k": 20, "fused_limit": 20}},
        {"answer": {"context_tokens": 90_000}},  # nothing loops
        {"answer": {"mode": "agentic", "context_tokens": 39_000}},
    ],
)
def test_what_works_is_no_conflict(layer):
    assert found(**layer) == []


def test_layers_are_looked_at_together():
    groups = {"retrieval": resolve(RetrievalOptions, ("site", {"fused_limit": 10}), ("set HR", {"top_k": 11}))}

    assert [(one.option, one.other) for one in conflicts(groups)] == [("retrieval.top_k", "retrieval.fused_limit")]


@given(st.integers(32, 4000), st.integers(64, 8000), st.integers(100, 8000))
def test_sizes_of_passages_are_refused_exactly_where_they_contradict(low, high, section):
    is_fine = low <= high <= section

    assert (not found(chunking={"min_tokens": low, "max_tokens": high, "section_tokens": section})) == is_fine
