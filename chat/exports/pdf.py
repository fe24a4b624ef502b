"""A report as a PDF.

Chinese is set in a font of Adobe's simplified Chinese collection, which PDF readers bring along or replace by one of
their own, so that no font file has to be installed or shipped. `EXPORT_FONT` names a TrueType font that is embedded
instead, for archives and for scripts beyond that collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from io import BytesIO
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from chat.exports.report import Block, Report, Run

CHINESE_FONT = "STSong-Light"
EMBEDDED_FONT = "Export"
CODE_FONT = "Courier"
INDENT_POINTS = 16
CELL_CHARACTERS = 1500  # in one cell
HEAD_CHARACTERS = 600  # of a head of one column that is repeated on each page
CODE_COLUMNS = 92
_OTHER_SCRIPT = re.compile(r"[^\x00-\xff]+")  # what the Latin fonts of every PDF reader do not have
_CJK = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u200b-\u200f\u202a-\u202e\ud800-\udfff\ufeff\ufffe\uffff]")


def pdf_bytes(report: Report) -> bytes:
    """The document as a .pdf file, A4."""
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.units import cm
    from reportlab.platypus import SimpleDocTemplate

    out = BytesIO()
    margins = {f"{side}Margin": 2 * cm for side in ("left", "right", "top", "bottom")}
    document = SimpleDocTemplate(out, pagesize=A4, title=_clean(report.title), **margins)
    document.build(list(_flow(report, document.width)), onFirstPage=_page_number, onLaterPages=_page_number)
    return out.getvalue()


def _flow(report: Report, width: float) -> Iterable[Any]:
    styles = _styles()
    yield _paragraph(_markup([Run(text=report.title)]), styles["Title"])
    for turn in report.turns:
        if turn.question:
            yield _paragraph(_markup([Run(text=turn.question)]), styles["Heading1"])
        yield _paragraph(_markup([Run(text=turn.note)]), styles["Note"])
        for block in turn.blocks:
            yield _flowable(block, styles, width)
        if turn.unsupported:
            yield _paragraph(_markup([Run(text=_("Not supported by the sources"))]), styles["Heading2"])
            for sentence in turn.unsupported:
                yield _paragraph(_markup([Run(text=sentence)]), styles["Body"])
        if turn.sources:
            yield _paragraph(_markup([Run(text=_("Sources"))]), styles["Heading2"])
            for source in turn.sources:
                yield _paragraph(_markup([Run(text=source)]), styles["Body"])


def _flowable(block: Block, styles: Any, width: float) -> Any:
    from reportlab.platypus import Spacer

    if block.kind == "table":
        return _table(block, styles, width) if any(block.rows) else Spacer(0, 0)
    if block.kind == "code":
        return _code(block.text, styles)
    if block.kind == "heading":
        return _paragraph(_markup(block.runs), styles[f"Heading{min(block.level + 1, 4)}"])
    if block.kind in ("item", "quote"):
        style = styles["Body"].clone("item", leftIndent=INDENT_POINTS * (min(block.level, 8) + 1))
        mark = f"<bullet bulletIndent='{style.leftIndent - INDENT_POINTS}'>{_fonts(block.mark)}</bullet>"
        return _paragraph((mark if block.mark else "") + _markup(block.runs), style)
    return _paragraph(_markup(block.runs), styles["Body"])


def _code(text: str, styles: Any) -> Any:
    """Lines as they are; a long one goes on in the next."""
    whole = text.expandtabs(4).split("\n")
    lines = [line[at : at + CODE_COLUMNS] for line in whole for at in range(0, len(line) or 1, CODE_COLUMNS)]
    shown = "<br/>".join(_fonts(line.replace(" ", "\u00a0"), CODE_FONT) for line in lines)
    return _paragraph(shown, styles["Code"])


def _table(block: Block, styles: Any, width: float) -> Any:
    from reportlab.lib import colors
    from reportlab.platypus import LongTable

    count = max(map(len, block.rows))
    rows = [
        [
            _paragraph(_markup(_shortened(cell), is_bold=number == 0), styles["Cell"])
            for cell in (*row, *[()] * (count - len(row)))
        ]
        for number, row in enumerate(block.rows)
    ]
    lines = [("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")]
    # a row that is higher than a page goes on on the next one; a head that high cannot be repeated
    repeated = 0 if any(len(_text(cell)) > HEAD_CHARACTERS // count for cell in block.rows[0]) else 1
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


def _shortened(runs: Sequence[Run]) -> list[Run]:
    text = _text(runs)
    return list(runs) if len(text) <= CELL_CHARACTERS else [Run(text=f"{text[:CELL_CHARACTERS]}…")]


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
    """Escaped text; what Latin fonts do not have stands in the font for it."""
    other, parts, end = _font(), [], 0
    clean = _clean(text)
    for match in _OTHER_SCRIPT.finditer(clean):
        parts += [_in_font(clean[end : match.start()], latin), _in_font(match.group(), other)]
        end = match.end()
    return "".join([*parts, _in_font(clean[end:], latin)])


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
