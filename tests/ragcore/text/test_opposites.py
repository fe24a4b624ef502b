"""Which side of a thing a question asks about, and which one a text tells of."""

import pytest

from ragcore.text.opposites import count_opposites, named_sides
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()


def standing(question, text):
    sides = named_sides(question, TOKENIZER)
    assert sides, f"{question} names no side"
    standings = {side.mention_in(text, TOKENIZER)[0] for side in sides}
    return "other" if "other" in standings else "same" if "same" in standings else "none"


@pytest.mark.parametrize(
    ("question", "same", "other"),
    [
        ("What was the ratio before the repair?", "Before the repair it was 2.3.", "The ratio after the repair: 1.18."),
        ("What is the uplink rate?", "The uplink rate is 50 Mbit/s.", "The downlink rate is 100 Mbit/s."),
        ("What is the maximum bandwidth?", "The maximum bandwidth is 100 MHz.", "The minimum bandwidth is 5 MHz."),
        ("How is the latency with aggregation?", "It is 8 ms with aggregation.", "Without aggregation it is 12 ms."),
        ("Where do indoor units stand?", "Indoor units stand in the rack.", "The outdoor units stand on the roof."),
        ("What does the first stage do?", "The first stage filters.", "The second stage amplifies."),
        (
            "What is sent when the feature is enabled?",
            "If the feature is enabled, A.",
            "When this feature is disabled, B.",
        ),
        ("Which unit is primary for site A?", "The primary unit of site A is 3.", "The standby unit of site A is 4."),
        ("When does the office open?", "The office opens at 8.", "The office closes at 18."),
        ("修复前的驻波比是多少", "修复前驻波比为2.3。", "修复之后驻波比为1.18。"),
        ("升级之后的时延是多少", "升级后时延为8毫秒。", "升级以前时延为20毫秒。"),
        ("上行速率是多少", "上行速率为50兆。", "下行速率为100兆。"),
        ("最大带宽是多少", "最大带宽为100兆赫。", "最小带宽为5兆赫。"),
        ("功能打开时怎么处理", "打开功能后发送A。", "功能关闭时发送B。"),
        ("室内设备的防护等级", "室内设备的防护等级为IP20。", "室外设备的防护等级为IP65。"),
        ("第一阶段做什么", "第一阶段滤波。", "第二阶段放大。"),
        ("含税价格是多少", "含税价格为113元。", "不含税价格为100元。"),
        ("甲方的违约责任是什么", "甲方的违约责任见第5条。", "乙方的违约责任见第6条。"),
        ("工作日几点关门", "工作日18点关门。", "周末16点关门。"),
    ],
)
def test_a_text_tells_of_the_side_that_is_asked_for_or_of_the_other_one(question, same, other):
    assert standing(question, same) == "same"
    assert standing(question, other) == "other"
    assert standing(question, f"{same} {other}") == "same"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What was the ratio before the repair?", "After the lunch the ratio was read again."),
        ("What is the uplink rate?", "The downlink uses OFDM."),
        ("How long does it take without an appointment?", "It opens with a key."),
        ("What is the maximum of the first quarter?", "It takes 5 min and 10 Mbit per second."),
        ("修复前的驻波比是多少", "目前驻波比正常，后台可以查询。"),
        ("升级后的时延是多少", "当前时延为8毫秒。"),
    ],
)
def test_the_other_side_of_another_thing_is_none(question, text):
    assert standing(question, text) == "none"


@pytest.mark.parametrize(
    "question",
    [
        "Compare the ratio before and after the repair",
        "What is the difference between uplink and downlink?",
        "上行和下行的速率各是多少",
        "修复前后的驻波比",
        "What is a mast?",
        "目前有哪些基站",
    ],
)
def test_who_asks_about_both_sides_or_none_names_none(question):
    assert named_sides(question, TOKENIZER) == ()


def test_the_words_of_both_sides_are_told():
    (side,) = named_sides("What was the ratio before the repair?", TOKENIZER)

    assert side.word == "before"
    assert side.mention_in("The ratio after the repair: 1.18.", TOKENIZER) == ("other", "after")


def test_opposites_are_counted_where_the_word_itself_is_missing():
    assert count_opposites("the highest mast", "the lowest mast") == 1
    assert count_opposites("the highest mast", "the highest and the lowest mast") == 0
