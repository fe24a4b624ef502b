"""A report as a Word document. Fonts are named, not embedded: Word has them for Chinese and Latin script."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import BytesIO
from typing import Any

from django.utils.translation import gettext as _

from chat.errors import ExportTooLongError
from chat.exports.report import Block, Report, ReportFigure, Run, table_parts
from chat.rendering.effort import Effort, TooMuchError

EAST_ASIAN_FONT = "Microsoft YaHei"
CODE_FONT = "Consolas"
MAX_SECONDS = 10.0  # of processor time for one document
PIXELS_PER_INCH = 96
MAX_WIDTH_INCHES, MAX_HEIGHT_INCHES = 5.9, 5.0  # of a picture
MAX_LEVEL = 9  # of headings in Word
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not allowed in XML


def docx_bytes(report: Report) -> bytes:
    """The document as a .docx file. Raises ExportTooLongError where that takes more than MAX_SECONDS."""
    try:
        return _document(report, Effort(seconds=MAX_SECONDS))
    except TooMuchError:
        raise ExportTooLongError from None


def _document(report: Report, effort: Effort) -> bytes:
    from docx import Document

    document = Document()
    _name_east_asian_font(document)
    document.core_properties.title = _plain(report.title)[:255]
    document.core_properties.author = ""
    document.add_heading(_plain(report.title), 0)
    for turn in report.turns:
        if turn.question:
            document.add_heading(_plain(turn.question), 1)
        document.add_paragraph().add_run(_plain(turn.note)).italic = True
        for block in turn.blocks:
            _add_block(document, block, effort)
        if turn.unsupported:
            document.add_heading(_("Not supported by the sources"), 2)
            for sentence in turn.unsupported:
                document.add_paragraph(_plain(sentence))
        if turn.sources:
            document.add_heading(_("Sources"), 2)
            for source in turn.sources:
                document.add_paragraph(_plain(source))
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def _name_east_asian_font(document: Any) -> None:
    from docx.oxml.ns import qn

    for style in document.styles:
        element = style.element
        if style.type == 1:  # of paragraphs
            fonts = element.get_or_add_rPr().get_or_add_rFonts()
            fonts.set(qn("w:eastAsia"), EAST_ASIAN_FONT)


def _add_block(document: Any, block: Block, effort: Effort) -> None:
    effort.check()
    if block.kind == "table":
        _add_table(document, block, effort)
        return
    if block.figure is not None:
        _add_figure(document, block.figure)
        return
    if block.kind == "heading":
        paragraph = document.add_heading("", min(block.level + 1, MAX_LEVEL))
    elif block.kind == "item":
        paragraph = document.add_paragraph()
        _indent(paragraph, block.level + 1)
        if block.mark:
            paragraph.add_run(f"{block.mark} ")
    else:
        paragraph = document.add_paragraph()
        if block.kind == "quote":
            _indent(paragraph, 1)
    _add_runs(paragraph, block.runs)


def _add_table(document: Any, block: Block, effort: Effort) -> None:
    """Word opens no table of more than 63 columns."""
    for rows in table_parts(block.rows):
        table = document.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
        for number, row in enumerate(rows):
            effort.check()
            for cell, runs in zip(table.add_row().cells, row, strict=True):
                _add_runs(cell.paragraphs[0], runs, is_bold=number == 0)
        document.add_paragraph()


def _add_figure(document: Any, figure: ReportFigure) -> None:
    """A picture with its words for who does not see it, and its caption below it."""
    from docx.shared import Inches

    if figure.picture is not None:
        inches = min(figure.picture.width / PIXELS_PER_INCH, MAX_WIDTH_INCHES)
        height = inches * figure.picture.height / figure.picture.width
        inches *= min(1.0, MAX_HEIGHT_INCHES / height)
        shape = document.add_picture(BytesIO(figure.picture.content), width=Inches(inches))
        shape._inline.docPr.set("descr", _plain(figure.alt))
        document.paragraphs[-1].paragraph_format.keep_with_next = True
    document.add_paragraph().add_run(_plain(figure.line)).italic = True


def _indent(paragraph: Any, level: int) -> None:
    from docx.shared import Cm

    paragraph.paragraph_format.left_indent = Cm(0.75 * min(level, 8))


def _add_runs(paragraph: Any, runs: Iterable[Run], *, is_bold: bool = False) -> None:
    for run in runs:
        added = paragraph.add_run(_plain(run.text))
        added.bold, added.italic = (run.is_bold or is_bold) or None, run.is_italic or None
        if run.is_code:
            added.font.name = CODE_FONT


def _plain(text: str) -> str:
    return _UNPRINTABLE.sub("", text)
