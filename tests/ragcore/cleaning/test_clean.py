from __future__ import annotations

from dataclasses import replace

import pytest

from ragcore.cleaning import CleaningOptions, clean, clean_with_counts
from ragcore.cleaning.rules import strip_log_timestamps
from ragcore.errors import InvalidOptionsError
from ragcore.options import resolve
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


def on_page(page: int, *blocks: Block) -> tuple[Block, ...]:
    return tuple(replace(block, page=page) for block in blocks)


TITLE = Block(kind="heading", text="Operations manual", level=1)
COVER = on_page(1, paragraph("ACME Corp."), TITLE, paragraph("Version 3.2"), paragraph("2026-11-20"))
BODY = (*on_page(2, paragraph("The mast is checked every year.")), *on_page(3, paragraph("The end.")))


def test_a_cover_leaves_only_its_title():
    assert texts(clean(document(*COVER, *BODY)))[:2] == ["Operations manual", "The mast is checked every year."]


@pytest.mark.parametrize(
    "blocks",
    [
        (*COVER, *on_page(2, paragraph("The mast is checked every year."))),  # two pages
        (*COVER, *on_page(1, paragraph("This manual says how the mast is checked.")), *BODY),  # prose on the page
        (*COVER, *on_page(1, Block(kind="table", text="| a |\n| --- |\n| b |")), *BODY),
        tuple(replace(block, page=None) for block in (*COVER, *BODY)),  # no pages at all
    ],
)
def test_a_first_page_that_may_say_something_stays(blocks):
    assert texts(clean(document(*blocks))) == [block.text for block in blocks]


def test_a_cover_stays_if_the_set_wants_it():
    assert "Version 3.2" in texts(clean(document(*COVER, *BODY), options=CleaningOptions(covers=False)))


def boxed(text: str, x0: float, x1: float) -> Block:
    return Block(kind="paragraph", text=text, page=1, box=Box(page=1, x0=x0, y0=0, x1=x1, y1=9))


PROSE = tuple(boxed(f"Paragraph {n} of the page has text enough. " * 5, 100, 500) for n in range(4))


def test_notes_in_the_margin_are_dropped():
    blocks = (PROSE[0], boxed("cf. clause 7", 20, 90), *PROSE[1:], boxed("new", 510, 560))

    cleaned = texts(clean(document(*blocks)))

    assert len(cleaned) == 4
    assert all(text.startswith("Paragraph") for text in cleaned)


@pytest.mark.parametrize(
    "beside",
    [
        boxed("under the text", 100, 180),  # in the column
        boxed("wide " * 10, 510, 760),  # as wide as a column
        boxed("a long text " * 40, 20, 90),  # too much text for a note
    ],
)
def test_what_may_be_part_of_the_text_stays(beside):
    assert len(clean(document(*PROSE, beside)).blocks) == 5


def test_a_page_of_small_boxes_stays():
    blocks = [boxed(f"field {n}", 20 + 100 * n, 80 + 100 * n) for n in range(5)]

    assert len(clean(document(*blocks)).blocks) == 5


def test_side_notes_stay_if_the_set_wants_them():
    blocks = (*PROSE, boxed("cf. clause 7", 20, 90))

    assert len(clean(document(*blocks), options=CleaningOptions(side_notes=False)).blocks) == 5


@pytest.mark.parametrize("name", ["List of Figures", "表目录", "插图清单", "Index of tables", "图 目 录"])
def test_lists_of_figures_and_tables_are_contents_too(name):
    blocks = (Block(kind="heading", text=name, level=1), paragraph("Figure 1 Mast 3"), paragraph("Figure 2 Cable 4"))

    assert texts(clean(document(*blocks, paragraph("Text.")))) == ["Text."]


def test_line_breaks_that_were_written_out_become_line_breaks():
    assert texts(clean(document(paragraph(r"one\r\n\ttwo\r\n\r\nthree")))) == ["one\ntwo\nthree"]
    assert texts(clean(document(paragraph(r"C:\new\table")))) == [r"C:\new\table"]


def test_what_was_done_is_counted_by_rule():
    blocks = (
        *COVER,
        *on_page(2, paragraph("zero\u200bwidth"), paragraph("1 Scope ........ 7"), paragraph("caf\u00c3\u00a9")),
        *on_page(3, paragraph("10:00:00 up"), paragraph("\u200b")),
    )

    cleaned = clean_with_counts(document(*blocks), options=CleaningOptions(log_timestamps=True))

    assert cleaned.counts == {"invisible": 2, "empty": 1, "covers": 3, "contents": 1, "mojibake": 1, "timestamps": 1}
    assert texts(cleaned.document) == ["Operations manual", "zerowidth", "café", "up"]


def test_the_options_resolve_like_all_others():
    resolved = resolve(CleaningOptions, ("set A", {"log_timestamps": True, "contents": None}))

    assert resolved.value == CleaningOptions(log_timestamps=True)
    assert resolved.origin["log_timestamps"] == "set A"
    with pytest.raises(InvalidOptionsError):
        resolve(CleaningOptions, ("set A", {"covers": 1}))
