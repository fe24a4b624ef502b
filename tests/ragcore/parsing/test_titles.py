"""Titles by what files say: declared, or the first heading; never what a program left there."""

from __future__ import annotations

import pytest

from ragcore.parsing.titles import title_by_content, usable_title
from ragcore.types import Block, ParsedDocument


def document(title: str = "", *headings: str) -> ParsedDocument:
    blocks = [Block(kind="heading", text=text, level=1) for text in headings]
    return ParsedDocument(blocks=(*blocks, Block(kind="paragraph", text="Text.")), title=title)


@pytest.mark.parametrize(
    "text",
    [
        "Microsoft Word - Document1",
        "Microsoft PowerPoint - talk.pptx",
        "PowerPoint Presentation",
        "Untitled",
        "Untitled-2",
        "(anonymous)",
        "Untitled document",
        "untitled presentation 2",
        "Presentation1",
        "Book1",
        "PowerPoint 演示文稿",
        "新建 Microsoft Word 文档",
        "第 1 页",
        "无标题",
        "/home/x/reports/orion v2",
        r"\\server\share\orion",
        "C:/Users/x/orion",
        "Document1",
        "文档 3",
        "未命名文档",
        "演示文稿1",
        "工作簿1",
        "Slide 1",
        "index",
        "orion.docx",
        r"C:\Users\x\orion",
        "https://example.org/a",
        "2026-11-28",
        "28 November 2026",
        "2026年11月28日",
        "Monday, 3 March 2025",
        "Table of Contents",
        "目录",
        "Confidential",
        "17",
        "",
        "x" * 161,
        "This is the first sentence of the page, which only looks like a heading of it.",
    ],
)
def test_what_names_no_document_is_no_title(text):
    assert usable_title(text) == ""


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Orion gateway design", "Orion gateway design"),
        ("**Orion**  gateway\n design", "Orion gateway design"),
        ("[Solar pumps](https://example.org)", "Solar pumps"),
        ("5G NR: Overview of release 17", "5G NR: Overview of release 17"),
        ("请假制度", "请假制度"),
        ("Document control procedure", "Document control procedure"),
        ("May Report", "May Report"),
        ("Anonymous reports of faults", "Anonymous reports of faults"),
        ("New presentation rules", "New presentation rules"),
        ("TCP/IP in plants", "TCP/IP in plants"),
        ("snake_case_names in C", "snake_case_names in C"),
    ],
)
def test_what_names_a_document_is_its_title_in_one_line(text, title):
    assert usable_title(text) == title


def test_what_the_file_declares_comes_first():
    assert title_by_content(document("Orion gateway design", "Gateways"), name="orion.docx") == "Orion gateway design"


def test_a_program_s_title_gives_way_to_the_first_heading():
    assert title_by_content(document("Microsoft Word - a", "Orion gateway design"), name="a.pdf") == (
        "Orion gateway design"
    )


def test_a_document_that_begins_with_a_chapter_has_no_title():
    assert title_by_content(document("1 Introduction", "1 Introduction", "2 Scope"), name="a.docx") == ""
    assert title_by_content(document("", "第一章 总则"), name="a.docx") == ""
    assert title_by_content(document("", "1.2Terms", "Orion"), name="a.docx") == ""


def test_the_subject_of_a_mail_may_begin_with_a_number():
    assert title_by_content(document("2 pumps are broken", "2 pumps are broken"), name="a.eml") == "2 pumps are broken"


@pytest.mark.parametrize("name", ["prices.xlsx", "photo.png"])
def test_names_of_sheets_and_large_letters_in_pictures_are_no_titles(name):
    assert title_by_content(document("", "Prices 2026 east"), name=name) == ""


def test_a_heading_in_the_middle_of_the_text_is_no_title():
    blocks = (
        Block(kind="paragraph", text="The pump is a machine. " * 12),
        Block(kind="heading", text="Fault finding", level=2),
    )

    assert title_by_content(ParsedDocument(blocks=blocks, title="Fault finding"), name="pump.md") == ""


def test_a_date_and_a_logo_may_stand_above_the_title():
    blocks = (
        Block(kind="image", text="![Logo](picture:p1.png)"),
        Block(kind="paragraph", text="Munich, 3 March 2025"),
        Block(kind="heading", text="Pump manual", level=1),
    )

    assert title_by_content(ParsedDocument(blocks=blocks), name="pump.pdf") == "Pump manual"
