from __future__ import annotations

import pytest

from ragcore.errors import EmptyDocumentError
from ragcore.parsing import parse


def test_paragraphs_are_separated_by_blank_lines_of_any_kind():
    document = parse("第一段\r\n仍是第一段\r\n  \r\n\r\n第二段".encode(), name="a.txt")

    assert [block.text for block in document.blocks] == ["第一段\n仍是第一段", "第二段"]


def test_indentation_of_the_first_line_stays():
    assert parse(b"\n\n    indented", name="a.log").blocks[0].text == "    indented"


@pytest.mark.parametrize("content", [b" \n\t\n", b"\x00\x00\x00", b"\xef\xbb\xbf"])
def test_a_file_without_text_is_empty(content):
    with pytest.raises(EmptyDocumentError):
        parse(content, name="a.txt")
