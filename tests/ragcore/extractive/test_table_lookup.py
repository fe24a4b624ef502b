"""Rows and columns of tables that questions name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragcore.extractive.formatting import wording_for
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.row_blocks import found_rows_block
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.table_lookup import (
    answers_by_rows,
    find_covering_rows,
    find_named_cell,
    find_named_rows,
    find_rows_of_kind,
)
from ragcore.ports import GenerationRequest
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
PUMPS = source(
    1,
    """# Pumps

| Parameter | P10-A | P10-B |
| --- | --- | --- |
| Weight | 12 kg | 15 kg |
| Power, typical | 90 W | 120 W |
| Power, maximum | 140 W | 180 W |
| Noise | 41 dB | 44 dB |
""",
    title="Pumps P10 data sheet",
)
COURSES = source(
    2,
    """| Code | Title | Place | Price | Owner |
| --- | --- | --- | --- | --- |
| C-1 | Welding | workshop, Oslo | 300 | training lead |
| C-2 | Glueing | online | 200 | chemist |
| C-3 | Milling | hall 2, Oslo | 450 | machinist |
""",
    title="Courses",
)
ALARMS = source(
    3,
    """| 告警 | 名称 | 级别 | 优先级 | 处理步骤 |
| --- | --- | --- | --- | --- |
| ALM-1 | 过温 | 紧急 | 高 | 1. 断电。 2. 冷却 20 分钟。 |
| ALM-2 | 欠压 | 重要 | 低 | 1. 测量电压。 |
| ALM-3 | 漏水 | 紧急 | 低 | 1. 关阀。 |
""",
    title="告警手册",
)


ALARMS_HEAD = ("告警", "名称", "级别", "优先级", "处理步骤")


def named(question, of=PUMPS):
    found = read_statements([of], TOKENIZER)
    rows = find_named_rows(question, next(s for s in found if s.head), found, TOKENIZER)
    return rows and [rows.head, *(cells for cells, _ in rows.rows)]


STOCK = source(
    4,
    """| Part | Fits | Number of units | Licence needed | Price |
| --- | --- | --- | --- | --- |
| S-1 | P10 | 4 | needed | 30 |
| S-2 | P20 | 7 | not needed | 45 |
| S-3 | P10 | 2 | not needed | 50 |
""",
    title="Stock",
)
HOTELS = source(
    5,
    """| 职级 | 一类城市 | 二类城市 |
| --- | --- | --- |
| 普通员工 | 550 元 | 400 元 |
| 经理 | 700 元 | 500 元 |

