"""Rows chosen by what a column holds."""

import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.table_lookup import answers_by_rows, find_rows_of_kind
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
TOOLS = source(
    1,
    """# Tools on sale

| Tool | Fits | Price EUR | Weight | Delivery time (weeks) | In stock | Valid until |
| --- | --- | --- | --- | --- | --- | --- |
| T-1 hammer | B10 | 18.5 | 900 g | 1 | 40 | 2027-03-01 |
| T-2 vice | B10 / B20 | 120 | 4 kg | 6 | 0 | 2026-08-31 |
| T-3 drill | B20 | 96 | 2.1 kg | 2 | 7 | 2027-01-15 |
| T-4 hook | B30 | 3 | 80 g | 6 | 0 | 2028-01-01 |
""",
    title="Tools",
)
FREIGHT = source(1, "| Zone | Freight EUR |\n| --- | --- |\n| North | 900 |\n| South | 20 |\n", title="Freight")
ROOMS = source(
    2,
    """# 会议室一览

| 会议室 | 面积 | 座位数 | 租金 | 预订方式 |
| --- | --- | --- | --- | --- |
| 松厅 | 40 平 | 12 | 200 元 | 提前 5 天申请 |
| 竹厅 | 65 平 | 30 | 450 元 | 预约，最长 2 天 |
| 梅厅 | 18 平 | 6 | 0 元 | 预约，最长 1 周 |
| 兰厅 | 20 平 | 8 | 免费 | 预约，最长 3 周 |
""",
    title="会议室一览",
)


def rows(question, *sources, across=False):
    found = find_rows_of_kind(question, read_statements(sources, TOKENIZER), TOKENIZER, across=across)
    return found and [cells[0].split()[0] for cells, _ in found.rows]


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("what is the most expensive tool", ["T-2"]),
        ("cheapest tool", ["T-4"]),
        ("which tool costs the least?", ["T-4"]),
        ("the two cheapest tools", ["T-4", "T-1"]),
        ("which tool is the heaviest", ["T-2"]),  # 4 kg are more than 900 g
        ("which tool has the longest delivery time", ["T-2", "T-4"]),
        ("what is the most expensive tool for the B20", ["T-2"]),
        ("which is the cheapest tool for the B20", ["T-3"]),
        ("which tool is valid until the earliest date", ["T-2"]),
        ("what is the most expensive employee", None),
        ("which tool is the loudest", None),  # no column says it
        ("by when at the latest do i return a tool", None),
    ],
)
def test_the_row_with_the_largest_or_smallest_number(question, chosen):
    assert rows(question, FREIGHT, TOOLS) == chosen


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("哪个会议室最大", ["竹厅"]),
        ("面积最大的会议室是哪个", ["竹厅"]),
        ("最贵的会议室", ["竹厅"]),
        ("哪个会议室座位数最少", ["梅厅"]),
        ("会议室最长可以订几天", None),
    ],
)
def test_the_row_with_the_largest_or_smallest_number_in_chinese(question, chosen):
    assert rows(question, ROOMS) == chosen


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("which tools are out of stock", ["T-2", "T-4"]),
        ("what tools are not in stock?", ["T-2", "T-4"]),
        ("which tools are in stock", ["T-1", "T-3"]),
        ("list the tools for the B20 that are out of stock", ["T-2"]),
        ("which tools cost more than 90 EUR", ["T-2", "T-3"]),
        ("which tools weigh at most 1 kg", ["T-1", "T-4"]),
        ("which tools have a delivery time of at least two weeks", ["T-2", "T-3", "T-4"]),
        ("which tools have a delivery time of less than ten days", ["T-1"]),
    ],
)
def test_rows_that_meet_a_condition(question, chosen):
    assert rows(question, TOOLS) == chosen


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("哪些会议室是免费的", ["梅厅", "兰厅"]),
        ("哪些会议室最长只能订一周", ["竹厅", "梅厅"]),  # what is said of days in advance is no limit
        ("租金超过300元的会议室有哪些", ["竹厅"]),
        ("租金200元以上的会议室有哪些", ["松厅", "竹厅"]),
    ],
)
def test_rows_that_meet_a_condition_in_chinese(question, chosen):
    assert rows(question, ROOMS) == chosen


def test_a_condition_is_read_in_a_table_in_the_other_language():
    assert rows("最贵的工具是哪个", TOOLS) is None
    assert rows("最贵的工具是哪个", TOOLS, across=True) == ["T-2"]
    assert rows("which meeting rooms are free of charge", ROOMS, across=True) == ["梅厅", "兰厅"]
    assert not answers_by_rows("最贵的工具是哪个", read_statements([TOOLS], TOKENIZER), TOKENIZER)


def test_rows_with_a_condition_are_counted():
    found = read_statements([TOOLS], TOKENIZER)

    assert (
        find_rows_of_kind("how many tools are out of stock", found, TOKENIZER, whole=frozenset({1})).total == "2 tools"
    )


def test_the_chosen_row_is_shown_whole():
    request = GenerationRequest(question="what is the most expensive tool", sources=(TOOLS,))

    assert "".join(ExtractiveGenerator(TOKENIZER).blocks(request)) == (
        "T-2 vice · Fits: B10 / B20 · Price EUR: 120 · Weight: 4 kg · Delivery time (weeks): 6 · In stock: 0"
        " · Valid until: 2026-08-31 [1]"
    )
