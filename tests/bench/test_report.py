"""Parts of pages that benchmarks write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report import MarkersError, machine_words, section_read, section_write, table, table_read

PAGE = "# Title\n\nby hand\n\n<!-- a -->\nold\n<!-- /a -->\n\nbetween\n\n<!-- b -->\n<!-- /b -->\nend\n"


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_only_what_stands_between_the_markers_changes(page):
    section_write(page, "a", "| new |\n")

    assert page.read_text(encoding="utf-8") == PAGE.replace("\nold\n", "\n\n| new |\n\n")
    assert section_read(page, "a") == "| new |"
    assert section_read(page, "b") == ""
    assert [path.name for path in page.parent.iterdir()] == ["page.md"]


def test_writing_twice_is_writing_once(page):
    section_write(page, "b", "figures")
    once = page.read_bytes()
    section_write(page, "b", "figures")

    assert page.read_bytes() == once


@pytest.mark.parametrize(
    "broken",
    ["<!-- a -->", "<!-- /a --><!-- a -->", "<!-- a --><!-- a --><!-- /a -->", "no markers"],
)
def test_a_page_without_its_markers_is_refused_and_not_touched(tmp_path, broken):
    path = tmp_path / "page.md"
    path.write_text(broken, encoding="utf-8")

    with pytest.raises(MarkersError):
        section_write(path, "a", "figures")

    assert path.read_text(encoding="utf-8") == broken


def test_a_text_that_would_end_the_section_itself_is_refused(page):
    with pytest.raises(MarkersError):
        section_write(page, "a", "<!-- /a -->")

    assert page.read_text(encoding="utf-8") == PAGE


cells = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="|"), min_size=1).filter(
    lambda cell: set(cell) != {"-"}
)


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=5)))
def test_a_table_can_be_read_back(rows):
    assert table_read(table(rows[0], rows[1:])) == rows


def test_a_cell_cannot_break_its_row_and_a_row_cannot_have_another_length():
    assert table_read(table(["a", "b"], [["x|y", "z"]])) == [["a", "b"], ["x/y", "z"]]
    with pytest.raises(ValueError, match="under 2 headings"):
        table(["a", "b"], [["only one"]])


def test_the_machine_is_described_in_words():
    assert "cores" in machine_words()
    assert "GB memory" in machine_words()
