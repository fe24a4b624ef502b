"""The content of an export, before it has a format: shared by Markdown, Word and PDF."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.token import Token

from accounts.relative_time import exact_time
from chat.answers.figures import FigureLine
from chat.answers.outcome_words import outcome_words, unsupported_sentences
from chat.exports.pictures import ExportPicture, pictures_read
from chat.pages.view_models import TurnView
from chat.rendering.effort import Effort, TooMuchError, limit_effort

MAX_TURNS = 500  # of one file
MAX_COLUMNS = 10  # of a table side by side on a page; wider ones are cut into several
MARKER = re.compile(r"\[(\d{1,3})\]")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")

Row = tuple[tuple["Run", ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A piece of text in one style."""

    text: str
    is_bold: bool = False
    is_italic: bool = False
    is_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFigure:
    """A picture of a cited passage, and where it stands."""

    key: str  # names the picture in the file
    number: int  # of its source
    place: int  # which marker of the text it stands behind, from 0
    caption: str
    alt: str
    picture: ExportPicture | None  # None: it cannot be read, or the file has too many

    @property
    def line(self) -> str:
        """The words below the picture, with the number of the source."""
        return f"{self.caption} [{self.number}]".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of a report. `kind`: heading, paragraph, item, quote, code, table, figure."""

    kind: str
    runs: tuple[Run, ...] = ()
    level: int = 0  # of a heading from 1, of an item from 0
    mark: str = ""  # in front of an item: "•" or "1."
    rows: tuple[Row, ...] = ()  # of a table, the first one its head
    figure: ReportFigure | None = None

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    @property
    def whole_text(self) -> str:
        """The text, of a table too."""
        return self.text + "\n".join(run.text for row in self.rows for cell in row for run in cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTurn:
    """A question with its answer as Markdown and blocks, and its sources in words."""

    question: str  # "" where the title says it
    note: str  # when it was asked, how it was written, and what is missing from it
    markdown: str
    blocks: tuple[Block, ...]
    sources: tuple[str, ...]
    unsupported: tuple[str, ...] = ()  # sentences that no source supports: a file has no underlines
    figures: tuple[ReportFigure, ...] = ()  # they stand among the blocks, and not in the Markdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Turns under a title."""

    title: str
    turns: tuple[ReportTurn, ...]


def build_report(*, title: str, turns: Sequence[TurnView]) -> Report:
    """The finished turns, with their sources as the asker may see them at this moment; those without text say why."""
    finished = list(islice((turn for turn in turns if turn.message.state != "running"), MAX_TURNS))
    pictures = pictures_read([turn for turn in finished if turn.figures])
    return _titled_once(Report(title=title, turns=tuple(_turn(turn, pictures) for turn in finished)))


def _titled_once(report: Report) -> Report:
    """The report without the question of its first turn where that is the title, which may be cut."""
    if not report.turns:
        return report
    first = report.turns[0]
    title, question = " ".join(report.title.split()).rstrip("… "), " ".join(first.question.split())
    if not title or not question.startswith(title):
        return report
    return Report(title=first.question, turns=(replace(first, question=""), *report.turns[1:]))


def _turn(turn: TurnView, pictures: Mapping[int, ExportPicture]) -> ReportTurn:
    message = turn.message
    text = message.answer or turn.failure or _("No answer.")
    listed = turn.cited if turn.notice != "search_results" else list(turn.sources)
    notes = [exact_time(message.created)]
    if turn.is_quoted:
        notes.append(_("Quoted from the sources, without a language model"))
    if outcome := outcome_words(message):
        notes.append(outcome)
    figures = tuple(_figure(line, pictures.get(line.picture.pk)) for line in turn.figures)
    return ReportTurn(
        question=message.question,
        note=" · ".join(notes),
        markdown=text,
        blocks=tuple(_with_figures(markdown_blocks(text), figures)),
        sources=tuple(source.words for source in listed),
        unsupported=unsupported_sentences(message),
        figures=figures,
    )


def _figure(line: FigureLine, picture: ExportPicture | None) -> ReportFigure:
    return ReportFigure(
        key=f"picture-{line.picture.pk}",
        number=line.number,
        place=line.place,
        caption=line.caption or _("Picture of the source"),
        alt=line.alt or _("Picture of the source"),
        picture=picture,
    )


