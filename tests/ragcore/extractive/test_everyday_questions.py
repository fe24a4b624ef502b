"""Questions as a new user asks them over the sample documents: the list and its verdicts are in the docs."""

from __future__ import annotations

from bench.answers.everyday import QUESTIONS, everyday_answers

LEAST_RIGHT = 54  # of 60, ranked by words alone; the product's ranking finds more


def test_everyday_questions_are_answered_usefully_or_refused():
    told = list(everyday_answers())

    assert len(told) == len(QUESTIONS.read_text(encoding="utf-8").splitlines()) == 60
    missed = [one.question for one in told if not one.is_right]
    assert len(told) - len(missed) >= LEAST_RIGHT, missed
