"""What is to be done about a thing whose row does not say it."""

import pytest

from ragcore.extractive.direct_answers import find_missing, is_told
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.ports import GenerationRequest
from tests.contracts.generator import source
from tests.ragcore.extractive.stock_of_tables import DISKS, LIFTS, TOKENIZER

VALVES = source(
    8,
    """| Alarm | Text | Action |
| --- | --- | --- |
| V-1 | Valve stuck | Tap it. |
| V-2 | Valve leaks | see V-1 |
| V-3 | Valve cold | |
""",
    title="Valve alarms",
)


def answer(question, *sources):
    return "".join(ExtractiveGenerator(TOKENIZER).blocks(GenerationRequest(question=question, sources=sources)))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How do I handle E-17?", "1. Clean the door track. [4]\n2. Check the light barrier. [4]"),
        ("E-17 怎么处理", "1. Clean the door track."),
        ("what to do when the door does not close", "1. Clean the door track."),
        ("what should I do about E-22", "Replace the battery of the phone."),
        ("E-40: how to fix it?", "When the cabin stops uneven, adjust the brake and check the encoder. [4]"),
        ("F-101怎么处理", "1. 查看硬盘指示灯。[7]\n2. 重新插拔硬盘。[7]"),
        ("F-101故障咋办", "1. 查看硬盘指示灯。"),
        ("硬盘离线如何解决", "1. 查看硬盘指示灯。"),
        ("how to handle F-101", "1. 查看硬盘指示灯。"),
        ("what do I do about V-1", "Tap it."),
    ],
)
def test_handling_is_joined_by_code_and_name(question, told):
    assert told in answer(question, LIFTS, DISKS, VALVES)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("How do I handle E-31?", "E-31"),
        ("lamp flickers - how to fix?", "E-31"),
        ("E-31 怎么办", "E-31"),
        ("F-102 怎么处理", "F-102"),
        ("风扇转速低告警怎么处理", "F-102"),
        ("what do I do about V-3", "V-3"),
    ],
)
def test_handling_that_nothing_tells_is_missing(question, name):
    statements = read_statements([LIFTS, DISKS, VALVES], TOKENIZER)
    missing = find_missing(question, statements, TOKENIZER)

    assert (missing.kind, missing.name) == ("handling", name)
    assert not is_told(question, statements, TOKENIZER)


@pytest.mark.parametrize(
    "question",
    [
        "what is the priority of E-31",
        "F-102是什么级别",
        "what does E-31 mean",
        "how do I handle a customer complaint",
        "what should the priority of E-31 be",
    ],
)
def test_other_questions_lack_no_handling(question):
    assert find_missing(question, read_statements([LIFTS, DISKS], TOKENIZER), TOKENIZER) is None
