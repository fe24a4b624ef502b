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


GUIDE = """CANTEEN GUIDE

1. Opening hours

It opens at seven. It closes at three.

1.1 Holidays

1) Closed on Sundays

2) Closed in August

Prices
------
Ask at the counter.

Meal        Price    Days
Soup        3.20     Mon-Fri
Main dish   7.80     Mon-Fri

第二章 订餐

团体订餐须提前两天。
"""


def test_headings_and_tables_of_a_plain_text_are_told_by_how_they_are_set():
    blocks = parse(GUIDE.encode(), name="guide.txt").blocks

    assert [(b.text, b.level) for b in blocks if b.kind == "heading"] == [
        ("CANTEEN GUIDE", 1),
        ("1. Opening hours", 2),
        ("1.1 Holidays", 3),
        ("Prices", 2),
        ("第二章 订餐", 2),
    ]
    assert [b.text for b in blocks if b.kind == "table"] == [
        "| Meal | Price | Days |\n| --- | --- | --- |\n| Soup | 3.20 | Mon-Fri |\n| Main dish | 7.80 | Mon-Fri |"
    ]
    assert parse(GUIDE.encode(), name="guide.log").blocks[0].kind == "paragraph"


@pytest.mark.parametrize(
    "text",
    [
        "One sentence.  Then one more.\nAnother one.  And the last.\nIt ends.  It does.",
        "1. Close the valve\n\n2. Open the cabinet\n\n3. Remove the bolts",
        "Use the WLAN.\n\nOK\n\n2024 was dry, 2025 wet.\n\n12 bolts are needed.",
        "一、关闭阀门\n\n二、打开机柜",
        "---\n\nname: value\n---\nother: value",
    ],
)
def test_prose_and_lists_stay_paragraphs(text):
    assert {block.kind for block in parse(text.encode(), name="a.txt").blocks} == {"paragraph"}
