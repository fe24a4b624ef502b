import pytest

from ragcore.types import Profile
from ragcore.understanding.standalone import resolve_user_profile

ZH = Profile(department="射频部", product="BTS3900", role="射频工程师")
EN = Profile(department="RAN Software", product="AirScale", role="test engineer")


@pytest.mark.parametrize(
    ("profile", "text", "expected"),
    [
        (ZH, "我们部门的报销标准是什么", "射频部的报销标准是什么"),
        (ZH, "我的产品支持哪些频段", "BTS3900支持哪些频段"),
        (ZH, "我需要参加哪些培训", "射频工程师需要参加哪些培训"),
        (ZH, "我的岗位有什么职责", "射频工程师岗位有什么职责"),
        (EN, "What is my team's budget?", "What is the RAN Software team's budget?"),
        (EN, "Which bands does our product support?", "Which bands does AirScale support?"),
        (EN, "What training do I need?", "What training do I as test engineer need?"),
    ],
)
def test_first_persons_become_what_the_profile_says(profile, text, expected):
    found = resolve_user_profile(text, profile)

    assert found.text == expected
    assert found.signs


@pytest.mark.parametrize("text", ["我想知道5G是什么", "本产品经理是谁", "How do I reset the unit?", "my password"])
def test_other_first_persons_mean_nothing(text):
    assert resolve_user_profile(text, ZH) == type(resolve_user_profile("", None))(text)


def test_without_a_profile_the_sign_is_only_named():
    found = resolve_user_profile("我们部门的报销标准是什么", None)

    assert (found.text, found.signs) == ("我们部门的报销标准是什么", ("我们部门",))


def test_a_department_that_says_so_itself_is_not_called_one_twice():
    assert (
        resolve_user_profile("my department's plan", Profile(department="Sales Department")).text
        == "Sales Department's plan"
    )
