"""Figures of a run and their intervals."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs.figures import CaseScores, dimension_figures, figure_of, run_figures
from evaluation.services.runs.measuring import case_dimensions
from evaluation.services.runs.reading import figure_shown
from tests.forms_plugin import examples


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_mean_lies_within_its_interval_and_the_interval_within_the_values(values):
    figure = figure_of(values, statistic="mean")

    assert figure.low - 1e-4 <= figure.value <= figure.high + 1e-4
    assert min(values) - 1e-4 <= figure.low
    assert figure.high <= max(values) + 1e-4


def test_more_cases_make_a_narrower_interval():
    few, many = (figure_of([0.0, 1.0] * n, statistic="mean") for n in (10, 1000))

    assert many.high - many.low < few.high - few.low


def test_the_same_values_give_the_same_interval():
    values = [0.1, 0.5, 0.9, 0.3]

    assert figure_of(values, statistic="mean") == figure_of(values, statistic="mean")


def test_no_values_have_no_figure():
    with pytest.raises(ValueError, match="no values"):
        figure_of([], statistic="mean")


def scored(seconds: float = 0.01, style: str = "original", **scores: float) -> CaseScores:
    return CaseScores(scores=scores, seconds=seconds, dimensions={"style": style})


def test_a_case_without_a_score_does_not_count_for_its_metric():
    figures = run_figures([scored(0.01, correctness=1.0), scored(0.03)])

    assert figures["correctness"] == {"value": 1.0, "low": 1.0, "high": 1.0, "cases": 1, "sd": 0.0}
    assert figures["p50_ms"]["value"] == 20
    assert "completeness" not in figures


def test_a_figure_has_the_standard_deviation_of_its_cases():
    assert run_figures([scored(correctness=1.0), scored(correctness=0.0)])["correctness"]["sd"] == 0.7071


def test_graded_recall_counts_the_cases_of_each_grade():
    results = [scored(recall_grade=1.0), scored(recall_grade=0.5), scored(recall_grade=1.0, style="summarised")]

    assert run_figures(results)["recall_grade"]["levels"] == {"correct": 2, "partial": 1, "none": 0}
    by_style = dimension_figures(results)["style"]
    assert by_style["original"]["recall_grade"]["levels"] == {"correct": 1, "partial": 1, "none": 0}
    assert by_style["summarised"]["recall_grade"]["value"] == 1.0


def test_the_page_has_the_grades_in_their_order():
    stored = {"value": 0.5, "cases": 3, "levels": {"none": 1, "correct": 1, "partial": 1}}

    assert list(figure_shown("recall_grade", stored).levels.items()) == [("correct", 1), ("partial", 1), ("none", 1)]
    assert figure_shown("recall@10", {"value": 0.5, "cases": 3}).levels == {}


def test_what_a_case_tests_are_dimensions_where_somebody_has_said():
    row = GoldenRow(question="Which band?", target="table", structure="sentence", robustness="synonyms")

    told = case_dimensions(row)

    assert (told["target"], told["structure"], told["robustness"]) == ("table", "sentence", "synonyms")
    assert not {"target", "structure", "robustness"} & case_dimensions(GoldenRow(question="Which band?")).keys()


def test_figures_are_told_by_dimension_where_there_is_more_than_one_value():
    results = [scored(correctness=1.0), scored(style="with_errors", correctness=0.0)]

    found = dimension_figures(results)["style"]

    assert found["original"]["correctness"] == {"value": 1.0, "sd": 0.0, "cases": 1}
    assert found["with_errors"]["correctness"]["value"] == 0.0
    assert dimension_figures(results[:1]) == {}
