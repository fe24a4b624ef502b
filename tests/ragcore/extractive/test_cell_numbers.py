"""Numbers of cells that can be compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize("sign", ["-", "\u2212"])
def test_a_typeset_minus_is_a_minus(sign):
    values = [place.measure.value for place in measures_in(f"{sign}96.5 dBm, {sign}1,200 m")]

    assert values[0] == -96.5
    assert values[1] < 0


@given(st.text(alphabet="0123456789.,，-\u2212–٣ ²½kx万百亿€$年月日第一两a/:", max_size=20))
def test_any_text_of_figures_and_signs_is_read(text):
    assert all(isinstance(place.measure.value, float | int) for place in measures_in(text))