一类城市：北京、上海、杭州。二类城市：其他省会城市。
""",
    title="住宿标准",
)


def kind(question, *sources):
    rows = find_rows_of_kind(question, read_statements(sources, TOKENIZER), TOKENIZER)
    return rows and [cells[0] for cells, _ in rows.rows]


def test_a_row_is_shown_in_the_columns_that_were_asked_for():
    assert named("p10-b max power") == [("Parameter", "P10-B"), ("Power, maximum", "180 W")]
    assert named("how much is the milling course", COURSES) == [
        ("Code", "Title", "Price"),
        ("C-3", "Milling", "450"),
    ]
    assert named("who owns C-2", COURSES) == [("Code", "Owner"), ("C-2", "chemist")]


def test_without_a_column_the_whole_row_is_shown():
    assert named("the welding course", COURSES)[1] == ("C-1", "Welding", "workshop, Oslo", "300", "training lead")


def test_several_rows_are_shown_where_the_question_joins_them():
    shown = named("P10-A: weight and noise")

    assert shown == [("Parameter", "P10-A"), ("Weight", "12 kg"), ("Noise", "41 dB")]


@pytest.mark.parametrize("question", ["P10-A or P10-B", "what is it painted with", "pumps"])
def test_no_row_stands_out(question):
    assert named(question) is None


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("which courses are held in Oslo", ["C-1", "C-3"]),
        ("list the online courses", ["C-2"]),
        ("紧急的告警有哪些", ["ALM-1", "ALM-3"]),
        ("低优先级的告警有哪几个", ["ALM-2", "ALM-3"]),
        ("紧急而且低优先级的都有哪些", ["ALM-3"]),
        ("where is the welding course", None),  # one is asked for
        ("which courses are held in Bergen", None),
        ("how many hoses do we have for the welding", None),  # courses are no hoses
    ],
)
def test_all_rows_of_a_kind_are_listed(question, rows):
    assert kind(question, COURSES, ALARMS) == rows


def test_one_row_is_told_with_the_names_of_its_columns_and_its_steps_in_one_piece():
    request = GenerationRequest(question="ALM-1怎么处理", sources=(ALARMS,), language="zh")

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert text == "ALM-1 · 处理步骤：1. 断电。 2. 冷却 20 分钟。[3]"


@pytest.mark.parametrize(
    ("question", "total"),
    [
        ("how many urgent courses are held in Oslo", "2 urgent courses"),
        ("紧急的告警一共有几条", "2 条"),
        ("which courses are held in Oslo", ""),
    ],
)
def test_how_many_there_are_is_told_of_whole_tables_only(question, total):
    found = read_statements([COURSES, ALARMS], TOKENIZER)

    assert find_rows_of_kind(question, found, TOKENIZER, whole=frozenset({1})).total == total
    assert find_rows_of_kind(question, found, TOKENIZER).total == ""


@pytest.mark.parametrize(
    ("question", "of", "told"),
    [
        ("告警一共有多少条 其中紧急的几条", ALARMS, "**共 3 条，其中 2 条**"),
        (
            "how many courses are there and how many of them are held in Oslo",
            COURSES,
            "**3 courses in all, of which 2 courses**",
        ),
        ("紧急的告警一共有几条", ALARMS, "**共 2 条**"),
    ],
)
def test_how_many_there_are_and_how_many_of_these(question, of, told):
    found = read_statements([of], TOKENIZER)

    rows = find_rows_of_kind(question, found, TOKENIZER, whole=frozenset({of.passage.version}))

    assert found_rows_block(rows, wording_for(question, language_of(question))).splitlines()[0] == told


def test_a_version_is_found_with_and_without_its_letter():
    history = source(
        4,
        """| Version | Date | Change |
| --- | --- | --- |
| 1.2 | 2024-02-01 | first print |
| 1.3 | 2025-03-01 | shorter cable |
| 1.4 | 2026-05-01 | new bolts |
""",
        title="Pump guide",
    )

    assert named("what changed in v1.4 of the pump guide", history)[1:] == [("1.4", "new bolts")]
    assert named("what changed in 1.4 compared to version 1.3", history)[1:] == [("1.4", "new bolts")]


def test_a_column_of_numbers_answers_how_many():
    rows = find_rows_of_kind("how many units fit the P10", read_statements([STOCK], TOKENIZER), TOKENIZER)

    assert (rows.head, [cells for cells, _ in rows.rows]) == (("Part", "Number of units"), [("S-1", "4"), ("S-3", "2")])


@pytest.mark.parametrize(
    ("question", "rows"),
    [("list all parts for which a licence is needed", ["S-1"]), ("list all parts with no licence", ["S-2", "S-3"])],
)
def test_a_column_of_yes_and_no_is_read_as_the_question_asks(question, rows):
    assert kind(question, STOCK) == rows


def test_what_a_legend_lists_names_the_column():
    found = read_statements([HOTELS], TOKENIZER)
    question = "去杭州出差 普通员工一晚能报多少"

    assert answers_by_rows(question, found, TOKENIZER)
    assert named(question, HOTELS) == [("职级", "一类城市"), ("普通员工", "550 元")]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("ALM-1是什么原因、怎么处理", True),
        ("紧急的告警有哪些", True),
        ("ALM-1的发明人", False),  # no column says it
        ("明天29号会下雨吗", False),
    ],
)
def test_a_table_surely_answers(question, answers):
    assert answers_by_rows(question, read_statements([ALARMS], TOKENIZER), TOKENIZER) is answers


def test_a_row_is_told_whole_where_several_things_are_asked():
    assert named("ALM-1 是什么告警 要怎么处理", ALARMS)[0] == ALARMS_HEAD
    assert named("ALM-1 怎么处理", ALARMS)[0] == ("告警", "处理步骤")


def test_compared_codes_leave_what_they_are_compared_in():
    request = GenerationRequest(question="P10-A vs P10-B noise and weight", sources=(PUMPS,))

    assert "".join(ExtractiveGenerator(TOKENIZER).blocks(request)) == (
        "| Parameter | P10-A | P10-B |\n| --- | --- | --- |\n"
        "| Weight | 12 kg [1] | 15 kg [1] |\n| Noise | 41 dB [1] | 44 dB [1] |"
    )


def test_a_long_table_is_counted_and_shown_in_part():
    rows = "\n".join(f"| F{n:02} | fault {n} | high |" for n in range(1, 31))
    faults = source(6, f"| Code | Name | Level |\n| --- | --- | --- |\n{rows}\n", title="Fault codes of the lift")
    found = read_statements([faults], TOKENIZER)

    rows = find_rows_of_kind("how many fault codes are in the list", found, TOKENIZER, whole=frozenset({1}))

    assert (rows.total, len(rows.rows), rows.omitted) == ("30 fault codes", 5, 25)


@pytest.mark.parametrize("question", ["which is heavier, P10-A or P10-B", "P10-A和P10-B哪个重"])
def test_which_of_two_things_is_answered_by_both(question):
    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(GenerationRequest(question=question, sources=(PUMPS,))))

    assert text.startswith("| Parameter | P10-A | P10-B |")


BOOK = (
    source(
        7,
        """# 设备清单

