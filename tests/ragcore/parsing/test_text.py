from __future__ import annotations

from itertools import pairwise

import pytest

from ragcore.errors import EmptyDocumentError
from ragcore.parsing import parse


def test_paragraphs_are_separated_by_blank_lines_of_any_kind():
    document = parse("第一段\r\n仍是第一段\r\n  \r\n\r\n第二段".encode(), name="a.txt")

    assert [block.text for block in document.blocks] == ["第一段\n仍是第一段", "第二段"]


def test_indentation_of_the_first_line_stays():
    assert parse(b"\n\n    indented", name="a.log").blocks[0].text == "    indented"


@pytest.mark.parametrize("content", [b" \n\t\n", b"\x00\x00\x00", b"\xef\xbb\xbf", "\u200b\u3000\u2060\n".encode()])
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


MINUTES = """MINUTES OF THE POOL COMMITTEE

1. STATUS
   - The pump runs again. It had been waiting for
     a seal since May.
   - The water is clear.

2. DECISIONS
   D1  Buy two filters of the larger size,
       and a cover.
   D2  Open on Sundays from June.

3. ACTIONS
   No.  What                          Who              Due
   A1   Order the filters and ask     Caretaker        18 June
        for a quotation of the cover
   A2   Print the new opening hours   Treasurer        20 June

第一章 总则

第一条 本规定适用于全体会员。

第二条 入场须出示会员卡。

二、审批
申请由值班员登记。

  连续天数              审批人
  ------------------------------------
  1 天（含）以内        值班员
  1 天以上至 3 天（含）  泳池主管
  3 天以上              理事会
  ------------------------------------
"""


def test_minutes_keep_their_sections_labelled_points_and_aligned_tables():
    blocks = parse(MINUTES.encode(), name="minutes.txt").blocks
    below = {
        before.text: [line.strip() for line in after.text.splitlines()]
        for before, after in pairwise(blocks)
        if before.kind == "heading"
    }

    assert below["2. DECISIONS"] == [
        "- D1  Buy two filters of the larger size, and a cover.",
        "- D2  Open on Sundays from June.",
    ]
    assert below["3. ACTIONS"][2:] == [
        "| A1 | Order the filters and ask for a quotation of the cover | Caretaker | 18 June |",
        "| A2 | Print the new opening hours | Treasurer | 20 June |",
    ]
    assert below["1. STATUS"][0].startswith("- The pump runs again.")
    assert below["第一章 总则"][0].startswith("第一条")
    assert below["二、审批"] == ["申请由值班员登记。"]
    assert [block.text.splitlines()[3] for block in blocks if block.kind == "table"][1] == (
        "| 1 天以上至 3 天（含） | 泳池主管 |"
    )


@pytest.mark.parametrize(
    "text",
    [
        "1. Remove the cover\n   and put it down.",  # a point that is wrapped
        "A1 is a road.\nA2 is another one,\nand A3 leads home.",
        "D1  closed\nD3  open",  # the labels do not count on
        "Name    Age    Town\nThis is a sentence that runs across\nthe columns of the line above it.",
        "一、先关阀门\n二、再开柜门",
    ],
)
def test_text_that_only_resembles_sections_and_tables_stays_as_it_is(text):
    blocks = parse(text.encode(), name="a.txt").blocks

    assert [(block.kind, block.text) for block in blocks] == [("paragraph", text)]
