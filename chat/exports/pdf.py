"""A report as a PDF.

Chinese is set in a font of Adobe's simplified Chinese collection, which PDF readers bring along or replace by one of
their own, so that no font file has to be installed or shipped. `EXPORT_FONT` names a TrueType font that is embedded
instead, for archives and for scripts beyond that collection.

reportlab's time grows with the square of a paragraph or a table that passes over many pages. Both are cut into parts,
and a document that still takes too long is written as plain text.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from io import BytesIO
from itertools import groupby
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from chat.errors import ExportTooLongError
from chat.exports.report import Block, Report, ReportFigure, Row, Run, table_parts
from chat.rendering.effort import Effort, TooMuchError

CHINESE_FONT = "STSong-Light"
EMBEDDED_FONT = "Export"
CODE_FONT = "Courier"
MARGIN_POINTS = 57  # 2 cm
INDENT_POINTS = 16
CELL_CHARACTERS = 1500  # in one cell; a table with a longer one is written as text
HEAD_CHARACTERS = 600  # of a head of one column that is repeated on each page
CODE_COLUMNS = 92
CODE_LINES = 200  # of one paragraph
PART_CHARACTERS = 2000  # of one paragraph; a longer one goes on in the next without space between them
LINE_COST = 40  # as many characters of a part as the end of a line counts
TABLE_CELLS = 400  # of one table; a longer one goes on in the next, below the same head
POINTS_PER_PIXEL = 0.75
MAX_PICTURE_POINTS = 360  # in height
MAX_SECONDS = 10.0  # of processor time for the layout, and again for plain text
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CJK = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u200b-\u200f\u202a-\u202e\ud800-\udfff\ufeff\ufffe\uffff]")


logger = logging.getLogger(__name__)


def pdf_bytes(report: Report) -> bytes:
    """The document as a .pdf file, A4.

    A block that cannot be laid out is written as its plain text, and so is the whole document where the layout takes
    more than MAX_SECONDS. Raises ExportTooLongError where plain text takes that long, too.
    """
    effort = Effort(seconds=MAX_SECONDS)
    try:
        try:
            return _document(report, _flow(report, _flowables), effort)
        except TooMuchError:
            raise
        except Exception:  # reportlab has no base class for what it cannot lay out
            logger.exception("a block of an export cannot be laid out; its text is written instead")
            return _document(report, _flow(report, _checked_flowables), effort)
    except TooMuchError:
        logger.warning("the layout of an export takes more than %s s; its plain text is written instead", MAX_SECONDS)
    try:
        return _document(report, _plain_flow(report), Effort(seconds=MAX_SECONDS))
    except TooMuchError:
        raise ExportTooLongError from None


def _document(report: Report, flow: Iterable[Any], effort: Effort) -> bytes:
    """Raises TooMuchError."""
    from reportlab.lib.pagesizes import A4

    out = BytesIO()
    margins = {f"{side}Margin": MARGIN_POINTS for side in ("left", "right", "top", "bottom")}
    document = _template()(out, pagesize=A4, title=_clean(report.title), **margins)
    document.effort = effort
    flowables = []
    for flowable in flow:
        effort.check()
        flowables.append(flowable)
    document.build(flowables, onFirstPage=_page_number, onLaterPages=_page_number)
    return out.getvalue()


@cache
def _template() -> Any:
    """The class of documents; a document looks at the clock of its `effort` before each flowable."""
    from reportlab.platypus import SimpleDocTemplate

    class LimitedDocument(SimpleDocTemplate):  # type: ignore[misc]  # reportlab has no types
        effort: Effort

        def handle_flowable(self, flowables: list[Any]) -> None:
            self.effort.check()
            super().handle_flowable(flowables)

    return LimitedDocument


def _flow(report: Report, flowables: Callable[[Block, Any], Iterable[Any]]) -> Iterable[Any]:
    styles = _styles()
    yield from _paragraphs([Run(text=report.title)], styles["Title"])
    for turn in report.turns:
        yield from _paragraphs([Run(text=turn.question)] if turn.question else [], styles["Heading1"])
        yield from _paragraphs([Run(text=turn.note)], styles["Note"])
        for block in turn.blocks:
            yield from flowables(block, styles)
        if turn.unsupported:
            yield from _paragraphs([Run(text=_("Not supported by the sources"))], styles["Heading2"])
            for sentence in turn.unsupported:
                yield from _paragraphs([Run(text=sentence)], styles["Body"])
        if turn.sources:
            yield from _paragraphs([Run(text=_("Sources"))], styles["Heading2"])
            for source in turn.sources:
                yield from _paragraphs([Run(text=source)], styles["Body"])


def _plain_flow(report: Report) -> Iterable[Any]:
    """The same without a layout: lines of text as they were written."""
    styles = _styles()
    yield from _code(report.title, styles)
    for turn in report.turns:
        texts = [turn.question, turn.note, turn.markdown]
        if turn.unsupported:
            texts += [_("Not supported by the sources"), *turn.unsupported]
        if turn.sources:
            texts += [_("Sources"), *turn.sources]
        yield from _code("\n\n".join(filter(None, texts)), styles)


def _flowables(block: Block, styles: Any) -> Iterable[Any]:
    if block.kind == "table":
        return _tables(block, styles)
    if block.figure is not None:
        return _figure(block.figure, styles)
    return _code(block.text, styles) if block.kind == "code" else _block_paragraphs(block, styles)


def _figure(figure: ReportFigure, styles: Any) -> Iterator[Any]:
    """A picture that fits on a page, and its caption below it."""
    from reportlab.lib.pagesizes import A4
    from reportlab.platypus import Image

    if figure.picture is not None:
        width, height = figure.picture.width * POINTS_PER_PIXEL, figure.picture.height * POINTS_PER_PIXEL
        scale = min(1.0, (A4[0] - 2 * MARGIN_POINTS) / width, MAX_PICTURE_POINTS / height)
        yield Image(BytesIO(figure.picture.content), width * scale, height * scale, hAlign="LEFT")
    yield from _paragraphs([Run(text=figure.line, is_italic=True)], styles["Note"])


def _checked_flowables(block: Block, styles: Any) -> Iterable[Any]:
    """The block, or its text where it cannot be laid out by itself."""
    from reportlab.platypus import SimpleDocTemplate

    try:
        SimpleDocTemplate(BytesIO()).build(list(_flowables(block, styles)))
    except Exception:  # noqa: BLE001 (the first attempt has logged it)
        rows = [" | ".join(map(_text, row)) for row in block.rows]
        return _code("\n".join(rows) if rows else block.text, styles)
    return _flowables(block, styles)


def _block_paragraphs(block: Block, styles: Any) -> Iterator[Any]:
    if block.kind == "heading":
        yield from _paragraphs(block.runs, styles[f"Heading{min(block.level + 1, 4)}"])
    elif block.kind in ("item", "quote"):
        style = styles["Body"].clone("item", leftIndent=INDENT_POINTS * (min(block.level, 8) + 1))
        mark = f"<bullet bulletIndent='{style.leftIndent - INDENT_POINTS}'>{_fonts(block.mark)}</bullet>"
        yield from _paragraphs(block.runs, style, mark=mark if block.mark else "")
    else:
        yield from _paragraphs(block.runs, styles["Body"])


def _code(text: str, styles: Any) -> list[Any]:
    """Lines as they are; a long one goes on in the next."""
    whole = text.expandtabs(4).split("\n")
    lines = [line[at : at + CODE_COLUMNS] for line in whole for at in range(0, len(line) or 1, CODE_COLUMNS)]
    code_lines = [_fonts(line.replace(" ", "\u00a0"), CODE_FONT) for line in lines]
    parts = (code_lines[at : at + CODE_LINES] for at in range(0, len(code_lines), CODE_LINES))
    return [_paragraph("<br/>".join(part), styles["Code"]) for part in parts]


def _tables(block: Block, styles: Any) -> Iterator[Any]:
    if any(len(_text(cell)) > CELL_CHARACTERS for row in block.rows for cell in row):
        yield from _records(block.rows, styles)
        return
    for rows in table_parts(block.rows):
        step = max(TABLE_CELLS // len(rows[0]), 1)
        for at in range(1, max(len(rows), 2), step):
            yield _table([rows[0], *rows[at : at + step]], styles, is_last=at + step >= len(rows))


def _records(rows: Sequence[Row], styles: Any) -> Iterator[Any]:
    """A table in lines: the name of each column and what stands in it."""
    head = rows[0]
    yield from _paragraphs([Run(text=" · ".join(map(_text, head)), is_bold=True)], styles["Body"])
    for row in rows[1:]:
        for name, cell in zip(head, row, strict=False):
            names = [replace(run, is_bold=True) for run in name]
            yield from _paragraphs([*names, Run(text=": "), *cell] if _text(name) else cell, styles["Body"])


def _table(table: Sequence[Row], styles: Any, *, is_last: bool = True) -> Any:
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4
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
        colWidths=[(A4[0] - 2 * MARGIN_POINTS) / count] * count,
        repeatRows=repeated,
        splitInRow=1,
        style=lines,
        spaceBefore=4,
        spaceAfter=8 if is_last else 0,
    )


def _text(runs: Sequence[Run]) -> str:
    return "".join(run.text for run in runs)


def _paragraphs(runs: Sequence[Run], style: Any, *, mark: str = "") -> Iterator[Any]:
    """Runs as one paragraph, or as several that follow each other without space. `mark`: markup in front of the first.

    A part of many does not ask for the next one on its page: reportlab would look at all of them together.
    """
    parts = list(_parts(runs))
    if len(parts) == 1:
        yield _paragraph(mark + _markup(parts[0]), style)
        return
    inner = style.clone("part", spaceBefore=0, spaceAfter=0, keepWithNext=0)
    for number, part in enumerate(parts):
        edges = {"spaceBefore": style.spaceBefore} if number == 0 else {}
        edges |= {"spaceAfter": style.spaceAfter} if number == len(parts) - 1 else {}
        yield _paragraph((mark if number == 0 else "") + _markup(part), inner.clone("edge", **edges))


def _parts(runs: Iterable[Run]) -> Iterator[list[Run]]:
    """Runs in lists of at most PART_CHARACTERS, cut behind a sentence or a word where there is one."""
    part: list[Run] = []
    room = PART_CHARACTERS
    for run in runs:
        for line in _LINE.findall(run.text):
            while len(line) > room:
                at = max(line.rfind("。", room // 2, room), line.rfind(" ", room // 2, room)) + 1 or room
                yield [*part, replace(run, text=line[:at])]
                part, room, line = [], PART_CHARACTERS, line[at:]
            room -= len(line) + LINE_COST * line.endswith("\n")
            part.append(replace(run, text=line if room > 0 else line.removesuffix("\n")))
            if room <= 0:
                yield part
                part, room = [], PART_CHARACTERS
    if part:
        yield part


def _paragraph(markup: str, style: Any) -> Any:
    """A paragraph; Chinese may break behind every character, Latin script between words only."""
    from reportlab.platypus import Paragraph

    is_chinese = _CJK.search(markup) is not None
    return Paragraph(markup, style.clone("cjk", wordWrap="CJK") if is_chinese else style)


def _markup(runs: Iterable[Run], *, is_bold: bool = False) -> str:
    """Runs in reportlab's markup."""
    out = []
    for run in runs:
        marked_up = _fonts(run.text, CODE_FONT if run.is_code else "").replace("\n", "<br/>")
        marked_up = f"<b>{marked_up}</b>" if run.is_bold or is_bold else marked_up
        out.append(f"<i>{marked_up}</i>" if run.is_italic else marked_up)
    return "".join(out)


def _fonts(text: str, latin: str = "") -> str:
    """Escaped text; what Latin fonts do not have stands in the font for it, and what neither has as words."""
    has = _other_characters()
    parts = []
    for font, characters in groupby(_clean(text), lambda character: _font_of(character, has)):
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