| 编号 | 设备 | 保管组 | 使用 |
| --- | --- | --- | --- |
| WORKSHOP-1 | 台钻 | 机加组 | 只在车间使用 |
| WORKSHOP-2 | 砂轮机 | 机加组 | 可外借 |
| WORKSHOP-3 | 焊机 | 焊接组 | 可外借 |
""",
        title="workshop-devices",
    ),
    source(
        6,
        """# 保管组电话

| 保管组 | 分机 |
| --- | --- |
| 机加组 | 101 |
| 焊接组 | 102 |
""",
        title="workshop-devices",
    ),
)


@pytest.mark.parametrize(
    ("question", "total"),
    [
        ("车间一共有多少台设备", "3 台"),
        ("设备总共有几台", "3 台"),
        ("机加组有几台设备", "2 台"),
        ("how many devices does the workshop have in total", "3 devices"),
        ("how many workshop devices are there", "3 workshop devices"),
        ("车间一共有多少台服务器", None),  # no table says what is counted
        ("北京一共有多少台设备", None),
    ],
)
def test_the_table_of_what_is_counted_is_counted(question, total):
    sheets = [replace(one, passage=replace(one.passage, ordinal=7 - one.number)) for one in BOOK[::-1]]
    found = read_statements(sheets, TOKENIZER)

    rows = find_rows_of_kind(question, found, TOKENIZER, whole=frozenset({1}))

    assert (rows and rows.total) == total


DRIVES = source(
    8,
    """Every class B drive may be told by its feeding ports. A class B drive with one feeding port costs less to run.
The number of feeding ports of a drive is printed on its plate.

| Property | Class C drive | Class B drive |
| --- | --- | --- |
| Feeding ports | 4 | 1 or 2 |
| Speed | 900 rpm | 600 rpm |
""",
    title="Drives",
)
MOTORS = source(
    9,
    """B 型电机的冷却通道用水冲洗。冷却通道在外壳里，B 型电机另有风扇。

