"""Documents made on the fly for the tests of parsing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from docx import Document
from docx.oxml.parser import parse_xml
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SONG = "STSong-Light"
pdfmetrics.registerFont(UnicodeCIDFont(SONG))


def docx_bytes(write: Callable[[Any], None]) -> bytes:
    """A Word file that `write` filled."""
    document = Document()
    write(document)
    target = BytesIO()
    document.save(target)
    return target.getvalue()


def add_xml(document: Any, xml: str) -> None:
    """Append raw WordprocessingML to the body; the prefix w is declared."""
    element = parse_xml(xml.replace(">", f" {W}>", 1) if "/>" not in xml.split(">")[0] + ">" else xml)
    document.element.body.insert(len(document.element.body) - 1, element)


def with_part(content: bytes, name: str, data: bytes) -> bytes:
    """A zip archive with one member replaced."""
    target = BytesIO()
    with ZipFile(BytesIO(content)) as source, ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for member in source.namelist():
            archive.writestr(member, data if member == name else source.read(member))
    return target.getvalue()


def part(content: bytes, name: str) -> bytes:
    with ZipFile(BytesIO(content)) as archive:
        return archive.read(name)


Text = tuple[float, float, str]  # x and y in points from the top left corner


def pdf_bytes(
    pages: Sequence[Sequence[Text | tuple[float, float, str, str, float]]],
    *,
    font: str = "Helvetica",
    size: float = 10,
    rotate: int = 0,
    encrypt: str | None = None,
    title: str = "",
) -> bytes:
    """A PDF with texts at places; a text may bring its own font and size."""
    target = BytesIO()
    canvas = Canvas(target, pagesize=turned(A4) if rotate in (90, 270) else A4, encrypt=encrypt)
    canvas.setTitle(title)
    for texts in pages:
        if rotate:
            canvas.setPageRotation(rotate)
        for x, y, text, *own in texts:
            canvas.setFont(own[0] if own else font, own[1] if own else size)
            canvas.drawString(x, A4[1] - y, text)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def turned(size: tuple[float, float]) -> tuple[float, float]:
    """The size to give to reportlab, which swaps the sides of pages that are shown turned by 90 or 270 degrees."""
    return size[1], size[0]


def lines(texts: Sequence[str], *, x: float = 72, y: float = 100, leading: float = 14) -> list[Text]:
    """Texts under each other."""
    return [(x, y + leading * number, text) for number, text in enumerate(texts)]
