"""Things told apart by a number or letter behind their name."""

import pytest

from ragcore.text.labels import missing_labels


@pytest.mark.parametrize(
    ("question", "text", "missing"),
    [
        ("What was measured on port A?", "The value of port C was 2.3.", ["port A"]),
        ("What was measured on port C?", "The value of port C was 2.3.", []),
        ("What was measured on port A?", "The value was 2.3.", []),  # nothing is said of ports
        ("price of a Steamer 28 seal", "Seal for Steamer 23: 44 EUR", ["steamer 28"]),
        ("Steamer 28的密封圈", "Steamer 18 and Steamer 23", ["steamer 28"]),
        ("端口A测得多少", "端口C的测量值为2.3", ["端口 A"]),
        ("端口C测得多少", "端口C的测量值为2.3", []),
        ("what happens on May 20", "On May 3 and May 4 nothing happens.", []),
        ("the top 5 risks", "The top 3 risks are these.", []),
        ("within 30 minutes", "within 20 minutes", []),
        ("is it about 5 m long", "It is about 3 m long.", []),
        ("the fan at 50 % load", "the fan at 30 % load", []),
        ("is port 1.5 there", "port 1.7", []),
        ("什么是六步随机接入", "两步随机接入合并消息。四步随机接入有四条消息。", ["步随机 6"]),
        ("什么是四步随机接入", "两步随机接入合并消息。四步随机接入有四条消息。", []),
        ("四步随机接入的流程", "随机接入的流程", []),
        ("三层交换机怎么配置", "二层交换机的配置", ["层交换 3"]),
        ("第三层的会议室", "第二层的会议室", []),
        ("进一步优化的措施", "两步优化", []),
        ("下一代产品的名称", "五代产品", []),
        ("How does a three-step handshake begin?", "The two-step handshake is quick.", ["step handshake 3"]),
        ("How does a 2-step handshake begin?", "The two-step handshake is quick.", []),
        ("a high-level design", "a low-level design", []),
    ],
)
def test_a_label_is_missing_where_only_others_of_its_name_are_there(question, text, missing):
    assert missing_labels(question, [text]) == missing
