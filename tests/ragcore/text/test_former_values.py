"""What texts say of values that hold no longer."""

from __future__ import annotations

import pytest

from ragcore.extractive.formatting import with_figure
from ragcore.text.former_values import former_spans, names_former, tells_former, tells_only_former, without_struck


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The guarantee of the pump is ~~18 months~~ 30 months.", "~~18 months~~"),
        ("The seal is greased every 40 days (was 20 days until May 2024).", "was 20 days"),
        ("Remote work is possible on 4 days, was 1 day until 2023.", "was 1 day"),
        ("丢失后应在~~48小时~~6小时内报告。", "~~48小时~~"),
        ("证明应在2个工作日内提交，原为7个工作日。", "原为7个工作日"),
    ],
)
def test_a_value_that_was_is_told_beside_the_one_that_is(text, value):
    assert [text[start:end] for start, end in former_spans(text)] == [value]
    assert not tells_only_former(text)


@pytest.mark.parametrize("text", ["It was 9 days before March 2024.", "它原为9天。"])
def test_a_sentence_may_tell_nothing_else(text):
    assert tells_only_former(text)


@pytest.mark.parametrize(
    "text",
    ["The crane was mounted before delivery.", "晚上8点以后需要登记。", "安装以前应检查电源。", "It lasts 9 days."],
)
def test_what_happened_or_comes_first_is_no_former_value(text):
    assert not tells_former(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("It takes ~~3 days~~ 8 days.", "It takes 8 days."),
        ("应在~~3天~~8天内提交。", "应在8天内提交。"),
        ("It takes ~~3 days~~ **8** days.", "It takes **8** days."),
        ("~~Nobody pays.~~ [1]", "~~Nobody pays.~~ [1]"),
    ],
)
def test_what_is_struck_and_replaced_is_left_out(text, plain):
    assert without_struck(text) == plain


@pytest.mark.parametrize(
    ("question", "is_former"),
    [
        ("How long is the guarantee, previously?", True),
        ("What was the limit before?", True),
        ("the old price of the pump", True),
        ("以前探亲假几天", True),
        ("修改前的周期是多少", True),
        ("How long is the guarantee?", False),
        ("修改前应检查什么", False),
    ],
)
def test_questions_for_a_former_value(question, is_former):
    assert names_former(question) is is_former


def test_the_figure_of_the_asked_time_stands_out():
    text = "The seal is greased every 40 days (was 20 days until the audit)."

    assert with_figure("How many days is the seal greased?", text).count("**40**") == 1
    assert with_figure("How many days was the seal greased, previously?", text).count("**20**") == 1
