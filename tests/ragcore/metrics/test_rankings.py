"""Graded recall: correct, partial or none."""

from __future__ import annotations

import pytest

from ragcore.metrics.rankings import RecallGrade
from ragcore.metrics.registry import MeasuredCase, MetricTools, RankedText
from ragcore.text.tokenise import JiebaTokenizer

TOOLS = MetricTools(tokenizer=JiebaTokenizer())


def grade(*ranking: tuple[str, str], relevant=(), quotations=()) -> float | None:
    case = MeasuredCase(
        question="Which band?",
        relevant=dict.fromkeys(relevant, 1.0),
        quotations=dict.fromkeys(quotations, 1.0),
        ranking=[RankedText(document=document, text=text) for document, text in ranking],
    )
    return RecallGrade()(case, TOOLS)


@pytest.mark.parametrize(
    ("documents", "expected"), [(("a", "b"), 1.0), (("x", "b"), 0.5), (("x", "y"), 0.0), ((), 0.0)]
)
def test_recall_of_documents_is_correct_partial_or_none(documents, expected):
    assert grade(*((name, "") for name in documents), relevant=("a", "b")) == expected


def test_quotations_count_rather_than_documents():
    ranking = [("a", "The band is n78."), ("b", "Something else.")]

    assert grade(*ranking, relevant=("a", "b"), quotations=("band is n78", "the width is 100 MHz")) == 0.5


def test_only_the_first_ten_count():
    ranking = [(f"x{n}", "") for n in range(10)]

    assert grade(*ranking, ("a", ""), relevant=("a",)) == 0.0


def test_a_case_without_expected_documents_has_no_grade():
    assert grade(("a", "")) is None
