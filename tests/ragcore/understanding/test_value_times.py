"""Follow-ups for the value before, and for the one that holds now."""

from __future__ import annotations

import pytest

from ragcore.understanding.value_times import asks_former, resolve_value_time, value_time_wish


@pytest.mark.parametrize(
    "text",
    [
        "and before that?",
        "what was it earlier",
        "And before?",
        "what was it before the change?",
        "and in the old version?",
        "What did it use to be?",
        "previously?",
        "what was the old value?",
        "how much was it before?",
        "and under the previous rules?",
        "改之前呢",
        "那以前呢",
        "以前是多少",
        "原来呢？",
        "旧版呢",
        "修改前是多少？",
        "在此之前呢",
        "上一版呢",
        "那原来是几天",
        "原先怎么规定的",
    ],
)
def test_the_value_before_is_wanted(text):
    assert value_time_wish(text) == "former"


@pytest.mark.parametrize(
    "text",
    [
        "and now?",
        "what is it now?",
        "and today?",
        "and the current value?",
        "under the current rules?",
        "现在呢",
        "目前是多少",
        "新版呢",
        "修改后呢",
    ],
)
def test_the_value_that_holds_is_wanted(text):
    assert value_time_wish(text) == "present"


@pytest.mark.parametrize(
    "text",
    [
        "改之前要做什么检查",
        "before the installation?",
        "以前的经理是谁",
        "现在几点",
        "what is the current limit of the crane?",
        "and before installation?",
    ],
)
def test_a_question_of_its_own_is_none(text):
    assert value_time_wish(text) is None


@pytest.mark.parametrize(
    ("text", "earlier", "standalone"),
    [
        ("and before?", "How long is the guarantee?", "How long is the guarantee, previously?"),
        ("and now?", "How long is the guarantee, previously?", "How long is the guarantee?"),
        ("改之前呢", "探亲假几天？", "以前探亲假几天？"),
        ("现在呢", "以前探亲假几天？", "探亲假几天？"),
    ],
)
def test_the_same_thing_is_asked_for_the_other_time(text, earlier, standalone):
    resolution = resolve_value_time(text, earlier)

    assert resolution is not None
    assert resolution.text == standalone
    assert asks_former(standalone) is (text in ("and before?", "改之前呢"))


def test_a_side_that_the_question_names_itself_is_no_former_value():
    assert not asks_former("What is the drop rate before the repair?")
