"""An amount lies within the range that a cell gives, in either language."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.amount_ranges import (
    Amount,
    AmountRange,
    amounts_in,
    chinese_number,
    covers,
    level_in,
    levels_in,
    plain_numbers_in,
    ranges_in,
    without_amounts,
)


@pytest.mark.parametrize(
    ("question", "amount"),
    [
        ("电缆要拉90米选多粗的", Amount(90.0, "m")),
        ("买一台12万的仪器找谁批", Amount(120_000.0, "")),
        ("一个8万块的采购需求", Amount(80_000.0, "元")),
        ("who approves a purchase of 120k eur", Amount(120_000.0, "€")),
        ("walking at 20 km/h", Amount(20.0, "km/h")),
    ],
)
def test_what_a_question_measures(question, amount):
    assert amounts_in(question) == [amount]


@pytest.mark.parametrize("question", ["version 3 of TP-12", "R2 在哪个房间", "meeting of 2025-07-01 at 8:30"])
def test_plain_numbers_may_be_names(question):
    assert amounts_in(question) == []


@pytest.mark.parametrize(
    ("cell", "within", "outside"),
    [
        ("50 米以内", (1, 50), (51, 90)),
        ("50–80 米", (50, 79), (49, 81)),
        ("120 米以上", (120, 500), (119,)),
        ("1–5 万元", (10_000, 49_999), (9_999, 60_000)),
        ("5 万（含）以上 20 万以下", (50_000, 199_000), (49_999, 210_000)),
        ("5,000 元以上至 5 万元（含）", (5_001, 50_000), (4_999, 120_000)),
        ("5 天（不含）至 10 天", (6, 10), (4, 11)),
        ("up to EUR 5,000", (0, 5_000), (5_001,)),
        ("over 50,000", (60_000,), (49_000,)),
        ("3 to 30 km/h", (3, 29), (2, 31)),
    ],
)
def test_what_a_cell_covers(cell, within, outside):
    assert all(covers(cell, Amount(value)) for value in within)
    assert not any(covers(cell, Amount(value)) for value in outside)


@pytest.mark.parametrize("cell", ["2×10 mm²", "2025-07-01", "8:00–18:00", "10 Oct", "B", ""])
def test_other_cells_give_no_range(cell):
    assert list(ranges_in(cell)) == []


def test_units_have_to_agree_where_both_name_one():
    assert not covers("up to 5 kg", Amount(3, "m"))
    assert covers("up to 5 kg", Amount(3, "kg"))


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(-(10**6), 2 * 10**6))
def test_a_range_holds_what_lies_between_its_ends(low, width, value):
    (found,) = ranges_in(f"{low}–{low + width} kg")
    assert found.holds(Amount(value, "kg")) == (low <= value <= low + width)
    assert math.isfinite(found.low)


def within(text, question):
    amounts = [*amounts_in(question), *levels_in(question)]
    return any(covers(text, amount) for amount in amounts)


@pytest.mark.parametrize(
    ("cell", "inside", "outside"),
    [
        ("不满 3 年", ("干了两年", "18 months", "半年"), ("满三年", "3 years")),
        ("满 3 年不满 6 年", ("满三年", "工作5年", "48个月"), ("6年", "two years")),
        ("满 10 年", ("满十年", "12 years"), ("九年",)),
        ("under 3 years", ("two years", "35 months"), ("three years",)),
        ("L1 to L3", ("I am L2", "level 3", "职级1"), ("L4", "level 6")),
        ("L4 and L5", ("an l5", "level 4"), ("L3",)),
        ("L4/L5", ("L5",), ("L6",)),
        ("L6 and above", ("L9", "level 6"), ("L5",)),
        ("M2 及以上", ("M3",), ("M1", "L3")),
        ("20,000+", ("25k pcs", "3万片"), ("2,000 units",)),
        ("1,000-4,999", ("2000 pcs", "4k pieces"), ("800件", "5000 台")),
        ("同一客户离线 30 台以上；升级推送异常", ("40台",), ("29台", "30 years")),
        ("从第 4 次起", ("for the 4th time", "第五次"), ("the third time",)),
        ("from the fifth night on", ("six nights", "5 晚"), ("4 nights",)),
        ("longer than 4 hours", ("4.5 hours", "300 minutes"), ("4 hours", "90 min")),
        ("30 天内", ("28 days",), ("5 weeks",)),
        ("一年以内", ("11个月",), ("13 months",)),
        ("200 元以上", ("3百块",), ("300 EUR",)),
    ],
)
def test_an_amount_in_other_words_or_units_lies_within(cell, inside, outside):
    assert [question for question in inside if not within(cell, question)] == []
    assert [question for question in outside if within(cell, question)] == []


@pytest.mark.parametrize("text", ["一个客户掉线", "探亲假一年几天", "2026年的计划", "from 1 January 2026 on", "R5-EU"])
def test_an_article_and_a_year_are_no_amounts(text):
    assert amounts_in(text) == []


def test_a_question_without_its_amounts():
    assert without_amounts("hotel for three nights, 200 EUR").split() == ["hotel", "for", ","]
    assert plain_numbers_in("and 8000?") == [Amount(8000.0)]
    assert level_in("L4") == AmountRange(4.0, 4.0, "level l")
    assert level_in("L4 cable") is None
    assert chinese_number("二十五") == 25.0
