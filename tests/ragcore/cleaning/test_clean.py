from __future__ import annotations

import pytest

from ragcore.cleaning import CleaningOptions, clean
from ragcore.cleaning.log_timestamps import strip_log_timestamps
from ragcore.types import Block, Box, ParsedDocument


def document(*blocks: Block, title: str = "") -> ParsedDocument:
    return ParsedDocument(blocks=blocks, title=title)


def paragraph(text: str) -> Block:
    return Block(kind="paragraph", text=text)


def texts(parsed: ParsedDocument) -> list[str]:
    return [block.text for block in parsed.blocks]


def test_blocks_keep_everything_but_their_text():
    box = Box(page=2, x0=0, y0=0, x1=9, y1=9)
    block = Block(kind="heading", text="Ａ\n b", level=3, page=2, box=box)

    assert clean(document(block)).blocks == (Block(kind="heading", text="A b", level=3, page=2, box=box),)


def test_code_keeps_its_white_space_and_characters():
    code = Block(kind="code", text="```\nif ａ:\n\tb  =  1   \n\n\n\nc\n```")

    assert texts(clean(document(code))) == ["```\nif ａ:\n\tb  =  1\n\n\n\nc\n```"]


def test_empty_blocks_are_dropped():
    assert texts(clean(document(paragraph("\u200b \n"), paragraph("text")))) == ["text"]


def test_the_title_is_cleaned_too():
    assert clean(document(paragraph("x"), title=" Ａ\t手册\u200b")).title == "A 手册"


@pytest.mark.parametrize(
    "line",
    [
        "1 Scope ........ 7",
        "3.2 Cell search . . . . . . 12",
        "第一章 总则……………………3",
        "附录 A ···········iv",
        "目标 ..1",
    ],
)
def test_lines_with_dot_leaders_are_dropped(line):
    assert texts(clean(document(paragraph(f"{line}\n{line}"), paragraph(f"text\n{line}")))) == ["text"]


@pytest.mark.parametrize("line", ["See clause 5...", "0.5 ... 7 dB", "等待……好", "version 1.2.3.4", "a . b . c 7"])
def test_ordinary_dots_stay(line):
    assert texts(clean(document(paragraph(line)))) == [line]


def test_a_list_under_a_heading_contents_is_dropped_with_its_heading():
    blocks = (
        Block(kind="heading", text="目 录", level=2),
        paragraph("一、概述 1"),
        paragraph("(一)背景 .2"),
        Block(kind="heading", text="一、概述", level=2),
        paragraph("正文在 2023 年完成。"),
    )

    assert texts(clean(document(*blocks))) == ["一、概述", "正文在 2023 年完成。"]


def test_a_heading_contents_over_ordinary_text_stays():
    blocks = (Block(kind="heading", text="Contents", level=2), paragraph("The box has a manual."))

    assert texts(clean(document(*blocks))) == ["Contents", "The box has a manual."]


def test_contents_stay_if_the_set_wants_them():
    blocks = document(paragraph("1 Scope ........ 7"))

    assert texts(clean(blocks, options=CleaningOptions(contents=False))) == ["1 Scope ........ 7"]


@pytest.mark.parametrize(
    "stamp",
    ["2026-11-20 13:45:01,123 ", "[2026-11-20T13:45:01.5Z] ", "13:45:01 - ", "Nov 20 13:45:01 ", "20/11/2026 1:45:01 "],
)
def test_timestamps_at_the_beginning_of_lines_are_stripped(stamp):
    assert strip_log_timestamps(f"{stamp}link down\n{stamp}link up") == "link down\nlink up"


def test_timestamps_stay_unless_they_are_switched_off():
    line = "2026-11-20 13:45:01 link down"

    assert texts(clean(document(paragraph(line)))) == [line]
    assert texts(clean(document(paragraph(line)), options=CleaningOptions(log_timestamps=True))) == ["link down"]


def test_a_date_in_a_sentence_is_no_timestamp():
    assert (
        strip_log_timestamps("2026-11-20 is the date; at 13:45:01 it fell.")
        == "2026-11-20 is the date; at 13:45:01 it fell."
    )
