"""The list of labelled failures, and the figures of `make bench-failures`."""

from __future__ import annotations

import json
import math

import pytest

from bench.failures.asking import Question, is_wrong
from bench.failures.figures import Compared, agreement, confusion, figures_of, shares_table
from bench.failures.labels import Label, labels_read

HEAD = "set\tquestion\tclass\tsubcause\treason\n"


def label(*, question="q1", cause="retrieval", subcause="missed retrieval") -> Label:
    return Label(set="squad", question=question, cause=cause, subcause=subcause, reason="other words")


def compared(found, *, expects_refusal=False, **values) -> Compared:
    return Compared(
        label=label(**values),
        found=found,
        detail="",
        where="dropped",
        confidence=0.5,
        expects_refusal=expects_refusal,
    )


def test_the_committed_list_has_enough_failures_in_both_halves_and_languages():
    failures = [one for one in labels_read() if one.is_failure]

    assert len(failures) >= 80
    assert min(sum(one.half == half for one in failures) for half in (0, 1)) >= 30
    assert len({one.set for one in failures}) >= 5
    assert all(one.reason for one in failures)


@pytest.mark.parametrize(
    "rows",
    ["squad\tq1\tretrieval\tlow recall\tx\n", "squad\tq1\tmagic\tmagic\tx\n", "squad\tq1\tright\tright\tx\n" * 2],
)
def test_a_list_with_unknown_causes_or_a_question_twice_is_refused(tmp_path, rows):
    path = tmp_path / "labelled.tsv"
    path.write_text(HEAD + rows, encoding="utf-8")

    with pytest.raises(ValueError, match="no such cause|labelled twice"):
        labels_read(path)


def test_right_answers_and_wrong_references_are_no_failures(tmp_path):
    path = tmp_path / "labelled.tsv"
    path.write_text(
        HEAD + 'squad\tq1\tright\tright\tsays "it"\nsquad\tq2\tnone\twrong reference\tx\n', encoding="utf-8"
    )

    assert [one.is_failure for one in labels_read(path)] == [False, False]
    assert labels_read(path)[0].reason == 'says "it"'


def test_agreement_counts_class_and_sub_cause():
    cases = [
        compared(("retrieval", "missed retrieval")),
        compared(("retrieval", "low relevance"), question="q2"),
        compared(("generation", "incomplete answer"), question="q3", expects_refusal=True),
    ]

    assert agreement(cases) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert math.isnan(agreement([])[0])
    assert json.loads(json.dumps(figures_of(cases, listed=5))) == {
        "class_agreement": 0.6667,
        "subcause_agreement": 0.3333,
        "cases": 5,
        "still_wrong": 3,
    }
    assert "| answerable questions | 2 | 1.000 | 0.500 |" in shares_table(cases)
    assert "| retrieval: missed retrieval | 1 | 1 | 1 |" in confusion(cases)


def test_nothing_wrong_any_more_is_an_error():
    with pytest.raises(ValueError, match="wrong any more"):
        figures_of([], listed=3)


LONG = "The committee met in spring, raised the budget of the northern branch and closed the southern one."


@pytest.mark.parametrize(
    ("answers", "relevant", "answer", "status", "wrong"),
    [
        (("64",), ("a",), "A cell has 64 preambles [1].", "answered", False),
        (("64",), ("a",), "A cell has many preambles [1].", "answered", True),
        (("64",), ("a",), "A cell has 64 preambles.", "search_results", True),
        ((), (), "", "refused", False),
        ((), (), "A cell has 64 preambles [1].", "answered", True),
        ((LONG,), ("a",), "In spring the committee met. It raised the budget of the northern branch and closed the "
         "southern one [1].", "answered", False),
        ((LONG,), ("a",), "The committee met in autumn [1].", "answered", True),
    ],
)  # fmt: skip
def test_what_counts_as_wrong(answers, relevant, answer, status, wrong):
    question = Question(set="squad", id="q1", text="How many?", answers=answers, relevant=relevant)

    assert is_wrong(question, answer=answer, status=status) is wrong
