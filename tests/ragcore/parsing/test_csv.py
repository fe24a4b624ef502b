from __future__ import annotations

import csv
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import CorruptDocumentError, ResourceLimitError
from ragcore.parsing import csv as csv_parser
from ragcore.parsing import parse

TABLE = "| Name | Load |\n| --- | --- |\n| North, East | 1.5 |\n| South | 2 |"


def markdown(text: str | bytes, name: str = "a.csv") -> str:
    return parse(text if isinstance(text, bytes) else text.encode(), name=name).markdown()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_the_separator_is_found_whatever_the_name_says(separator, name):
    target = StringIO()
    csv.writer(target, delimiter=separator).writerows([("Name", "Load"), ("North, East", 1.5), ("South", 2)])

    assert markdown(target.getvalue(), name) == TABLE


def test_the_separator_that_a_file_names_for_excel_wins():
    assert markdown("sep=;\nName;Load\na,b;1\nc,d;2\n") == "| Name | Load |\n| --- | --- |\n| a,b | 1 |\n| c,d | 2 |"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "gb18030", "utf-16"])
def test_the_encoding_is_found(encoding):
    text = "姓名,部门,电话\n张三,网络运营中心,13800000000\n李四,财务部,13900000000\n"

    assert "| 张三 | 网络运营中心 | 13800000000 |" in markdown(text.encode(encoding))


def test_quoted_line_breaks_and_bars_stay_in_their_cell():
    assert markdown('q,a\n"two\nlines","x|y"\nb,c\n') == "| q | a |\n| --- | --- |\n| two lines | x\\|y |\n| b | c |"


def test_ragged_rows_are_filled_up_and_empty_ones_left_out():
    assert markdown("a,b,c\n1\n\n,,\n4,5,6\n") == "| a | b | c |\n| --- | --- | --- |\n| 1 |  |  |\n| 4 | 5 | 6 |"


def test_a_title_line_above_the_header_is_a_paragraph():
    assert markdown("Report of May\n\na,b\n1,2\n3,4\n").startswith("Report of May\n\n| a | b |")


def test_a_single_column_is_text_line_by_line():
    assert markdown("first question\nsecond question\n") == "first question\nsecond question"


def test_too_many_cells_are_refused_not_cut(monkeypatch):
    monkeypatch.setattr(csv_parser, "MAX_CELLS", 3)

    with pytest.raises(ResourceLimitError):
        markdown("a,b\n1,2\n")


def test_binary_content_is_corrupt():
    with pytest.raises(CorruptDocumentError):
        markdown(bytes(range(1, 32)) * 20)


@given(st.lists(st.lists(st.text("ab1;,\"'", min_size=1, max_size=6), min_size=3, max_size=3), min_size=3, max_size=8))
def test_whatever_a_writer_quotes_is_read_back(rows):
    target = StringIO()
    csv.writer(target, quoting=csv.QUOTE_ALL).writerows(rows)

    assert [cell.strip() in markdown(target.getvalue()) for row in rows for cell in row].count(False) == 0
