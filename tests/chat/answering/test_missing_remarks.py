"""What a refusal says of a thing that is not there."""

import pytest

from chat.answering.missing_remarks import missing_remark
from ragcore.extractive.direct_answers import Missing


@pytest.mark.parametrize(
    ("question", "missing", "remark"),
    [
        ("what is step 9", Missing("step", "Changing the filter", 5), "“Changing the filter” has 5 steps."),
        ("第九步是什么", Missing("step", "更换滤芯", 6), "“更换滤芯”共有 6 步。"),
        ("How do I handle E-31?", Missing("handling", "E-31"), "The sources do not say how E-31 is handled."),
        ("F-102 怎么处理", Missing("handling", "F-102"), "资料中没有 F-102 的处理方法。"),
        ("未达标的服务器", Missing("target"), "资料中没有给出目标值。"),
    ],
)
def test_the_refusal_says_what_is_missing(question, missing, remark):
    assert missing_remark(question, missing) == remark
