"""Two things that a question compares, side by side."""

from __future__ import annotations

import pytest

from ragcore.extractive.comparison import find_compared
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
MODELS = source(
    1,
    """# 水泵 P40 规格书

| 型号 | 定位 | 质量 |
| --- | --- | --- |
| P40-A | 标准版 | 31 kg |
| P40-B | 轻便版 | 24 kg |
| P40-C | 防腐版 | 31 kg |

| 指标 | A 型 / C 型 | B 型 |
| --- | --- | --- |
| 流量 | 12 m³/h | 9 m³/h |
| 扬程 | 30 m | 30 m |
""",
    title="水泵 P40 规格书",
)
SHORT_NAMES = source(
    2,
    """| 缩略语 | 全称 | 说明 |
| --- | --- | --- |
| TC | 技术评审 | 三次 |
| DP | 决策评审 | 一次 |

TC 由专家评审技术，DP 由管理层决定是否继续投资。
""",
    title="缩略语表",
)


def answer(question, *sources):
    return "".join(ExtractiveGenerator(TOKENIZER).blocks(GenerationRequest(question=question, sources=sources)))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("P40 A型跟B型主要差在哪", ("A型", "B型")),
        ("difference between type A and type B of the P40", ("type A", "type B")),
        ("4级和6级有啥不一样", ("4级", "6级")),
        ("TC和DP有啥区别", ("TC", "DP")),
        ("P40-A vs P40-B", ("P40-A", "P40-B")),
    ],
)
def test_the_compared_things_are_read_from_the_question(question, names):
    first, second = find_compared(question, TOKENIZER)

    assert (first.name, second.name) == names


def test_tables_of_both_things_are_one_without_what_is_the_same():
    assert answer("P40 A型跟B型主要差在哪", MODELS) == (
        "| 方面 | A型 | B型 |\n| --- | --- | --- |\n| 定位 | 标准版[1] | 轻便版[1] |\n"
        "| 质量 | 31 kg[1] | 24 kg[1] |\n| 流量 | 12 m³/h[1] | 9 m³/h[1] |"
    )


def test_one_aspect_is_told_even_where_it_is_the_same():
    assert answer("P40 A型和B型的扬程有什么区别", MODELS) == (
        "| 指标 | A 型 / C 型 | B 型 |\n| --- | --- | --- |\n| 扬程 | 30 m[1] | 30 m[1] |"
    )


def test_what_is_asked_names_the_line_that_tells_it():
    sheet = source(
        3,
        """| Property | P10 | P20 |
| --- | --- | --- |
| Sound pressure at 1 m | 42 dB | 47 dB |
| Net weight | 46 kg | 74 kg |
| Recommended fuse | 10 A | 16 A |
""",
        title="Pumps",
    )

    assert answer("p10 vs p20 noise and weight", sheet).splitlines()[2:] == [
        "| Sound pressure at 1 m | 42 dB [3] | 47 dB [3] |",
        "| Net weight | 46 kg [3] | 74 kg [3] |",
    ]
    assert answer("what breaker size for the p20", sheet) == "Recommended fuse · P20: 16 A [3]"


def test_what_prose_says_stands_below_the_table():
    table, rest = answer("TC和DP有啥区别", SHORT_NAMES).split("\n\n", 1)

    assert table.splitlines()[0] == "| 缩略语 | TC | DP |"
    assert rest == "**补充要点**\n\n- TC 由专家评审技术，DP 由管理层决定是否继续投资。[2]"