| 项目 | A型电机 | B型电机 |
| --- | --- | --- |
| 冷却通道 | 4 个 | 2 个 |
| 转速 | 900 转 | 600 转 |
""",
    title="电机说明",
)


@pytest.mark.parametrize(
    ("question", "of", "told"),
    [
        ("How many feeding ports does a class B drive have?", DRIVES, "Feeding ports · Class B drive: 1 or 2 [8]"),
        ("feeding ports of the class C drive", DRIVES, "Feeding ports · Class C drive: 4 [8]"),
        ("B型电机的冷却通道有几个", MOTORS, "冷却通道 · B型电机：2 个[9]"),
    ],
)
def test_a_row_and_a_column_that_the_question_names_come_before_prose(question, of, told):
    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(GenerationRequest(question=question, sources=(of,))))

    assert text.startswith(told)


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("what is the speed of the class B drive", ("Speed", "600 rpm")),
        ("why do class B drives have feeding ports on the plate", None),  # more is asked
        ("speed of class C drive and class B drive", None),  # two columns
        ("how many ports", None),
    ],
)
def test_a_cell_is_named_by_all_words_of_its_row_and_column(question, cell):
    found = find_named_cell(question, read_statements([DRIVES], TOKENIZER), TOKENIZER)

    assert (found and found.rows[0][0]) == cell


LIMITS = source(
    11,
    """| 单笔金额 | 采购方式 | 报价家数 | 审批人 |
| --- | --- | --- | --- |
| 5,000 元以下 | 自购 | 1 | 部门经理 |
| 5,000 元以上至 5 万元 | 询价 | 2 | 部门经理 |
| 5 万元以上至 30 万元 | 比价 | 3 | 部门总监 |
""",
    title="采购管理规定",
)
CABLES = source(
    12,
    """| 电源线长度 | A 型 / C 型 | B 型 |
| --- | --- | --- |
| 50 米以内 | 2×10 | 2×6 |
| 50–80 米 | 2×16 | 2×10 |
| 80–120 米 | 2×25 | 2×16 |
""",
    title="规格书",
)


@pytest.mark.parametrize(
    ("question", "of", "row"),
    [
        ("要买一台12万的仪器，找谁批，要几家报价", LIMITS, ("5 万元以上至 30 万元", "3", "部门总监")),
        ("A型的电源线要拉90米 选多粗的", CABLES, ("80–120 米", "2×25")),
        ("站点离海边大概90米，用A型行不行", CABLES, None),  # asks neither for a length of cables nor for a column
        ("年会花了12万", LIMITS, None),
    ],
)
def test_the_row_whose_range_holds_an_amount_answers(question, of, row):
    found = read_statements([of], TOKENIZER)

    rows = find_covering_rows(question, found, TOKENIZER)

    assert (rows and rows.rows[0][0]) == row
    assert row is None or answers_by_rows(question, found, TOKENIZER)


def test_a_word_within_the_name_of_a_row_tells_rows_apart():
    table = source(
        13,
        """| 指标 | V3 | V4 |
| --- | --- | --- |
| 单机最大通道数 | 6 | 12 |
| 单通道速率 | 780 | 1040 |
| 单机链路数 | 256 | 384 |
""",
        title="规格",
    )

    assert named("一个单机最多有几个通道数", table)[1][0] == "单机最大通道数"


SAVED = source(
    9,
    """| Figure | Without | With night shutdown |
| --- | --- | --- |
| Energy per site | 9.8 kWh | 7.1 kWh |
| Dropped calls | 0.21 % | 0.22 % |
""",
    title="Trial of night shutdown",
)


def test_what_something_changed_is_told_with_the_figure_before_it():
    assert named("how much energy did night shutdown save", SAVED) == [
        ("Figure", "Without", "With night shutdown"),
        ("Energy per site", "9.8 kWh", "7.1 kWh"),
    ]


RELEASES = source(
    10,
    """| 指标 | V3.3.0 | V3.2.x |
| --- | --- | --- |
| 单板最大小区数 | 12 | 6 |
| 单小区上行峰值速率 | 960 Mbps | 780 Mbps |
| 单板链路数 | 256 | 256 |
""",
    title="BX9 版本说明",
)


def test_a_row_that_gives_the_number_of_things_is_the_one_for_how_many():
    assert named("BX9 V3.2.1 一个单板最多带几个小区", RELEASES)[1][0] == "单板最大小区数"
