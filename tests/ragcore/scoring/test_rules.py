"""The judge without a language model."""

from __future__ import annotations

import pytest

from ragcore.prompts.refusals import refusal
from ragcore.scoring.coherence import coherence
from ragcore.scoring.contradictions import Statement, contradiction
from ragcore.scoring.rules import AnswerJudge, JudgedAnswer
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()
JUDGE = AnswerJudge(TOKENIZER)
QUESTION = "How does an employee request annual leave?"
REFERENCE = (
    "An employee opens the leave form in the staff portal. The manager approves the request within 3 days. "
    "Requests of more than 10 days also need the approval of the department head."
)


def judged(answer, *, question=QUESTION, reference=REFERENCE, **given):
    return JUDGE.judge(JudgedAnswer(question=question, answer=answer, reference=reference, **given))


def test_the_reference_itself_is_the_best_answer():
    found = judged(REFERENCE)

    assert found.score > 0.9
    assert found.correctness > 0.8
    assert found.completeness > 0.9
    assert found.contradictions == ()


@pytest.mark.parametrize(
    "worse",
    [
        "An employee opens the leave form in the staff portal.",
        "An employee opens the leave form in the staff portal. The manager approves the request within 30 days.",
        "The canteen offers a vegetarian dish every day. It opens at noon.",
        "",
    ],
)
def test_what_is_missing_wrong_or_about_something_else_scores_lower(worse):
    better = "An employee opens the leave form in the staff portal. The manager approves the request within 3 days."

    assert judged(worse).score < judged(better).score < judged(REFERENCE).score


def test_a_refusal_misses_the_reference_and_claims_nothing_wrong():
    found = judged(refusal("report", "en"), contexts=("Any text.",))

    assert (found.score, found.completeness, found.relevance) == (0, 0, 0)
    assert found.faithfulness == 1


def test_key_points_count_for_completeness():
    points = ("The form is in the staff portal.", "Requests over 10 days need the department head.")
    half = judged("The leave form is found in the staff portal.", reference="", key_points=points)
    whole = judged(" ".join(points), reference="", key_points=points)

    assert half.completeness < whole.completeness


def test_without_reference_and_contexts_only_relevance_and_coherence_are_judged():
    found = judged("Open the leave form.", reference="")

    assert (found.score, found.correctness, found.completeness, found.faithfulness) == (None,) * 4
    assert found.relevance is not None
    assert found.coherence == 1


def test_one_invented_claim_lowers_faithfulness():
    contexts = (REFERENCE,)
    invented = (
        "An employee opens the leave form in the staff portal. The company pays a bonus of 500 euros in December."
    )

    assert judged(invented, contexts=contexts).faithfulness < judged(REFERENCE, contexts=contexts).faithfulness - 0.2


def test_chinese_answers_are_judged_by_their_words():
    question, reference = "年假如何申请？", "员工在人事系统填写年假申请表，由直属经理在三个工作日内审批。"
    good = judged("在人事系统填写年假申请表，经理三个工作日内审批。", question=question, reference=reference)
    bad = judged("食堂每天中午十二点开放。", question=question, reference=reference)

    assert good.score > bad.score + 0.3
    assert good.coherence == 1


@pytest.mark.parametrize(
    ("claim", "other", "rule"),
    [
        ("The timer runs for 20 ms before handover.", "The timer runs for 10 ms before handover.", "figure"),
        ("The timer runs for 10 s before handover.", "The timer runs for 10 ms before handover.", "unit"),
        ("The manager does not approve the request.", "The manager approves the request.", "negation"),
        ("The timer runs for 10 ms before handover.", "The timer runs for 10 ms before handover.", None),
        ("The timer runs for 10 ms before handover.", "Handover is a procedure of the network.", None),
        ("The manager does not approve late requests from contractors.", "The manager approves the request.", None),
        ("正式员工每年享有带薪年假 10 天。", "正式员工每年享有带薪年假 15 天。", "figure"),
    ],
)
def test_contradictions_are_named_by_their_rule(claim, other, rule):
    assert contradiction(Statement(claim, TOKENIZER), Statement(other, TOKENIZER)) == rule


def test_repetition_breaks_and_another_language_are_incoherent():
    once = "Open the form in the portal. Wait for the manager."

    assert coherence(once, question=QUESTION) == 1
    assert coherence(f"{once} {once}", question=QUESTION) == 0.5
    assert coherence("Open the form. Then wait for the", question=QUESTION) == 0.5
    assert coherence("请打开表格。", question=QUESTION) == 0.5
    assert coherence("```\nopen", question=QUESTION) == 0.5
    assert coherence("", question=QUESTION) == 0
