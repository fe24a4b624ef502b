"""The figures of `make bench-diagnosis`: shares, calibration, and what was answered after the click."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.diagnosis.figures import (
    Outcome,
    RestScore,
    calibration_error,
    figures_of,
    reliabilities,
    remedied,
    rest_figures,
    rest_table,
    table,
)


def outcome(*, found="retrieval", rule="words", confidence=0.9, is_remedied=None) -> Outcome:
    return Outcome(
        kind="question in unknown words",
        question="why?",
        planted=("retrieval", "missed retrieval", "missing synonym"),
        found=(found, "missed retrieval", "missing synonym"),
        where="dropped",
        confidence=confidence,
        rule=rule,
        remedy="add_question" if is_remedied is not None else "",
        is_remedied=is_remedied,
    )


def test_only_failures_with_a_remedy_count_as_remedied():
    outcomes = [outcome(is_remedied=True), outcome(is_remedied=False), outcome()]

    assert remedied(outcomes) == 0.5
    assert remedied([outcome()]) is None
    assert figures_of(outcomes) == {
        "class_accuracy": 1.0,
        "subcause_accuracy": 1.0,
        "ece": 0.1,
        "remedied": 0.5,
        "cases": 3,
        "rest_cases": 0,
        "rest_ndcg_change": None,
        "rest_answered_change": None,
        "rest_lost": 0,
        "rest_won": 0,
    }
    assert "1 of 2" in table(outcomes)


def test_what_a_remedy_does_to_other_questions_is_paired():
    before = (RestScore(ndcg=1.0, answered=1.0), RestScore(ndcg=0.5, answered=0.0), RestScore(ndcg=0.0, answered=0.0))
    after = (RestScore(ndcg=0.7, answered=0.0), RestScore(ndcg=0.5, answered=1.0), RestScore(ndcg=0.0, answered=0.0))
    outcomes = [replace(outcome(is_remedied=True), before=before, after=after), outcome()]

    assert rest_figures(outcomes) == {
        "rest_cases": 3,
        "rest_ndcg_change": -0.1,
        "rest_answered_change": 0.0,
        "rest_lost": 1,
        "rest_won": 1,
    }
    row = rest_table(outcomes).splitlines()[-1]
    assert row.startswith("| add_question | 1 | 3 | -0.100 (")
    assert row.endswith("| 1 | 1 |")


def test_rules_are_calibrated_by_their_share_of_right_classes():
    outcomes = [outcome(), outcome(found="reranking"), outcome(rule="rights")]

    assert reliabilities(outcomes) == {"rights": (1, 1.0, 1.0), "words": (2, 0.5, 1.0)}


@pytest.mark.parametrize(
    ("confidences", "right", "error"),
    [([1.0, 1.0], [True, True], 0.0), ([0.95, 0.95], [True, False], 0.45), ([0.05, 0.95], [False, True], 0.05)],
)
def test_the_calibration_error_is_the_gap_of_the_bins(confidences, right, error):
    assert calibration_error(confidences, right) == pytest.approx(error)


def test_nothing_planted_is_an_error():
    with pytest.raises(ValueError, match="nothing was planted"):
        figures_of([])
