"""Where the passage was lost, and what the text made of it, names the cause."""

from __future__ import annotations

import pytest

from ragcore.diagnosis.classify import diagnose
from ragcore.diagnosis.types import BearingPassage, FailedAnswer

TEXT = "A cell has 64 preambles."


def cause(
    status="answered", *, answer="A cell is served by an antenna [1].", failed=None, **passage
) -> tuple[str, str]:
    values = {"text": TEXT, "coverage": 1.0, "window_coverage": 1.0, **passage}
    found = diagnose(
        FailedAnswer(
            question="How many preambles does a cell have?",
            answer=answer,
            status=status,
            golds=("64",),
            passage=BearingPassage(**values),
            **(failed or {}),
        )
    )
    return found.cause, found.subcause


@pytest.mark.parametrize(
    ("status", "passage", "expected"),
    [
        ("answered", {"whereabouts": "dropped", "stage": "rerank", "places": {"fused": 3}},
         ("reranking", "low recall")),
        ("answered", {"whereabouts": "dropped", "stage": "cutoff.top_k", "places": {"fused": 30}},
         ("retrieval", "low relevance")),
        ("answered", {"whereabouts": "result", "place": 9, "places": {"fused": 12}}, ("reranking", "low recall")),
        ("search_results", {"whereabouts": "result", "place": 7}, ("generation", "abstention failure")),
        ("answered", {"is_cited": True}, ("generation", "incomplete answer")),
        ("answered", {}, ("generation", "contextual misalignment")),
    ],
)  # fmt: skip
def test_the_stage_that_lost_the_passage_is_named(status, passage, expected):
    assert cause(status, **passage) == expected


def test_an_answer_from_another_passage_with_a_part_of_it_is_incomplete():
    assert cause(failed={"cites_part": True}) == ("generation", "incomplete answer")


def test_a_quoted_figure_is_wrong_only_where_no_cited_source_has_it():
    said = "A cell has 12 neighbours [1]."

    assert cause(answer=said, failed={"offered": frozenset({"12"})}) == ("generation", "contextual misalignment")
    assert cause(answer=said) == ("generation", "numerical error")
    written = {"offered": frozenset({"12"}), "is_written_by_model": True}
    assert cause(answer=said, failed=written) == ("generation", "numerical error")


@pytest.mark.parametrize(("status", "expected"), [("answered", "generation"), ("search_results", "none")])
def test_where_a_refusal_is_right_an_answer_is_the_failure(status, expected):
    failed = FailedAnswer(question="Who?", answer="", status=status, passage=None, expects_refusal=True)

    assert diagnose(failed).cause == expected


def test_where_nothing_is_known_of_the_right_answer_a_missing_document_is_a_guess():
    unknown = diagnose(FailedAnswer(question="Who?", answer="", status="refused", passage=None))
    known = diagnose(FailedAnswer(question="Who?", answer="", status="refused", passage=None, golds=("Ann",)))

    assert (unknown.cause, known.cause) == ("knowledge_gap", "knowledge_gap")
    assert unknown.confidence <= 0.5 < known.confidence
