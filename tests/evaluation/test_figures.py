"""Figures of a run and their intervals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.services.runs import CaseResult, answer_scores, bootstrap, retrieval_scores, run_figures
from tests.forms_plugin import examples


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_mean_lies_within_its_interval_and_the_interval_within_the_values(values):
    figure = bootstrap(values, statistic="mean")

    assert figure.low - 1e-4 <= figure.value <= figure.high + 1e-4
    assert min(values) - 1e-4 <= figure.low
    assert figure.high <= max(values) + 1e-4


def test_more_cases_make_a_narrower_interval():
    few, many = (bootstrap([0.0, 1.0] * n, statistic="mean") for n in (10, 1000))

    assert many.high - many.low < few.high - few.low


def test_the_same_values_give_the_same_interval():
    values = [0.1, 0.5, 0.9, 0.3]

    assert bootstrap(values, statistic="mean") == bootstrap(values, statistic="mean")


def test_no_values_have_no_figure():
    with pytest.raises(ValueError, match="no values"):
        bootstrap([], statistic="mean")


def test_a_case_without_known_documents_does_not_count_for_retrieval():
    results = [
        CaseResult(case=1, milliseconds=10, found=("a",), scores=retrieval_scores(found=["a"], relevant=["a"])),
        CaseResult(case=2, milliseconds=30, found=("a",), scores=retrieval_scores(found=["a"], relevant=[])),
    ]

    figures = run_figures(results)

    assert figures["ndcg@10"]["cases"] == 1
    assert figures["ndcg@10"]["value"] == 1.0
    assert figures["p50_ms"]["value"] == 20
    assert "contains_answer" not in figures


def test_an_answer_is_judged_by_what_it_contains_and_cites():
    scores = answer_scores(text="It is 10 Ω.", cited=["guide"], answers=["10Ω"], relevant=["other"])

    assert scores == {"contains_answer": 1.0, "cites_relevant": 0.0}
