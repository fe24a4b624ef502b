"""A report as a PDF.

Chinese is set in a font of Adobe's simplified Chinese collection, which PDF readers bring along or replace by one of
their own, so that no font file has to be installed or shipped. `EXPORT_FONT` names a TrueType font that is embedded
instead, for archives and for scripts beyond that collection.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from html import escape
from io import BytesIO
from itertools import groupby
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from chat.exports.report import Block, Report, Row, Run, table_parts

CHINESE_FONT = "STSong-Light"
EMBEDDED_FONT = "Export"
CODE_FONT = "Courier"
INDENT_POINTS = 16
CELL_CHARACTERS = 1500  # in one cell; a table with a longer one is written as text
HEAD_CHARACTERS = 600  # of a head of one column that is repeated on each page
CODE_COLUMNS = 92
CODE_LINES = 200  # of one paragraph
_CJK = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u200b-\u200f\u202a-\u202e\ud800-\udfff\ufeff\ufffe\uffff]")


logger = logging.getLogger(__name__)


def pdf_bytes(report: Report) -> bytes:
    """The document as a .pdf file, A4. A block that cannot be laid out is written as its plain text."""
    try:
        return _document(report, _flowables)
    except Exception:  # reportlab has no base class for what it cannot lay out
        logger.exception("a block of an export cannot be laid out; its text is written instead")
        return _document(report, _checked_flowables)


def _document(report: Report, flowables: Callable[[Block, Any, float], Iterable[Any]]) -> bytes:
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.units import cm
    from reportlab.platypus import SimpleDocTemplate

    out = BytesIO()
    margins = {f"{side}Margin": 2 * cm for side in ("left", "right", "top", "bottom")}
    document = SimpleDocTemplate(out, pagesize=A4, title=_clean(report.title), **margins)
    flow = list(_flow(report, document.width, flowables))
    document.build(flow, onFirstPage=_page_number, onLaterPages=_page_number)
    return out.getvalue()


def _flow(report: Report, width: float, flowables: Callable[[Block, Any, float], Iterable[Any]]) -> Iterable[Any]:
    styles = _styles()
    yield _paragraph(_markup([Run(text=report.title)]), styles["Title"])
    for turn in report.turns:
        if turn.question:
            yield _paragraph(_markup([Run(text=turn.question)]), styles["Heading1"])
        yield _paragraph(_markup([Run(text=turn.note)]), styles["Note"])
        for block in turn.blocks:
            yield from flowables(block, styles, width)
        if turn.unsupported:
            yield _paragraph(_markup([Run(text=_("Not supported by the sources"))]), styles["Heading2"])
            for sentence in turn.unsupported:
                yield _paragraph(_markup([Run(text=sentence)]), styles["Body"])
        if turn.sources:
            yield _paragraph(_markup([Run(text=_("Sources"))]), styles["Heading2"])
            for source in turn.sources:
                yield _paragraph(_markup([Run(text=source)]), styles["Body"])


def _flowables(block: Block, styles: Any, width: float) -> list[Any]:
    if block.kind == "table":
        return _tables(block, styles, width)
    return _code(block.text, styles) if block.kind == "code" else [_flowable(block, styles)]


def _checked_flowables(block: Block, styles: Any, width: float) -> list[Any]:
    """The block, or its text where it cannot be laid out by itself."""
    from reportlab.platypus import SimpleDocTemplate

    try:
        SimpleDocTemplate(BytesIO()).build(_flowables(block, styles, width))
    except Exception:  # noqa: BLE001 (the first attempt has logged it)
        rows = [" | ".join(map(_text, row)) for row in block.rows]
        return _code("\n".join(rows) if rows else block.text, styles)
    return _flowables(block, styles, width)


def _flowable(block: Block, styles: Any) -> Any:
    if block.kind == "heading":
        return _paragraph(_markup(block.runs), styles[f"Heading{min(block.level + 1, 4)}"])
    if block.kind in ("item", "quote"):
        style = styles["Body"].clone("item", leftIndent=INDENT_POINTS * (min(block.level, 8) + 1))
        mark = f"<bullet bulletIndent='{style.leftIndent - INDENT_POINTS}'>{_fonts(block.mark)}</bullet>"
        return _paragraph((mark if block.mark else "") + _markup(block.runs), style)
    return _paragraph(_markup(block.runs), styles["Body"])


def _code(text: str, styles: Any) -> list[Any]:
    """Lines as they are; a long one goes on in the next."""
    whole = text.expandtabs(4).split("\n")
    lines = [line[at : at + CODE_COLUMNS] for line in whole for at in range(0, len(line) or 1, CODE_COLUMNS)]
    shown = [_fonts(line.replace(" ", "\u00a0"), CODE_FONT) for line in lines]
    parts = (shown[at : at + CODE_LINES] for at in range(0, len(shown), CODE_LINES))
    return [_paragraph("<br/>".join(part), styles["Code"]) for part in parts]


def _tables(block: Block, styles: Any, width: float) -> list[Any]:
    if any(len(_text(cell)) > CELL_CHARACTERS for row in block.rows for cell in row):
        return list(_records(block.rows, styles))
    return [_table(rows, styles, width) for rows in table_parts(block.rows)]


def _records(rows: Sequence[Row], styles: Any) -> Iterator[Any]:
    """A table in lines: the name of each column and what stands in it."""
    head = rows[0]
    yield _paragraph(_markup([Run(text=" · ".join(map(_text, head)))], is_bold=True), styles["Body"])
    for row in rows[1:]:
        for name, cell in zip(head, row, strict=False):
            shown = f"{_markup(name, is_bold=True)}: {_markup(cell)}" if _text(name) else _markup(cell)
            yield _paragraph(shown, styles["Body"])


def _table(table: Sequence[Row], styles: Any, width: float) -> Any:
    from reportlab.lib import colors
    from reportlab.platypus import LongTable

    count = len(table[0])
    rows = [
        [_paragraph(_markup(cell, is_bold=number == 0), styles["Cell"]) for cell in row]
        for number, row in enumerate(table)
    ]
    lines = [("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")]
    # a row that is higher than a page goes on on the next one; a head that high cannot be repeated
    repeated = 0 if any(len(_text(cell)) > HEAD_CHARACTERS // count for cell in table[0]) else 1
    return LongTable(
        rows,
        colWidths=[width / count] * count,
        repeatRows=repeated,
        splitInRow=1,
        style=lines,
        spaceBefore=4,
        spaceAfter=8,
    )


def _text(runs: Sequence[Run]) -> str:
    return "".join(run.text for run in runs)


def _paragraph(markup: str, style: Any) -> Any:
    """A paragraph; Chinese may break behind every character, Latin script between words only."""
    from reportlab.platypus import Paragraph

    is_chinese = _CJK.search(markup) is not None
    return Paragraph(markup, style.clone("cjk", wordWrap="CJK") if is_chinese else style)


def _markup(runs: Iterable[Run], *, is_bold: bool = False) -> str:
    """Runs in reportlab's markup."""
    out = []
    for run in runs:
        shown = _fonts(run.text, CODE_FONT if run.is_code else "").replace("\n", "<br/>")
        shown = f"<b>{shown}</b>" if run.is_bold or is_bold else shown
        out.append(f"<i>{shown}</i>" if run.is_italic else shown)
    return "".join(out)


