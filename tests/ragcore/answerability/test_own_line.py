"""Where a set's own line of refusals lies."""

import math

import pytest

from ragcore.answerability.own_line import (
    BELOW_MEDIAN,
    LEAST_QUESTIONS,
    MOST_LOWERED,
    log_odds,
    lowered_by,
    lowered_line,
)

SHIPPED = 0.15


def probability(odds):
    return 1 / (1 + math.exp(-odds))


def test_a_set_whose_own_questions_score_low_gets_a_lower_line():
    median = log_odds(SHIPPED) + BELOW_MEDIAN - 0.8
    many = lowered_by([probability(median)] * 2000, SHIPPED)

    assert many == pytest.approx(0.8, abs=0.01)


def test_of_few_questions_less_is_believed_and_of_very_few_nothing():
    low = probability(log_odds(SHIPPED) + BELOW_MEDIAN - 0.8)

    assert lowered_by([low] * LEAST_QUESTIONS, SHIPPED) == pytest.approx(0.8 * 60 / 80, abs=0.01)
    assert lowered_by([low] * (LEAST_QUESTIONS - 1), SHIPPED) == 0.0


def test_the_line_is_never_raised_and_not_lowered_without_end():
    assert lowered_by([0.999] * 500, SHIPPED) == 0.0
    assert lowered_by([0.0] * 500, SHIPPED) == MOST_LOWERED


def test_a_line_is_moved_by_its_odds_and_no_line_stays_none():
    assert log_odds(lowered_line(SHIPPED, 0.5)) == pytest.approx(log_odds(SHIPPED) - 0.5)
    assert lowered_line(SHIPPED, 0.0) == SHIPPED
    assert lowered_line(0.0, 0.5) == 0.0
