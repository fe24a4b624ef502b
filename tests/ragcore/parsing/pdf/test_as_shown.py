"""What a PDF shows and its characters alone do not say: raised figures, typed text, forms, columns that run down."""

from __future__ import annotations

import ctypes
from io import BytesIO

import pypdfium2
import pypdfium2.raw as raw
import pytest
from reportlab.lib.colors import black
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from ragcore.parsing import parse
from tests.ragcore.parsing.build import SONG

WIDTH, HEIGHT = A4


def pdf(write, pages: int = 1) -> bytes:
    target = BytesIO()
    canvas = Canvas(target, pagesize=A4)
    for number in range(1, pages + 1):
        canvas.setFont("Helvetica", 11)
        write(canvas, number) if pages > 1 else write(canvas)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def text_of(content: bytes) -> str:
    return "\n".join(block.text for block in parse(content, name="a.pdf").blocks)


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([("The limit is 10", 0), ("-6", 4), (" mbar here.", 0)], "The limit is 10^-6 mbar here."),
        ([("At most 10", 0), ("5", 4), (" counts a minute.", 0)], "At most 10^5 counts a minute."),
        ([("In all 2400", 0), ("3", 4), (" parts a shift.", 0)], "In all 2400[^3] parts a shift."),
        ([("The tracer gas is SF", 0), ("6", -2), (" as before.", 0)], "The tracer gas is SF6 as before."),
        ([("An area of 25 m", 0), ("2", 4), (" is free.", 0)], "An area of 25 m² is free."),
    ],
)
def test_raised_and_lowered_figures_are_told_apart(parts, shown):
    def write(canvas):
        text = canvas.beginText(72, 700)
        text.setFont("Helvetica", 11)
        for part, rise in parts:
            text.setFont("Helvetica", 7 if rise else 11)
            text.setRise(rise)
            text.textOut(part)
        canvas.drawText(text)
        canvas.drawString(72, 650, "Another line of the usual size stands below it.")

    assert shown in text_of(pdf(write))


def test_figures_of_one_size_beside_chinese_are_none():
    def write(canvas):
        text = canvas.beginText(72, 700)
        for part, font in (
            ("共 ", SONG),
            ("24003", "Helvetica"),
            (" 件，每班 ", SONG),
            ("106", "Helvetica"),
            (" 件。", SONG),
        ):
            text.setFont(font, 11)
            text.textOut(part)
        canvas.drawText(text)

    assert "24003" in text_of(pdf(write))
    assert "106" in text_of(pdf(write))


def annotated(content: bytes, **entries: object) -> bytes:
    """The file with one annotation on its first page."""
    document = pypdfium2.PdfDocument(content)
    page = document[0]
    annotation = raw.FPDFPage_CreateAnnot(page.raw, entries["kind"])
    raw.FPDFAnnot_SetRect(annotation, raw.FS_RECTF(72.0, 620.0, 400.0, 600.0))
    text = (str(entries["text"]) + "\0").encode("utf-16-le")
    raw.FPDFAnnot_SetStringValue(annotation, b"Contents", _wide(text))
    raw.FPDFAnnot_SetFlags(annotation, entries.get("flags", 0))
    raw.FPDFPage_CloseAnnot(annotation)
    target = BytesIO()
    document.save(target)
    return target.getvalue()


def _wide(text: bytes):
    return ctypes.cast(ctypes.create_string_buffer(text), ctypes.POINTER(ctypes.c_ushort))


def lines(canvas):
    canvas.drawString(72, 700, "The load of crane K2 is 400 kg.")
    canvas.drawString(72, 500, "It is inspected every year.")


@pytest.mark.parametrize(("kind", "flags", "is_read"), [(3, 4, True), (3, 2, False), (1, 0, True), (5, 0, False)])
def test_typed_text_and_notes_are_read_unless_they_are_hidden(kind, flags, is_read):
    text = text_of(annotated(pdf(lines), kind=kind, text="Raised to 450 kg.\nSee order 7.", flags=flags))

    assert ("450 kg" in text) is is_read
    assert "order 7" in text or not is_read


def test_values_of_a_form_stand_with_their_labels():
    def write(canvas):
        canvas.drawString(72, 700, "Name:")
        canvas.drawString(72, 670, "Urgent:")
        canvas.drawString(72, 640, "Copies:")
        form = canvas.acroForm
        form.textfield(name="name", value="Wei Zhang", x=130, y=695, width=200, height=18, borderColor=black)
        form.checkbox(name="urgent", checked=True, x=130, y=668, size=14)
        form.checkbox(name="copies", checked=False, x=130, y=638, size=14)

    text = text_of(pdf(write))

    assert "Name: Wei Zhang" in text
    assert "Urgent: ☒" in text
    assert "Copies: ☐" in text


def test_columns_that_run_down_are_read_from_the_right():
    columns = ["仓库钥匙由门卫保管，", "领用须登记姓名时间。"]

    def write(canvas):
        canvas.setFont(SONG, 12)
        for number, column in enumerate(columns):
            for at, char in enumerate(column):
                canvas.drawString(400 - 24 * number, 700 - 14 * at, char)

    assert "".join(columns) in text_of(pdf(write)).replace("\n", "")


def test_what_headers_say_of_the_document_is_an_attribute_and_said_once():
    def write(canvas, number):
        canvas.drawString(72, 810, "Document No.: QP-07    Revision: C")
        canvas.drawString(72, 600, f"Text of page {number} about pumps and their valves in the hall.")
        canvas.drawString(280, 20, f"Page {number} of 4")

    document = parse(pdf(write, pages=4), name="a.pdf")

    assert (document.metadata["document_number"], document.metadata["version"]) == ("QP-07", "C")
    assert "\n".join(block.text for block in document.blocks).count("QP-07") == 1
