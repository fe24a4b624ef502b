"""CSV that spreadsheets open without running anything."""

import csv
import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.csv_rows import csv_line, escaped_cell, safe_cell, unescaped_cell

SIGNS = "=+-@＝＋－＠﹢﹣﹦﹫"
BEFORE = ["", " ", "\t", "\r", "\n", "\u00a0", "\u3000", "\u200b", "\u200e", "\u2060", "\ufeff", " \u200b\t", "\x00"]


@pytest.mark.parametrize("sign", SIGNS)
def test_no_formula_is_left_whatever_stands_before_it(sign):
    for before in BEFORE:
        for write in (safe_cell, escaped_cell):
            cell = write(f"{before}{sign}HYPERLINK(1)")

            assert cell == f"'{before}{sign}HYPERLINK(1)"


@given(st.text())
def test_no_cell_begins_like_a_formula_and_the_text_comes_back(text):
    for cell in (safe_cell(text), escaped_cell(text)):
        first = next((one for one in cell if not one.isspace() and unicodedata.category(one)[0] != "C"), "")
        assert unicodedata.normalize("NFKC", first)[:1] not in tuple("=+-@")
        assert cell.endswith(text)
    assert unescaped_cell(escaped_cell(text)) == text


@given(st.lists(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])), min_size=2))
def test_a_row_is_read_as_it_was_written(cells):
    row = next(csv.reader(io.StringIO(csv_line(cells, is_read_again=True), newline="")))

    assert [unescaped_cell(cell) for cell in row] == cells


def test_numbers_stay_numbers_and_other_separators_are_quoted():
    assert csv_line([-1.5, None, True, "a;=1", "－1"]) == '-1.5,,True,"a;=1",\'－1\r\n'
    assert csv_line(["a", "b"], separator="\t") == "a\tb\r\n"
