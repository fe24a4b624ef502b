"""Numbers of cells that can be compared."""

import pytest

from ragcore.extractive.cell_numbers import column_measures, measures_in

DAY = 86400


@pytest.mark.parametrize(
    ("text", "measures"),
    [
        ("at most one week", [(7 * DAY, "time")]),
        ("最长 1 周", [(7 * DAY, "time")]),
        ("两个星期", [(14 * DAY, "time")]),
        ("5 working days", [(5 * DAY, "time")]),
        ("EUR 1,200", [(1200, "money in euros")]),
        ("1.2 万元", [(12000, "money in yuan")]),
        ("2.5 kg", [(2500, "mass")]),
        ("-60 °C", [(-60, "temperature")]),
        ("2026-09-30", [(20260930, "date")]),
        ("38.5", [(38.5, "")]),
        ("AD-10011", []),  # a code
        ("5G tester", []),
        ("8:30", []),
        ("第三天", []),
        ("one of them", []),  # a word is a number only with a unit
    ],
)
def test_numbers_are_read_with_their_units(text, measures):
    assert [(one.measure.value, one.measure.kind) for one in measures_in(text)] == measures


@pytest.mark.parametrize(
    ("head", "cells", "values"),
    [
        ("Delivery (weeks)", ["1", "2", ""], [7 * DAY, 14 * DAY, None]),
        ("借用", ["3 天", "1 周", "不外借"], [3 * DAY, 7 * DAY, None]),
        ("Range", ["3 to 5 V", "6 to 9 V"], []),  # two numbers each
        ("Part", ["P-1", "P-2"], []),
        ("Note", ["2 kg", "none", "none", "none", "none"], []),
        ("Mixed", ["2 kg", "3 days"], []),
    ],
)
def test_a_column_of_numbers_has_one_unit(head, cells, values):
    assert [one and one.value for one in column_measures(head, cells)] == values
