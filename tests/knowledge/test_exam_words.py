"""What people read of an exam: the verdict, and each task with what was expected and why it counts as wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge.exam_task_words import task_rows
from knowledge.model_exam_words import profile_groups
from knowledge.model_verdicts import refusals_reason, verdict_of
from ragcore.llm.exam_results import TaskResult
from ragcore.llm.exam_tasks import exam_tasks, is_right
from ragcore.llm.model_profile import ModelProfile
from ragcore.prompts.refusals import refusal
from tests.ragcore.llm.test_exam import right_reply

WEAK = {"marks": 0.25, "plain": 0.5, "table": 0.5, "language": 0.5, "facts": 0.75, "refusal": 1.0}


def results_with(replies):
    """A whole exam; `replies`: by skill, else right."""
    results = []
    for task in exam_tasks():
        reply = replies.get(task.skill, right_reply(task))
        results.append(
            TaskResult(skill=task.skill, is_right=is_right(task, reply), reply=reply, language=task.language)
        )
    return results


def row_of(skill, replies):
    return next(
        row
        for task, row in zip(
            exam_tasks(), task_rows([result.as_json() for result in results_with(replies)]), strict=True
        )
        if task.skill == skill
    )


@pytest.mark.parametrize(
    ("skill", "reply", "reason"),
    [
        ("marks", "Every 4,000 hours.", "the mark of its source is missing"),
        ("plain", refusal("report", "en"), "It refuses although the texts say it."),
        ("plain", "It weighs 30 kg.", "does not say what was expected"),
        ("order", "HELICOPTER", "It follows the order in the document."),
        ("refusal", "It costs 100.", "It answers although the texts do not say it."),
        ("language", "The weight without the bracket is 18.5 kg", "in another language than the question"),
        ("grade", "{}", "It names other passages"),
    ],
)
def test_a_wrong_task_says_why(skill, reply, reason):
    row = row_of(skill, {skill: reply})

    assert row["outcome"] == "wrong"
    assert reason in str(row["reason"])
    assert row["question"]
    assert row["expected"]


def test_right_tasks_give_no_reason_and_longer_texts_that_were_not_tried_are_not_asked():
    assert row_of("marks", {})["outcome"] == "right"
    assert row_of("marks", {})["reason"] == ""
    results = results_with({})
    results[-1] = replace(results[-1], is_right=False, problem="left_out", reply="")

    row = task_rows([result.as_json() for result in results])[-1]

    assert (row["outcome"], str(row["reason"])) == ("skipped", "Not asked: a shorter text was too much.")


def test_results_of_an_earlier_exam_have_no_questions():
    rows = task_rows([TaskResult(skill="marks", is_right=True, reply="x").as_json()])

    assert [(row["question"], row["expected"], row["reply"]) for row in rows] == [("", "", "x")]


def test_a_model_that_only_chooses_is_limited_by_no_context():
    verdict = verdict_of(ModelProfile(way="fill", scores=WEAK, context_tokens=2_000))

    assert verdict.title.startswith("It chooses among quoted sentences")
    assert "25% of its tasks; 50% are needed" in verdict.reasons[0]
    assert "From sentences chosen for it, it was right in 75%" in verdict.reasons[0]
    assert "its longest prompt limits nothing" in verdict.consequences[0]
    assert "A bigger model that passes the exam writes answers." in verdict.consequences[-1]


@pytest.mark.parametrize(
    ("context", "speed", "more"),
    [
        (2_200, 5_000.0, "about 3 passages (1200 tokens); a longer prompt would allow more"),
        (32_000, 100.0, "about 2 passages (800 tokens); a faster machine would allow more"),
        (32_000, 5_000.0, "about 5 passages (2000 tokens), as many as an answer uses"),
    ],
)
def test_what_limits_a_model_that_writes_is_told(context, speed, more):
    profile = ModelProfile(way="plain", scores=WEAK, context_tokens=context, reading_speed=speed)

    assert more in verdict_of(profile).consequences[0]


def test_a_slow_model_is_told_from_a_quick_one():
    slow = ModelProfile(scores={"marks": 1.0}, reading_speed=50.0, first_token_seconds=2.0)

    assert "after about 62 s" in verdict_of(slow).consequences[1]
    assert "would answer sooner" in verdict_of(slow).consequences[2]
    assert len(verdict_of(replace(slow, reading_speed=3_000.0)).consequences) == 2


def test_what_a_person_set_is_no_finding():
    assert verdict_of(ModelProfile(way="quote"), overrides=["way"]).reasons == ["A person has set this by hand."]


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        (ModelProfile(way="fill", believes_refusals=False), "only a model that cites its sources itself"),
        (ModelProfile(believes_refusals=False, scores={"refusal": 0.5}), "it refused in 50% of the tasks"),
        (ModelProfile(), "it refuses where the sources do not tell"),
    ],
)
def test_why_refusals_are_believed_or_not(profile, reason):
    assert reason in refusals_reason(profile)


def test_figures_stand_in_groups_with_the_languages_apart():
    replies = {"marks": "Every 4,000 hours. [2]"}
    groups = dict(
        profile_groups(ModelProfile(scores=WEAK), results=[result.as_json() for result in results_with(replies)])
    )

    assert [str(title) for title in groups] == ["Writing", "Languages", "Reading", "Abilities"]
    languages = {str(label): str(value) for label, value in groups[next(t for t in groups if str(t) == "Languages")]}
    assert languages["English"] == "8 of 9 tasks right"
    assert languages["Chinese"] == "7 of 9 tasks right"
