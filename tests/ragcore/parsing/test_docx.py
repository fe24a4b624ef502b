from __future__ import annotations

import pytest

from ragcore.errors import CorruptDocumentError, PasswordProtectedError, ResourceLimitError
from ragcore.parsing import docx_package, parse
from ragcore.parsing.docx_numbering import chinese_number, number_text
from tests.ragcore.parsing.build import add_xml, docx_bytes, part, with_part


def blocks(content: bytes) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in parse(content, name="a.docx").blocks]


def test_headings_paragraphs_and_tables_come_in_document_order():
    def write(document):
        document.add_heading("Scope", 1)
        document.add_paragraph("Text before the table.")
        table = document.add_table(rows=2, cols=2)
        for cell, text in zip((c for row in table.rows for c in row.cells), "abcd", strict=True):
            cell.text = text
        document.add_heading("Details", 2)

    document = parse(docx_bytes(write), name="a.docx")

    assert [(block.kind, block.level, block.text) for block in document.blocks] == [
        ("heading", 1, "Scope"),
        ("paragraph", 0, "Text before the table."),
        ("table", 0, "| a | b |\n| --- | --- |\n| c | d |"),
        ("heading", 2, "Details"),
    ]


def test_chinese_style_names_and_outline_levels_make_headings():
    def write(document):
        style = document.styles.add_style("标题 3", 1)
        document.add_paragraph("三级", style=style)
        add_xml(document, '<w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:r><w:t>二级</w:t></w:r></w:p>')
        document.add_paragraph("标题", style="Title")

    document = parse(docx_bytes(write), name="a.docx")

    assert [(block.kind, block.level) for block in document.blocks] == [("heading", 3), ("heading", 2), ("heading", 1)]
    assert document.title == "标题"


def test_merged_cells_are_filled_in_both_directions():
    def write(document):
        table = document.add_table(rows=3, cols=3)
        for number, cell in enumerate(c for row in table.rows for c in row.cells):
            cell.text = str(number)
        table.cell(0, 1).merge(table.cell(0, 2)).text = "wide"
        table.cell(1, 0).merge(table.cell(2, 0)).text = "tall"

    assert blocks(docx_bytes(write)) == [
        ("table", "| 0 | wide | wide |\n| --- | --- | --- |\n| tall | 4 | 5 |\n| tall | 7 | 8 |")
    ]


def test_tracked_changes_are_read_as_accepted():
    def write(document):
        add_xml(
            document,
            "<w:p><w:r><w:t xml:space='preserve'>The timer is </w:t></w:r><w:del><w:r><w:delText>10</w:delText></w:r>"
            "</w:del><w:ins><w:r><w:t>20</w:t></w:r></w:ins><w:r><w:t xml:space='preserve'> ms.</w:t></w:r></w:p>",
        )

    assert blocks(docx_bytes(write)) == [("paragraph", "The timer is 20 ms.")]


def test_list_items_keep_their_marks_and_depth():
    def write(document):
        for text, style in (("one", "List Bullet"), ("inner", "List Bullet 2"), ("two", "List Bullet")):
            document.add_paragraph(text, style=style)
        document.add_paragraph("between")
        document.add_paragraph("first", style="List Number")
        document.add_paragraph("second", style="List Number")

    found = blocks(docx_bytes(write))

    assert [kind for kind, _ in found] == ["list", "paragraph", "list"]
    assert found[0][1].split("\n")[0] == "- one"
    assert found[2][1] == "1. first\n2. second"


@pytest.mark.parametrize(
    ("number", "text"), [(1, "一"), (10, "十"), (12, "十二"), (20, "二十"), (105, "一百零五"), (110, "一百一十")]
)
def test_chinese_numbers_are_written_as_word_does(number, text):
    assert chinese_number(number) == text


def test_other_number_formats():
    assert [number_text(4, kind) for kind in ("lowerRoman", "upperLetter", "decimalZero", "unknown")] == [
        "iv",
        "D",
        "04",
        "4",
    ]


def test_formulas_become_tex():
    math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'

    def write(document):
        add_xml(
            document,
            f"<w:p><m:oMath {math}><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:sSup><m:e>"
            "<m:r><m:t>b</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:den></m:f></m:oMath></w:p>",
        )

    assert blocks(docx_bytes(write)) == [("formula", r"$$\frac{a}{b^{2}}$$")]


def test_external_entities_are_neither_fetched_nor_expanded(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("top secret")
    plain = docx_bytes(lambda document: document.add_paragraph("Visible MARK text"))
    body = part(plain, "word/document.xml").decode()
    body = body.replace("?>", f'?><!DOCTYPE x [<!ENTITY leak SYSTEM "file://{secret}">]>', 1).replace("MARK", "&leak;")

    text = parse(with_part(plain, "word/document.xml", body.encode()), name="a.docx").markdown()

    assert "top secret" not in text
    assert "Visible" in text


def test_a_bomb_of_nested_entities_is_refused():
    plain = docx_bytes(lambda document: document.add_paragraph("Visible MARK text"))
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "lol" * 100}">' for n in range(10))
    body = part(plain, "word/document.xml").decode()
    body = body.replace("?>", f"?><!DOCTYPE x [{entities}]>", 1).replace("MARK", "&e9;")

    with pytest.raises(ResourceLimitError):
        parse(with_part(plain, "word/document.xml", body.encode()), name="a.docx")


def test_an_archive_that_unpacks_too_large_is_refused_before_unpacking(monkeypatch):
    monkeypatch.setattr(docx_package, "MAX_UNPACKED_BYTES", 10_000)

    with pytest.raises(ResourceLimitError):
        parse(docx_bytes(lambda document: document.add_paragraph("x")), name="a.docx")


def test_a_truncated_file_is_corrupt():
    content = docx_bytes(lambda document: document.add_paragraph("x"))

    with pytest.raises(CorruptDocumentError):
        parse(content[: len(content) // 2], name="a.docx")


def test_an_encrypted_file_says_so():
    container = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(500) + "EncryptedPackage".encode("utf-16-le")

    with pytest.raises(PasswordProtectedError):
        parse(container, name="a.docx")


def test_a_zip_that_is_no_word_file_is_corrupt():
    content = docx_bytes(lambda document: document.add_paragraph("x"))

    with pytest.raises(CorruptDocumentError):
        parse(with_part(content, "[Content_Types].xml", b"<Types/>"), name="a.docx")
