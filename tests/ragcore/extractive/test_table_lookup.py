"""Rows and columns of tables that questions name (A2)."""

from __future__ import annotations

import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.table_lookup import find_named_rows, find_rows_of_kind
from ragcore.ports import GenerationRequest
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


def named(question, of=PUMPS):
    found = read_statements([of], TOKENIZER)
    rows = find_named_rows(question, next(s for s in found if s.head), found, TOKENIZER)
    return rows and [rows.head, *(cells for cells, _ in rows.rows)]


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
    ],
)
def test_all_rows_of_a_kind_are_listed(question, rows):
    assert kind(question, COURSES, ALARMS) == rows


def test_one_row_is_told_with_the_names_of_its_columns_and_its_steps_in_one_piece():
    request = GenerationRequest(question="ALM-1怎么处理", sources=(ALARMS,), language="zh")

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert text == "ALM-1 · 处理步骤：1. 断电。 2. 冷却 20 分钟。[3]"
