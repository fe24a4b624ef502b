from __future__ import annotations

from io import BytesIO

import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml.parser import parse_xml

from ragcore.errors import CorruptDocumentError, PasswordProtectedError, ResourceLimitError, UnsafeArchiveError
from ragcore.parsing import parse
from ragcore.parsing.number_words import chinese_number, number_text
from ragcore.parsing.office import package
from tests.ragcore.parsing.build import W, add_xml, docx_bytes, part, with_part
from tests.ragcore.parsing.office_build import png_bytes

DOC_PR = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"


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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_file_that_declares_entities_is_refused_whatever_they_stand_for(encoding, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("top secret")
    plain = docx_bytes(lambda document: document.add_paragraph("Visible MARK text"))
    body = part(plain, "word/document.xml").decode().split("?>", 1)[1].replace("MARK", "&leak;")
    body = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE x [<!ENTITY leak SYSTEM "file://{secret}">]>{body}'

    with pytest.raises(UnsafeArchiveError):
        parse(with_part(plain, "word/document.xml", body.encode(encoding)), name="a.docx")


def test_an_archive_that_unpacks_too_large_is_refused_before_unpacking(monkeypatch):
    monkeypatch.setattr(package, "MAX_UNPACKED_BYTES", 10_000)

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


# ── pictures, boxes, cells ──────────────────────────────────────────────────────────────────────


def test_pictures_come_with_their_bytes_under_a_safe_name_and_the_text_shows_them():
    png = png_bytes()

    def write(document):
        document.add_picture(BytesIO(png))
        document.element.body.find(f".//{DOC_PR}").set("descr", "Map of [all] cells")
        document.add_picture(BytesIO(png))

    document = parse(docx_bytes(write), name="a.docx")

    (picture,) = document.pictures
    assert (picture.media_type, picture.content, picture.alt) == ("image/png", png, "Map of (all) cells")
    assert document.blocks[0].text == f"![Map of (all) cells](picture:{picture.name})"
    assert [block.kind for block in document.blocks] == ["image", "image"]


def test_a_picture_that_no_browser_shows_leaves_its_description():
    def write(document):
        document.add_picture(BytesIO(png_bytes()))
        document.element.body.find(f".//{DOC_PR}").set("descr", "Old drawing")

    content = with_part(docx_bytes(write), "word/media/image1.png", bytes.fromhex("d7cdc69a") + bytes(100))

    document = parse(content, name="a.docx")

    assert document.pictures == ()
    assert document.markdown() == "Old drawing"


def test_a_text_box_is_read_once_and_outside_the_paragraph_that_holds_it():
    box = "<w:txbxContent><w:p><w:r><w:t>In the box</w:t></w:r></w:p></w:txbxContent>"
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'

    def write(document):
        add_xml(
            document,
            f"<w:p><w:r><w:t>Around</w:t></w:r><w:r><mc:AlternateContent {mc}><mc:Choice Requires='wps'>"
            f"<w:drawing>{box}</w:drawing></mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>",
        )

    assert blocks(docx_bytes(write)) == [("paragraph", "Around"), ("paragraph", "In the box")]


def test_cells_keep_their_automatic_numbers_and_inner_tables():
    def write(document):
        table = document.add_table(rows=2, cols=2)
        table.cell(0, 0).text, table.cell(0, 1).text = "No", "Item"
        table.cell(1, 0).paragraphs[0].style = "List Number"
        table.cell(1, 0).paragraphs[0].add_run("first")
        inner = table.cell(1, 1).add_table(rows=2, cols=2)
        for cell, text in zip((c for row in inner.rows for c in row.cells), "abcd", strict=True):
            cell.text = text

    assert blocks(docx_bytes(write)) == [("table", "| No | Item |\n| --- | --- |\n| 1. first | a, b; c, d |")]


def test_hidden_text_is_left_out():
    def write(document):
        paragraph = document.add_paragraph("Seen")
        paragraph.add_run(" unseen").font.hidden = True

    assert blocks(docx_bytes(write)) == [("paragraph", "Seen")]


def test_page_headers_are_left_out_but_name_a_document_without_headings():
    def write(document):
        document.sections[0].header.paragraphs[0].text = "质量管理程序"
        document.sections[0].footer.paragraphs[0].text = "Page 1"
        document.core_properties.title = "Word Document"
        document.add_paragraph("正文。")

    document = parse(docx_bytes(write), name="a.docx")

    assert document.markdown() == "正文。"
    assert document.title == "质量管理程序"


def test_a_title_that_stands_only_in_a_frame_of_the_cover_is_kept():
    def write(document):
        section = document.sections[0]
        section.different_first_page_header_footer = True
        frame = section.first_page_header.paragraphs[0]
        frame.text = "Handover Handbook"
        frame._p.get_or_add_pPr().append(parse_xml(f"<w:framePr {W} w:w='100'/>"))
        document.add_heading("Scope", 1)

    document = parse(docx_bytes(write), name="a.docx")

    assert document.markdown() == "Handover Handbook\n\n# Scope"


def test_footnotes_stand_at_the_end_under_their_mark():
    note = '<w:footnote w:id="1"><w:p><w:r><w:t>See annex B.</w:t></w:r></w:p></w:footnote>'
    notes = f"<w:footnotes {W}>{note}</w:footnotes>"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"

    def write(document):
        part = Part(PackURI("/word/footnotes.xml"), kind, notes.encode(), document.part.package)
        document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
        add_xml(document, "<w:p><w:r><w:t>Limit</w:t></w:r><w:r><w:footnoteReference w:id='1'/></w:r></w:p>")

    assert blocks(docx_bytes(write)) == [("paragraph", "Limit[^1]"), ("paragraph", "[^1]: See annex B.")]


def test_a_form_is_read_row_by_row_without_the_columns_of_its_layout():
    def write(document):
        table = document.add_table(rows=3, cols=8)
        for row, (left, right) in enumerate([("Title:", "Correction"), ("Source:", "SA2"), ("Release:", "Rel-17")]):
            table.cell(row, 0).merge(table.cell(row, 1)).text = left
            table.cell(row, 2).merge(table.cell(row, 7)).text = right

    ((_, text),) = blocks(docx_bytes(write))

    assert text == "| Title: | Correction |\n| --- | --- |\n| Source: | SA2 |\n| Release: | Rel-17 |"


@pytest.mark.parametrize("name", ["Source Code", "HTML Preformatted", "代码"])
def test_paragraphs_of_a_code_style_are_one_block_with_their_indentation(name):
    def write(document):
        style = document.styles.add_style(name, 1)
        document.add_paragraph("Run this:")
        for line in ("def f(n):", "    # **comment**", "", "\treturn 2 ** n"):
            document.add_paragraph(line, style=style)
        document.add_paragraph("", style=style)
        document.add_paragraph("Done.")

    assert blocks(docx_bytes(write)) == [
        ("paragraph", "Run this:"),
        ("code", "```\ndef f(n):\n    # **comment**\n\n    return 2 ** n\n```"),
        ("paragraph", "Done."),
    ]