def _with_figures(blocks: Sequence[Block], figures: Sequence[ReportFigure]) -> Iterator[Block]:
    """The blocks, each figure behind the one with its marker; at the end where no block has it."""
    places = {figure.key: _block_of(blocks, figure) for figure in figures}
    for number, block in enumerate(blocks):
        yield block
        for figure in figures:
            if places[figure.key] == number:
                yield Block(kind="figure", runs=(Run(text=figure.line),), figure=figure)


def _block_of(blocks: Sequence[Block], figure: ReportFigure) -> int:
    markers = [(number, match[1]) for number, block in enumerate(blocks) for match in MARKER.finditer(block.whole_text)]
    if figure.place < len(markers) and markers[figure.place][1] == str(figure.number):
        return markers[figure.place][0]
    first = (number for number, source in markers if source == str(figure.number))
    return next(first, len(blocks) - 1)


# ── Markdown to blocks ──────────────────────────────────────────────────────────────────────────


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["reference"])
    limit_effort(parser)
    return parser


def markdown_blocks(text: str) -> list[Block]:
    """The blocks of an answer in order. Formulas and code stay as they were written, and so does the whole text where
    it has too many levels or takes too long."""
    try:
        return list(_blocks(_parser().parse(text, {"effort": Effort()})))
    except (TooMuchError, RecursionError):
        return [Block(kind="paragraph", runs=(Run(text=part),)) for part in _BLANK_LINES.split(text) if part.strip()]


def table_parts(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of a table in tables of at most MAX_COLUMNS, each with the first column in front; all are as wide as
    their head.
    """
    width = max(map(len, rows), default=0)
    whole = [(*row, *[()] * (width - len(row))) for row in rows]
    if width <= MAX_COLUMNS:
        return [whole] if width else []
    step = MAX_COLUMNS - 1
    return [[(row[0], *row[at : at + step]) for row in whole] for at in range(1, width, step)]


def _blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    lists: list[int | None] = []  # next number of each open list; None: without numbers
    kind, level, quotes = "paragraph", 0, 0
    rows: list[Row] = []
    cells: list[tuple[Run, ...]] | None = None
    is_first = False  # of the paragraphs of an item
    for token in tokens:
        match token.type:
            case "heading_open":
                kind, level = "heading", int(token.tag[1])
            case "paragraph_open":
                kind, level = ("item" if lists else "quote" if quotes else "paragraph"), max(len(lists) - 1, 0)
            case "bullet_list_open":
                lists.append(None)
            case "ordered_list_open":
                lists.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                lists.pop()
            case "list_item_open":
                is_first = True
            case "blockquote_open":
                quotes += 1
            case "blockquote_close":
                quotes -= 1
            case "table_open":
                rows = []
            case "tr_open":
                cells = []
            case "tr_close":
                rows.append(tuple(cells or ()))
                cells = None
            case "table_close":
                yield Block(kind="table", rows=tuple(rows))
            case "fence" | "code_block":
                yield Block(kind="code", runs=(Run(text=token.content.rstrip("\n"), is_code=True),))
            case "inline" if cells is not None:
                cells.append(tuple(_runs(token)))
            case "inline":
                mark = _mark(lists) if kind == "item" and is_first else ""
                yield Block(kind=kind, level=level, runs=tuple(_runs(token)), mark=mark)
                is_first = False


def _mark(lists: list[int | None]) -> str:
    number = lists[-1]
    if number is None:
        return "•"
    lists[-1] = number + 1
    return f"{number}."


def _runs(token: Token) -> Iterator[Run]:
    style = Run(text="")
    for child in token.children or []:
        match child.type:
            case "strong_open" | "strong_close":
                style = replace(style, is_bold=child.type == "strong_open")
            case "em_open" | "em_close":
                style = replace(style, is_italic=child.type == "em_open")
            case "softbreak":
                yield replace(style, text=" ")
            case "hardbreak":
                yield replace(style, text="\n")
            case "code_inline":
                yield replace(style, text=child.content, is_code=True)
            case _ if child.content:
                yield replace(style, text=child.content)
