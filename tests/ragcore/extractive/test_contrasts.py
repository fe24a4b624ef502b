"""What is told of the other side of a thing is no answer, or is said to be of the other side."""

import pytest

from ragcore.extractive.contrasts import told_side
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.ports import GenerationRequest
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()


def answer(question, *texts, title="Handbook", style="report"):
    sources = tuple(source(number, text, title=title) for number, text in enumerate(texts, 1))
    request = GenerationRequest(question=question, sources=sources, language=language_of(question), style=style)
    return "".join(ExtractiveGenerator(TOKENIZER).blocks(request))


def told(question, *texts):
    sources = [source(number, text) for number, text in enumerate(texts, 1)]
    return told_side(question, read_statements(sources, TOKENIZER), None, TOKENIZER)


PAIRS = [  # a question, the sentence that answers, the same of the other side
    (
        "What was the return loss before the repair?",
        "Before the repair the return loss was 8 dB.",
        "The return loss after the repair was 22 dB.",
    ),
    (
        "What was the latency after the upgrade?",
        "After the upgrade the latency was 8 seconds.",
        "The latency before the upgrade was 20 seconds.",
    ),
    (
        "What is the uplink rate of the terminal?",
        "In the uplink the terminal reaches a rate of 50 Mbit/s.",
        "The downlink rate of the terminal is 100 Mbit/s.",
    ),
    (
        "What is the minimum bandwidth of the cell?",
        "A bandwidth of 5 MHz is the minimum for the cell.",
        "The maximum bandwidth of the cell is 100 MHz.",
    ),
    (
        "What is the range with the booster?",
        "It has a range of 12 km with the booster.",
        "The range is 4 km without the booster.",
    ),
    (
        "What is the protection class of indoor units?",
        "All indoor units have the protection class IP20.",
        "The protection class of outdoor units is IP65.",
    ),
    (
        "What does the second stage of the amplifier do?",
        "In the second stage the amplifier raises the signal.",
        "The first stage of the amplifier filters the signal.",
    ),
    (
        "What is sent when the feature is disabled?",
        "If the feature is disabled, a short report is sent.",
        "When the feature is enabled, a long report is sent.",
    ),
    ("修复前的驻波比是多少？", "修复之前驻波比为2.3。", "修复后的驻波比是1.18。"),
    ("升级之后的时延是多少？", "升级后时延降到8毫秒。", "升级之前的时延是20毫秒。"),
    ("终端的上行速率是多少？", "终端上行速率可达50兆。", "终端的下行速率是100兆。"),
    ("小区的最小带宽是多少？", "小区带宽最小为5兆赫。", "小区的最大带宽是100兆赫。"),
    ("功能关闭时发送什么？", "功能关闭时，发送短报告。", "功能打开时发送长报告。"),
    ("室内设备的防护等级是多少？", "室内设备防护等级为IP20。", "室外设备的防护等级是IP65。"),
    ("第二阶段的目标是什么？", "第二阶段以覆盖为目标。", "第一阶段的目标是容量。"),
    ("含税价格是多少？", "含税价格为113元。", "不含税价格是100元。"),
]


@pytest.mark.parametrize(("question", "right", "other"), PAIRS)
def test_the_sentence_about_the_side_that_is_asked_for_answers_alone(question, right, other):
    for texts in ((right, other), (other, right), (f"{other}{right}" if "。" in right else f"{other} {right}",)):
        text = answer(question, *texts)

        assert right.rstrip("。.") in text
        assert other.rstrip("。.") not in text
        assert "**" not in text.split("[")[0].replace("**2.3**", "")
        assert told(question, *texts) == "same"


@pytest.mark.parametrize(("question", "right", "other"), PAIRS)
def test_an_answer_about_the_other_side_says_so(question, right, other):
    text = answer(question, other)

    assert told(question, other) == "other"
    assert text.startswith(("**The sources do not tell this of “", "**资料中没有“"))
    assert other.rstrip("。.") in text.replace("**", "")


def test_the_words_of_both_sides_stand_above_an_answer_about_the_other_one():
    question = "What was the return loss before the repair?"

    lead = answer(question, "The return loss after the repair was 22 dB.").partition("\n")[0]

    assert lead == "**The sources do not tell this of “before”, only of “after”**"


def test_traditional_chinese_has_words_of_its_own():
    text = answer("室內設備的防護等級是多少？", "室外設備的防護等級是IP65。")

    assert text.startswith("**資料中沒有「室內」的說明，以下是「室外」的情況**")


@pytest.mark.parametrize(
    ("question", "right", "other"),
    [
        (
            "What was the ratio before the repair?",
            "The measured ratio was 2.3, so an alarm was raised.",
            "Step 6. Verify. Ratio after the repair: 1.18.",
        ),
        ("修复前驻波比是多少？", "告警时测得驻波比为2.3，超过门限。", "第六步：验证。修复后驻波比为1.18。"),
    ],
)
def test_what_says_as_much_of_the_thing_comes_before_the_other_side(question, right, other):
    text = answer(question, right, other)

    assert right.split("，")[0].split(",")[0] in text.replace("**", "")
    assert "1.18" not in text
    assert told(question, right, other) == "unsaid"


def test_a_sentence_about_something_else_does_not_stand_in_for_the_other_side():
    text = answer(
        "What is the maximum uplink rate of the model X?",
        "The maximum downlink rate of the model X is 1 Gbit/s. The model X weighs 3 kg.",
    )

    assert text.startswith("**The sources do not tell this of “uplink”, only of “downlink”**")
    assert "1 Gbit/s" in text


def test_a_heading_says_of_which_side_its_sentences_tell():
    text = answer("室内站的防护等级是多少", "## 室外站\n\n防护等级为IP65。\n\n## 室内站\n\n防护等级为IP20。")

    assert "IP20" in text
    assert "IP65" not in text


def test_the_title_of_a_document_does_not():
    text = answer("How many users did the cell have before the storm?", "The cell had 14 users.", title="After a storm")

    assert text == "The cell had **14** users. [1]"


def test_both_sides_in_one_sentence_are_an_answer():
    text = answer("What was the ratio before the repair?", "The ratio was 2.3 before and 1.18 after the repair.")

    assert text == "The ratio was 2.3 before and 1.18 after the repair. [1]"


def test_who_compares_both_sides_gets_both():
    text = answer(
        "What was the ratio before and after the repair?",
        "Before the repair the ratio was 2.3.",
        "After the repair the ratio was 1.18.",
    )

    assert "2.3" in text
    assert "1.18" in text


@pytest.mark.parametrize("style", ["simple", "precise", "report"])
def test_the_line_stands_above_answers_of_every_style(style):
    text = answer("What was the loss before the repair?", "The loss after the repair was 22 dB.", style=style)

    assert text.startswith("**The sources do not tell this of “before”, only of “after”**\n\n")
    assert text.endswith("The loss after the repair was 22 dB. [1]")


CASE = """# A case

The measured ratio was 2.3 in the morning.

The connector was replaced. The ratio after the repair was 1.18.

Since then the ratio of that site has stayed below 1.25 on every day of the year.
"""


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("What was the ratio before the repair?", "2.3", "1.25"),
        ("How high was the ratio before the repair of the connector?", "2.3", "1.25"),
    ],
)
def test_what_was_before_stands_before_what_was_after(question, right, wrong):
    text = answer(question, CASE)

    assert right in text
    assert wrong not in text
    assert "1.18" not in text
