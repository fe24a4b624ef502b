"""Rows, columns and sentences whose range holds an amount of the question."""

from __future__ import annotations

import pytest

from ragcore.extractive.banded_rows import find_covering_rows
from ragcore.extractive.banded_sentences import HOLDS, MISSES, band_odds
from ragcore.extractive.lookup_table import LookupTable, tables_of
from ragcore.extractive.row_question import RowQuestion
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.table_lookup import find_rows_of_kind
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
MEALS = source(
    1,
    """## Lodging

| Grade | Zone 1 towns | Zone 2 towns |
| --- | --- | --- |
| G1 to G2 | 90 EUR | 70 EUR |
| G3 and G4 | 120 EUR | 95 EUR |
| G5 and above | 160 EUR | 130 EUR |

Zone 1: Bergen, Turin, Lyon. Zone 2: Porto, Gent.
""",
    title="Allowances",
)
BONUS = source(
    2,
    """## 服务奖

| 工龄 | 奖金 |
| --- | --- |
| 不满 2 年 | 无 |
| 满 2 年不满 5 年 | 800 元 |
| 满 5 年 | 2000 元 |
""",
    title="福利办法",
)
FAULTS = source(
    3,
    """| 等级 | 情形 | 响应 |
| --- | --- | --- |
| 甲 | 停机 20 台以上；有人受伤 | 10 分钟 |
| 乙 | 停机 3 至 19 台；漏水 | 2 小时 |
| 丙 | 其他 | 次日 |
""",
    title="设备故障处置",
)
PRICES = source(
    4,
    """| Article | Name | 1-99 | 100-999 | 1,000+ | Base price | Delivery time |
| --- | --- | --- | --- | --- | --- | --- |
| BX-12 | plain box | 4.10 | 3.60 | 3.10 | 2.90 | 2 weeks |
| BX-12-L | box with lid | 5.20 | 4.70 | 4.05 | 3.80 | 3 weeks |
""",
    title="Box prices",
)
STATEMENTS = read_statements([MEALS, BONUS, FAULTS, PRICES], TOKENIZER)


@pytest.mark.parametrize(
    ("question", "cells"),
    [
        ("hotel in Turin, im G2, what is the limit", ("G1 to G2", "90 EUR")),
        ("what may a grade 4 spend per night in Gent", ("G3 and G4", "95 EUR")),
        ("G9 in Lyon: which rate", ("G5 and above", "160 EUR")),
        ("工龄三年奖金多少", ("满 2 年不满 5 年", "800 元")),
        ("我干了20个月，服务奖金有多少", ("不满 2 年", "无")),
        ("工龄满五年的奖金是多少", ("满 5 年", "2000 元")),
        ("停机25台算什么等级", ("甲", "停机 20 台以上；有人受伤")),
        ("停机三台的故障算哪个等级", ("乙", "停机 3 至 19 台；漏水")),
        ("工龄三年能请假吗", None),
        ("what did the plant pay for 3 pumps", None),
    ],
)
def test_the_row_of_a_scale(question, cells):
    rows = find_covering_rows(question, STATEMENTS, TOKENIZER)

    assert (rows and rows.rows[0][0]) == cells


def test_the_sentence_that_lists_a_column_stands_above_its_row():
    rows = find_covering_rows("limit for a G3 in Porto", STATEMENTS, TOKENIZER)

    assert rows.stated == ("Zone 2: Porto, Gent.", 1)


@pytest.mark.parametrize(
    ("question", "cells"),
    [
        ("unit price BX-12 for 250 pcs", ("BX-12", "3.60")),
        ("BX-12-L at 3k pieces", ("BX-12-L", "4.05")),
        ("price of 40 boxes with lid", ("BX-12-L", "5.20")),
        ("delivery time BX-12 for 250 pcs", ("BX-12", "2 weeks")),
    ],
)
def test_the_column_whose_name_holds_an_amount(question, cells):
    members = next(members for members in tables_of(STATEMENTS) if members[0].head[0] == "Article")
    table, row_question = LookupTable(members, TOKENIZER), RowQuestion.of(question, TOKENIZER)

    assert table.shown(table.named(row_question), row_question).rows[0][0] == cells


def test_of_ranges_in_one_paragraph_the_tightest_holds():
    text = "Rides under 3 hours: bus. From 3 hours: train. From 8 hours: sleeper. Racks R4 and R5 are locked."
    statements = read_statements([source(5, text, title="Trips")], TOKENIZER)

    assert list(band_odds("ride of 5 hours", statements)) == [MISSES, HOLDS, MISSES, 0.0]
    assert list(band_odds("ride of ten hours", statements)) == [MISSES, 0.0, HOLDS, 0.0]
    assert list(band_odds("may I use rack R1", statements)) == [0.0, 0.0, 0.0, 0.0]


def test_a_class_is_found_by_the_letter_that_a_legend_gives_it():
    manual = source(
        6,
        """# 1 分级

| 代号 | 名称 |
| --- | --- |
| H | 高危 |
| M | 一般 |

# 2 缺陷

| 编号 | 级 | 现象 |
| --- | --- | --- |
| 11 | H | 漏电 |
| 12 | M | 掉漆 |
| 13 | H | 冒烟 |
""",
        title="缺陷手册",
    )
    statements = read_statements([manual], TOKENIZER)

    rows = find_rows_of_kind("高危的缺陷一共几个", statements, TOKENIZER, whole=frozenset({1}))

    assert ([cells[0] for cells, _ in rows.rows], rows.total) == (["11", "13"], "2 个")


def test_a_value_with_a_number_is_of_its_kind():
    plan = source(
        7,
        """| 编号 | 项目 | 场地 |
| --- | --- | --- |
| T-1 | 振动 | 力学室 |
| T-2 | 噪声 | 消声室 1 |
| T-3 | 声压 | 消声室 2 + 力学室 |
""",
        title="测试计划",
    )
    rows = find_rows_of_kind("要用消声室的测试有哪几项", read_statements([plan], TOKENIZER), TOKENIZER)

    assert [cells[0] for cells, _ in rows.rows] == ["T-2", "T-3"]


@pytest.mark.parametrize(
    "question",
    ["How do the lodging limits of G1 and G5 in zone 1 compare?", "工龄3年和6年的服务奖差多少"],
)
def test_amounts_of_two_rows_name_no_single_one(question):
    statements = read_statements([MEALS, BONUS], TOKENIZER)

    assert find_covering_rows(question, statements, TOKENIZER) is None


def test_names_of_a_letter_and_a_number_are_no_scale():
    timers = source(1, "| Timer | Seconds |\n| --- | --- |\n| T1 | 10 |\n| T2 | 30 |", title="Timers")

    found = find_covering_rows(
        "How long does timer T1 run, and what starts it?", read_statements([timers], TOKENIZER), TOKENIZER
    )

    assert found is None
