"""The part of a message that asks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.question_core import message_question, question_core


@pytest.mark.parametrize(
    ("message", "core"),
    [
        ("how do i reset the pump", "how do i reset the pump"),
        (
            "Good morning, I am new here. Could you tell me how to reset the pump? Thanks a lot",
            "Could you tell me how to reset the pump?",
        ),
        ("Hello. The pump P10 stopped. How do I reset it?", "The pump P10 stopped. How do I reset it?"),
        ("We sold nine pumps. Who approves the tenth one? Soon.", "We sold nine pumps. Who approves the tenth one?"),
        ("The pump is hot, what is the reason?", "The pump is hot"),
        (
            "Hi, we mounted a P10 on Monday and all lights are green, but the pump does not turn. Any idea why??",
            "the pump does not turn",
        ),
        (
            "A customer came in with a pump. The display shows E22. He was cross. What do I have to do with it?",
            "The display shows E22. He was cross. What do I have to do with it?",
        ),
        (
            "A customer came in with a pump, the display shows E22. He was cross. What do I do with the seal?",
            "A customer came in with a pump, the display shows E22. What do I do with the seal?",
        ),
        ("What is the reason for the noise of the pump?", "What is the reason for the noise of the pump?"),
        ("水泵怎么复位", "水泵怎么复位"),
        ("你好，我在这里累计工作12年了，来本厂刚满两年，想咨询一下我现在有多少天年假，谢谢！", "我现在有多少天年假"),
        ("昨天去客户那边出差，打车花了一百多，超过标准的部分，这个能报吗", "超过标准的部分，这个能报吗"),
        (
            "我们上周收到一台水泵，还没拆箱，老板想退掉，销售说退货要扣钱，但是没说清楚，我想知道到底要扣多少，退款多久能到账",
            "销售说退货要扣钱，但是没说清楚，要扣多少，退款多久能到账",
        ),
        ("我们一共有三台水泵，都是去年买的，最近噪声大", "我们一共有三台水泵，都是去年买的，最近噪声大"),
    ],
)
def test_courtesies_and_the_story_around_a_question_are_left_out(message, core):
    assert question_core(message) == core


@given(st.text(max_size=200))
def test_what_is_left_is_part_of_the_message(message):
    core = question_core(message)

    assert core == message or set(core) <= set(message) | set(" ，")


@given(st.text(alphabet="abc ?.水泵多少，。", max_size=80))
def test_the_core_of_a_core_is_itself_or_less(message):
    assert len(question_core(question_core(message))) <= len(question_core(message))


@pytest.mark.parametrize(
    ("message", "question"),
    [
        (
            "Hi all! I am new in the yard. Ben showed me the crane yesterday. We want to lift more next week. "
            "My boss is away. How much can the crane lift? Thanks a lot!",
            "How much can the crane lift?",
        ),
        (
            "您好，我上周搬了工位。东西都收在一个箱子里。结果钥匙找不到了。同事也帮我找过。请问钥匙丢了收多少钱？多谢！",
            "钥匙丢了收多少钱？",
        ),
        (
            "The pump stopped in hall 4. The panel shows E77. We started again twice. The lamp is red. What now?",
            "The panel shows E77. What now?",
        ),
    ],
)
def test_of_a_long_message_the_sentences_that_ask_are_read(message, question):
    assert message_question(message) == question


@pytest.mark.parametrize(
    "message",
    [
        "How heavy is it?",
        "We have a dock. It is old. It was mended in May. My boss likes it. Is it still covered?",
        "你好，我累计工作满12年了，到公司刚满两年，想咨询下我今年一共能休几天年假，谢谢！",
    ],
)
def test_a_short_message_and_one_that_leans_on_its_story_stay_whole(message):
    assert message_question(message) == message