def _fonts(text: str, latin: str = "") -> str:
    """Escaped text; what Latin fonts do not have stands in the font for it, and what neither has as words."""
    has = _other_characters()
    parts = []
    for font, characters in groupby(_clean(text), lambda one: _font_of(one, has)):
        words = "".join(characters)
        if font == "":
            parts.append(_in_font("".join(map(_in_words, words)), latin))
        else:
            parts.append(_in_font(words, latin if font == "latin" else _font()))
    return "".join(parts)


def _font_of(character: str, has: Callable[[str], bool]) -> str:
    """ "latin", "other", or "" for a character that no font has."""
    if character < "\u0100":
        return "latin"
    if has(character):
        return "other"
    return "latin" if _in_encoding(character, "cp1252") else ""


def _in_words(character: str) -> str:
    """A character that cannot be set: a picture by its name, anything else by its number."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):  # changes the one before it
        return ""
    name = unicodedata.name(character, "") if unicodedata.category(character) in ("So", "Sk", "Sm") else ""
    return f"[{name.lower()}]" if name else f"[U+{ord(character):04X}]"


@cache
def _other_characters() -> Callable[[str], bool]:
    """Which characters `_font` has."""
    from reportlab.pdfbase.pdfmetrics import getFont

    name = _font()
    if name == CHINESE_FONT:
        return lambda character: _in_encoding(character, "gbk")
    glyphs = getFont(name).face.charToGlyph
    return lambda character: ord(character) in glyphs


def _in_encoding(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _in_font(text: str, font: str) -> str:
    return f'<font name="{font}">{escape(text)}</font>' if text and font else escape(text)


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("", text)


@cache
def _font() -> str:
    """The font for what Latin fonts do not have."""
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfbase.pdfmetrics import registerFont, registerFontFamily
    from reportlab.pdfbase.ttfonts import TTFont

    name = EMBEDDED_FONT if settings.EXPORT_FONT else CHINESE_FONT
    registerFont(TTFont(name, settings.EXPORT_FONT) if settings.EXPORT_FONT else UnicodeCIDFont(name))
    registerFontFamily(name, normal=name, bold=name, italic=name, boldItalic=name)
    return name


def _styles() -> Any:
    from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet

    styles = getSampleStyleSheet()
    _font()
    body = ParagraphStyle("Body", parent=styles["BodyText"], leading=15, spaceAfter=4)
    styles.add(body)
    styles.add(ParagraphStyle("Note", parent=body, fontSize=8.5, textColor="#666666"))
    styles.add(ParagraphStyle("Cell", parent=body, fontSize=9, leading=12, spaceBefore=0, spaceAfter=0))
    styles["Code"].fontName, styles["Code"].fontSize, styles["Code"].leading = CODE_FONT, 8, 10
    return styles


def _page_number(canvas: Any, document: Any) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawRightString(document.pagesize[0] - document.rightMargin, 28, str(document.page))
