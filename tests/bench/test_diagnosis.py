"""The figures of `make bench-diagnosis`: shares, calibration, and what was answered after the click (D36)."""

from __future__ import annotations

import pytest

from bench.diagnosis.figures import Outcome, calibration_error, figures_of, reliabilities, remedied, table


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
    }
    assert "1 of 2" in table(outcomes)


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
