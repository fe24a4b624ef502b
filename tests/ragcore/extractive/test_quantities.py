"""Figures of what a question asks the number of."""

import pytest

from ragcore.extractive.quantities import gives_unit, quantity_pattern
from ragcore.extractive.sentences import read_statements
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many UEs are used in the load test?", "Steps: 64 UEs start within one second."),
        ("How many beams can a device report?", "It reports up to four beams."),
        ("After how many seconds is it given up?", "It ends after 2 s."),
        ("How many dedicated preambles are there?", "64 dedicated random access preambles are kept."),
        ("前导码一共有多少个？", "每个时机最多有 64 个前导码。"),
        ("一个终端最多能用几个切片？", "一个终端使用 8 个切片。"),
        ("辅小区最多有几个？", "最多控制 7 个辅小区。"),
    ],
)
def test_a_figure_in_front_of_the_thing_is_found(question, text):
    assert quantity_pattern(question).search(text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many UEs are used in the load test?", "It passes within 500 ms."),
        ("After how many seconds is it given up?", "It ends after 2 sessions."),
        ("前导码一共有多少个？", "前导码有 839 个采样。"),
        ("前导码一共有多少个？", "两个终端选了同一个前导码。"),
    ],
)
def test_another_figure_is_none(question, text):
    assert not quantity_pattern(question).search(text)


def test_questions_for_no_number_of_things_have_no_pattern():
    assert quantity_pattern("What is a preamble?") is None
    assert quantity_pattern("什么是前导码？") is None


@pytest.mark.parametrize(
    ("question", "gives"),
    [
        ("what torque for the four screws", [1, 0, 0, 0]),
        ("支架的螺丝拧多大力矩", [1, 0, 0, 0]),
        ("how heavy is the unit", [0, 1, 0, 0]),
        ("整机多重", [0, 1, 0, 0]),
        ("what does the kit cost", [0, 0, 1, 0]),
        ("who mounts the unit", [0, 0, 0, 0]),
        ("整机多重，谁来安装", [0, 0, 0, 0]),  # two things are asked
    ],
)
def test_a_figure_in_a_unit_of_the_property_is_found(question, gives):
    texts = ["Tighten the screws to 3 N·m.", "It weighs 1.9 kg.", "The kit is € 320.", "Mounting takes 3 Nights."]
    found = read_statements([source(1, "\n\n".join(texts))], JiebaTokenizer())

    assert gives_unit(question, found).tolist() == gives
