"""Words of PDF files stay whole: kerned letters, letters set apart, identifiers in narrow cells."""

from __future__ import annotations

from io import BytesIO

import pytest
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

from ragcore.parsing.pdf.parser import PdfParser

SENTENCE = "The ContentionResolutionTimer starts when Msg3 is sent."
IDENTIFIERS = ("ContentionResolutionTimer", "ra-ContentionResolutionTimer-r16", "drx_InactivityTimerLength")


def text_of(content: bytes) -> str:
    return PdfParser().parse(content, name="a.pdf").markdown()


def canvas_pdf(draw) -> bytes:
    out = BytesIO()
    canvas = Canvas(out)
    canvas.setFont("Helvetica", 12)
    canvas.drawString(72, 740, "Timers")
    draw(canvas)
    canvas.save()
    return out.getvalue()


def table_pdf(rows, widths) -> bytes:
    out = BytesIO()
    style = getSampleStyleSheet()["BodyText"]
    style.splitLongWords = 1
    cells = [[Paragraph(text, style) for text in row] for row in rows]
    SimpleDocTemplate(out).build([Table(cells, colWidths=widths, style=[("GRID", (0, 0), (-1, -1), 0.5, "black")])])
    return out.getvalue()


@pytest.mark.parametrize("thousandths", [0, 60, 120, 160, 200, 220])
def test_a_pair_of_letters_that_is_moved_apart_stays_in_its_word(thousandths):
    moved = f"[(ContentionResolutionTim) -{thousandths} (er starts now) -278 (and) -300 (ends.)] TJ"

    text = text_of(canvas_pdf(lambda canvas: canvas._code.append(f"BT 1 0 0 1 72 700 Tm /F1 12 Tf {moved} ET")))

    assert "ContentionResolutionTimer starts now and ends." in text


@pytest.mark.parametrize("points", [0, 1, 2, 3, 4, 6])
@pytest.mark.parametrize("size", [8, 12, 20])
def test_letters_that_are_set_apart_are_words(points, size):
    def draw(canvas):
        text = canvas.beginText(40, 700)
        text.setFont("Helvetica", size)
        text.setCharSpace(points * size / 12)
        text.textLine(SENTENCE[:33])
        canvas.drawText(text)

    assert SENTENCE[:33].strip() in text_of(canvas_pdf(draw))


def test_single_letters_and_figures_with_spaces_stay_apart():
    text = text_of(canvas_pdf(lambda canvas: canvas.drawString(72, 700, "Sides a b c d e f and 1 2 3 of it")))

    assert "Sides a b c d e f and 1 2 3 of it" in text


def test_words_of_a_justified_line_stay_apart():
    def draw(canvas):
        text = canvas.beginText(72, 700)
        text.setFont("Helvetica", 11)
        text.setWordSpace(-0.6)
        text.textLine(SENTENCE)
        text.setWordSpace(6)
        text.textLine("Another line with wide spaces between its words.")
        canvas.drawText(text)

    assert f"{SENTENCE} Another line with wide spaces between its words." in text_of(canvas_pdf(draw))


@pytest.mark.parametrize("width", [60, 75, 90, 110, 130])
def test_an_identifier_that_a_narrow_cell_broke_is_whole(width):
    rows = [("Field", "Meaning"), *((name, "Value of the timer in ms") for name in IDENTIFIERS)]

    text = text_of(table_pdf(rows, (width, 180)))

    for name in IDENTIFIERS:
        assert f"| {name} |" in text


def test_words_that_a_cell_put_below_each_other_stay_apart():
    rows = [("Name", "Meaning"), ("Contention resolution identity", "x"), ("Random Access Response window", "y")]

    text = text_of(table_pdf(rows, (62, 90)))

    assert "| Contention resolution identity |" in text
    assert "| Random Access Response window |" in text


def test_a_plain_word_that_the_page_has_whole_is_whole_in_its_cell():
    rows = [("Name", "Meaning"), ("telecommunications", "All of telecommunications is meant")]

    assert "| telecommunications |" in text_of(table_pdf(rows, (50, 250)))
