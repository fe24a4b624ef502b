from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.errors import ResourceLimitError
from ragcore.parsing import tables
from ragcore.parsing.tables import MAX_COLUMNS, Cell, fill_spans, is_number, markdown_table, table_markdown

cells = st.builds(Cell, text=st.text("ab|\n ", max_size=5), rows=st.integers(1, 4), columns=st.integers(1, 4))


def test_columns_that_no_row_tells_apart_are_said_once():
    rows = [[Cell(text="a", columns=3), Cell(text="b")], [Cell(text="c", columns=3), Cell(text="d")]]

    assert fill_spans(rows) == [["a", "b"], ["c", "d"]]


def test_a_cell_across_a_whole_row_is_said_once():
    rows = [[Cell(text="Section", columns=2)], [Cell(text="a"), Cell(text="b")]]

    assert fill_spans(rows) == [["Section", ""], ["a", "b"]]


@settings(deadline=None)
@given(st.lists(st.lists(cells, max_size=5), max_size=6))
def test_a_grid_is_always_rectangular_and_every_cell_is_somewhere(rows):
    grid = fill_spans(rows)

    assert len({len(line) for line in grid}) <= 1
    assert {cell.text for row in rows for cell in row} <= {text for line in grid for text in line}


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=8), min_size=1, max_size=4), max_size=5))
def test_a_markdown_table_has_one_line_a_row_and_equal_columns(rows):
    lines = markdown_table(rows).split("\n")

    counts = {line.replace(r"\|", "").count("|") for line in lines}
    assert len(counts) == 1


def grid(*rows: str) -> list[list[Cell]]:
    """Rows of cells; "text*3" reaches over three columns, "text^2" down two rows."""
    found = []
    for row in rows:
        cells = []
        for text in row.split("|"):
            name, _, columns = text.partition("*")
            name, _, down = name.partition("^")
            cells.append(Cell(text=name, rows=int(down or 1), columns=int(columns or 1)))
        found.append(cells)
    return found


def test_a_header_of_two_rows_becomes_one():
    text = table_markdown(grid("Area^2|2023*2|2024*2", "Q1|Q2|Q1|Q2", "North|1|2|3|4"))

    assert text.split("\n")[0] == "| Area | 2023 / Q1 | 2023 / Q2 | 2024 / Q1 | 2024 / Q2 |"
    assert text.split("\n")[2] == "| North | 1 | 2 | 3 | 4 |"


def test_a_first_row_with_a_merged_cell_above_figures_stays_a_row_of_its_own():
    text = table_markdown(grid("Area|Load*2", "North|1|2"))

    assert text == "| Area | Load | Load |\n| --- | --- | --- |\n| North | 1 | 2 |"


def test_a_first_row_beside_data_is_no_upper_half_of_a_header():
    text = table_markdown(grid("Name|Remarks*2", "Li|good|fast"))

    assert text.split("\n")[0] == "| Name | Remarks | Remarks |"


@pytest.mark.parametrize("text", ["5", "-1.5", "1,234.50", "12.5%", "¥800", "(3)", "€ 99"])
def test_figures_are_told_from_words(text):
    assert is_number(text)


@pytest.mark.parametrize("text", ["", "Q1", "2023年", "5G", "3 km", "a5"])
def test_words_with_digits_are_no_figures(text):
    assert not is_number(text)


def test_more_rows_or_columns_than_allowed_are_refused_not_cut(monkeypatch):
    with pytest.raises(ResourceLimitError):
        fill_spans([[Cell(text="x")] * (MAX_COLUMNS + 1)])
    monkeypatch.setattr(tables, "MAX_ROWS", 2)
    with pytest.raises(ResourceLimitError):
        fill_spans([[Cell(text="x")]] * 3)
