"""No block of an answer makes an export fail, and none loses its text."""

from __future__ import annotations

import time
from dataclasses import replace
from io import BytesIO

import docx
import pypdfium2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.platypus import Paragraph, Table

from chat.errors import ExportTooLongError
from chat.exports import pdf, word
from chat.exports.files import FORMATS, export_file
from chat.exports.report import Block, Report, ReportTurn, Run, markdown_blocks
from chat.rendering.effort import Effort


def wide_table(columns: int) -> str:
    names = [f"c{number}x" for number in range(columns)]
    rule = "|" + "---|" * columns
    return "\n".join(
        f"|{'|'.join(row)}|" if row is not None else rule for row in (names, None, [f"v{n}y" for n in names])
    )


LONG = "".join(f"w{number:04}" for number in range(1000))  # 5,000 characters without a place to break
CELL = " ".join(f"t{number:05}" for number in range(2860))  # 20,000 characters
NESTED = "\n".join("  " * level + f"- level{level}end" for level in range(30))
BLOCKS = {
    "60 columns": (wide_table(60), ["c0x", "c31x", "c59x", "vc0xy", "vc59xy"]),
    "200 columns": (wide_table(200), ["c0x", "c101x", "c199x", "vc150xy", "vc199xy"]),
    "long cell": (f"| a | b |\n|---|---|\n| {CELL} | lastcell |", ["t00000", "t01500", "t02859", "lastcell"]),
    "long word": (LONG, ["w0000", "w0999"]),
    "long word in a cell": (f"| a | b |\n|---|---|\n| {LONG} | z |", ["w0000", "w0999"]),
    "nested list": (NESTED, ["level0end", "level15end", "level29end"]),
    "deep quote": ("> " * 70 + "deepest words", ["deepest", "words"]),
    "picture that is gone": ("Before ![the caption](picture:gone.png) after", ["Before", "the caption", "after"]),
    "formula that does not parse": (r"$\frac{a}{$ and \[\begin{nope}x\]", ["frac{a}{", "nope"]),
    "emoji": ("Result 😀 and 🚀 here", ["Result", "here"]),
    "right to left": ("שלום and مرحبا mixed", ["and", "mixed"]),
    "odd characters": ("a\x00b\u200b\ud7ff\ufffd \U000e0001 end", ["end"]),
    "long code": ("```\n" + "\n".join(f"line{number}z" for number in range(1500)) + "\n```", ["line0z", "line1499z"]),
    "empty table": ("|  |  |\n|---|---|\n|  |  |", []),
    "many rows": ("| a | b |\n|---|---|\n" + "\n".join(f"| r{n}z | x |" for n in range(300)), ["r0z", "r299z"]),
}


def report(*answers: str) -> Report:
    turns = [
        ReportTurn(question="Q", note="n", markdown=text, blocks=tuple(markdown_blocks(text)), sources=("[1] s",))
        for text in answers
    ]
    return Report(title="T", turns=tuple(turns))


def words_of(kind: str, content: bytes) -> str:
    if kind == "md":
        return "".join(content.decode().split())
    if kind == "docx":
        body = docx.Document(BytesIO(content)).element.body
        return "".join("".join(one.text or "" for one in body.iter() if one.tag.endswith("}t")).split())
    with pypdfium2.PdfDocument(content) as document:
        text = "".join(page.get_textpage().get_text_range() for page in document)
    return "".join(text.replace("\ufffe", "").split())


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", BLOCKS)
def test_an_odd_block_is_in_the_file_with_its_text(name, kind):
    text, words = BLOCKS[name]

    found = words_of(kind, export_file(report(text), kind).content)

    assert [word for word in words if "".join(word.split()) not in found] == []


def test_characters_that_the_font_lacks_are_told_in_words():
    found = words_of("pdf", export_file(report("A 😀, א and •"), "pdf").content)

    assert "[grinningface]" in found
    assert "[U+05D0]" in found
    assert "•" in found


@pytest.mark.parametrize("kind", FORMATS)
def test_one_file_holds_all_odd_blocks(kind):
    found = words_of(kind, export_file(report(*(text for text, _words in BLOCKS.values())), kind).content)

    assert [word for _text, words in BLOCKS.values() for word in words if "".join(word.split()) not in found] == []


HOSTILE = {
    "heading": (Block(kind="heading", level=1, runs=(Run(text="a\n" * 14_000),)),),
    "paragraph": (Block(kind="paragraph", runs=(Run(text="a\n" * 14_000),)),),  # of Markdown that was too much
    "table": tuple(markdown_blocks("a|b\n-|-\n" + "a|b\n" * 3_500)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_part_of_a_layout_is_long_enough_for_its_square_to_count(name):
    turn = replace(report("").turns[0], blocks=HOSTILE[name])

    parts = list(pdf._flow(Report(title="T", turns=(turn,)), pdf._flowables))

    tables = [part for part in parts if isinstance(part, Table)]
    cells = [sum(map(len, part._cellvalues)) - len(part._cellvalues[0]) for part in tables]  # without the head
    assert max(cells, default=0) <= pdf.TABLE_CELLS
    paragraphs = [part for part in parts if isinstance(part, Paragraph)]
    lines = [sum(hasattr(frag, "lineBreak") for frag in part.frags) for part in paragraphs]
    assert max(lines) <= pdf.PART_CHARACTERS / pdf.LINE_COST
    assert len(parts) > 15


@pytest.mark.full
@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_that_was_made_to_be_slow_costs_little_and_loses_nothing(name):
    turn = replace(report("").turns[0], blocks=HOSTILE[name])
    start = time.thread_time()

    content = export_file(Report(title="T", turns=(turn,)), "pdf").content

    assert time.thread_time() - start < pdf.MAX_SECONDS
    letters = sum(block.text.count("a") + len(block.rows) for block in turn.blocks)
    assert words_of("pdf", content).count("a") >= letters


def test_a_document_whose_layout_takes_too_long_is_written_as_plain_text(monkeypatch):
    seconds = iter((0.0, pdf.MAX_SECONDS))
    monkeypatch.setattr(pdf, "Effort", lambda **_given: Effort(seconds=next(seconds)))

    found = words_of("pdf", export_file(report("# Heading\n\n**bold** words"), "pdf").content)

    assert "#Heading**bold**words[1]s" in found.replace("Sources", "")


@pytest.mark.parametrize(("kind", "writer"), [("pdf", pdf), ("docx", word)])
def test_a_document_that_takes_too_long_even_as_plain_text_is_refused(kind, writer, monkeypatch):
    monkeypatch.setattr(writer, "MAX_SECONDS", 0.0)

    with pytest.raises(ExportTooLongError):
        export_file(report("words"), kind)


@given(
    st.lists(st.sampled_from([text for text, _words in BLOCKS.values() if len(text) < 3000]), min_size=1, max_size=3),
    st.text(max_size=80),
    st.sampled_from(["\n\n", "\n", "\n\n> ", "\n\n- "]),
    st.sampled_from(sorted(FORMATS)),
)
def test_blocks_one_behind_the_other_make_a_file(blocks, words, between, kind):
    assert export_file(report(between.join([*blocks, words])), kind).content


def test_a_block_that_cannot_be_laid_out_is_written_as_text(monkeypatch):
    def broken(*_given: object) -> None:
        raise ValueError("negative width")

    monkeypatch.setattr(pdf, "_table", broken)

    found = words_of(
        "pdf", export_file(report("Before.\n\n| a | b |\n|---|---|\n| cell1 | cell2 |\n\nAfter."), "pdf").content
    )

    assert "Before.a|bcell1|cell2After." in found
