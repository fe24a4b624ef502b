"""Part d: how many pages a second the PDF parser reads, on one core; and the PDFs for it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from io import BytesIO

from bench.ingest.figures import Figure
from bench.ingest.texts import english_words, texts_made
from ragcore.parsing import parse

LINES = 46  # of a text page
LINE_CHARACTERS = 92
ROWS, COLUMNS = 24, 5  # of a table that fills most of a page
GOAL_PAGES = 60.0


def parsing_figures(*, pages: int, repeat: int) -> list[Figure]:
    """Pages a second of text pages and of pages with a ruled table."""
    kinds = {"text": (text_pdf(pages), 0), "ruled tables": (table_pdf(pages), pages)}
    return [
        Figure(
            part="d",
            name=f"PDF parsing, pages with {kind}",
            unit="pages/s a core",
            values=[_pages_per_second(content, pages=pages, tables=tables) for _ in range(repeat)],
            goal=GOAL_PAGES,
        )
        for kind, (content, tables) in kinds.items()
    ]


def _pages_per_second(content: bytes, *, pages: int, tables: int) -> float:
    """Raises RuntimeError where pages or tables were not read: a speed without them would mean nothing."""
    start = time.process_time()  # of this process alone: others may use the core meanwhile
    parsed = parse(content, name="bench.pdf")
    seconds = time.process_time() - start
    found = sum(block.kind == "table" for block in parsed.blocks)
    if parsed.pages != pages or found < tables:
        raise RuntimeError(f"the parser saw {parsed.pages} of {pages} pages and {found} of {tables} tables")
    return pages / seconds


def text_pdf(pages: int, *, seed: int = 2) -> bytes:
    """Pages full of prose with a heading each."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    lines, target = _prose(pages * LINES, seed=seed), BytesIO()
    canvas = Canvas(target, pagesize=A4)
    for page in range(pages):
        canvas.setFont("Helvetica-Bold", 14)
        canvas.drawString(56, A4[1] - 50, f"{page + 1} Section {page + 1}")
        canvas.setFont("Helvetica", 10)
        for at, line in enumerate(lines[page * LINES : (page + 1) * LINES]):
            canvas.drawString(56, A4[1] - 80 - 15 * at, line)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def table_pdf(pages: int) -> bytes:
    """Pages with a paragraph and one ruled table each."""
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

    style, words, target = getSampleStyleSheet()["Normal"], english_words(), BytesIO()
    story: list[object] = []
    for page, line in enumerate(_prose(pages, seed=3)):
        rows = [
            [f"{words[(page + row * COLUMNS + column) % 900]} {row}" for column in range(COLUMNS)]
            for row in range(ROWS)
        ]
        grid = Table(
            [[f"Column {c}" for c in range(COLUMNS)], *rows], style=[("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
        )
        story += [Paragraph(line, style), grid, PageBreak()]
    SimpleDocTemplate(target, pagesize=A4).build(story)
    return target.getvalue()


def _prose(lines: int, *, seed: int) -> Sequence[str]:
    found: list[str] = []
    for text in _english(seed):
        words, line = text.split(), ""
        for word in words:
            if len(line) + len(word) >= LINE_CHARACTERS:
                found.append(line)
                line = ""
            line = f"{line} {word}".strip()
        if len(found) >= lines:
            return found[:lines]
    raise RuntimeError("the texts have come to an end")


def _english(seed: int) -> Iterable[str]:
    while True:
        seed += 1
        yield from (text.text for text in texts_made(20, seed=seed) if text.text.isascii())
