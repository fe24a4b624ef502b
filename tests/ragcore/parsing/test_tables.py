from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.parsing.tables import Cell, fill_spans, markdown_table

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
