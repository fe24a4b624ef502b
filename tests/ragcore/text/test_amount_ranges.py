"""An amount lies within the range that a cell gives, in either language."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.amount_ranges import Amount, amounts_in, covers, ranges_in


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
