"""A report as a file of each format."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection
from django.utils.translation import gettext as _

from chat.errors import ExportBusyError
from chat.exports.pdf import pdf_bytes
from chat.exports.report import MARKER, Report, ReportFigure, ReportTurn, build_report
from chat.exports.word import docx_bytes
from chat.pages.view_models import TurnView
from knowledge.person_queue import PersonQueue

NAME_CHARACTERS = 60
AT_ONCE = 2  # files that one web process makes
WAIT_SECONDS = 8.0  # for a turn
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)", re.MULTILINE)
_NO_NAME = re.compile(r"[\x00-\x1f\x7f\\/:*?\"<>|\u200b-\u200f\u202a-\u202e]+")

queue = PersonQueue(at_once=AT_ONCE, waiting_a_person=1, wait_seconds=WAIT_SECONDS, busy_error=ExportBusyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFile:
    """A file for somebody to keep."""

    name: str
    media_type: str
    content: bytes


def markdown_bytes(report: Report) -> bytes:
    """The answers as they were written, each with its list of sources."""
    parts = [f"# {_line(report.title)}"]
    for turn in report.turns:
        parts += [f"## {_line(turn.question)}"] if turn.question else []
        parts += [f"*{turn.note}*", _with_figures(turn)]
        if turn.unsupported:
            parts += [
                f"**{_('Not supported by the sources')}**",
                "\n".join(f"- {_line(sentence)}" for sentence in turn.unsupported),
            ]
        if turn.sources:
            parts += [f"**{_('Sources')}**", "\n".join(f"- {_escaped(source)}" for source in turn.sources)]
    figures = {figure.key: figure for turn in report.turns for figure in turn.figures}
    parts += [_definition(figure) for figure in figures.values() if figure.picture is not None]
    return ("\n\n".join(parts) + "\n").encode()


def _with_figures(turn: ReportTurn) -> str:
    """The text with its figures, each behind the paragraph, list or table that has its marker."""
    by_end: dict[int, list[str]] = {}
    for figure in turn.figures:
        image = [f"![{_alt(figure.alt)}][{figure.key}]"] if figure.picture is not None else []
        by_end.setdefault(_block_end(turn.markdown, figure), []).extend([*image, f"*{_line(figure.line)}*"])
    parts, start = [], 0
    for end in sorted(by_end):
        parts += [turn.markdown[start:end].strip("\n"), *by_end[end]]
        start = end
    return "\n\n".join(filter(None, [*parts, turn.markdown[start:].strip("\n") if parts else turn.markdown]))


def _block_end(text: str, figure: ReportFigure) -> int:
    """Behind the block with the marker of a figure, and never within a fence."""
    markers = list(MARKER.finditer(text))
    is_there = figure.place < len(markers) and markers[figure.place][1] == str(figure.number)
    at = markers[figure.place].start() if is_there else text.find(f"[{figure.number}]")
    ends = (
        match.start() for match in _BLANK_LINE.finditer(text, max(at, 0)) if not _is_in_fence(text[: match.start()])
    )
    return next(ends, len(text)) if at >= 0 else len(text)


def _is_in_fence(before: str) -> bool:
    return len(_FENCE.findall(before)) % 2 == 1


def _definition(figure: ReportFigure) -> str:
    """The picture itself, so that the file needs nothing beside it."""
    assert figure.picture is not None
    return f"[{figure.key}]: data:{figure.picture.media_type};base64,{b64encode(figure.picture.content).decode()}"


def _alt(text: str) -> str:
    return re.sub(r"([\[\]])", r"\\\1", _line(text))


FORMATS: Mapping[str, tuple[str, Callable[[Report], bytes]]] = {
    "md": ("text/markdown; charset=utf-8", markdown_bytes),
    "docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", docx_bytes),
    "pdf": ("application/pdf", pdf_bytes),
}


def export_in_turn(turns: Sequence[TurnView], kind: str, *, title: str, person: object) -> ExportFile:
    """The turns as a file, made in the turn of the person, without a connection to the database meanwhile.

    Raises ExportBusyError where the turn does not come in time, or a file of the person waits already.
    """
    if not connection.in_atomic_block:
        connection.close()
    with queue.turn(person):
        return export_file(build_report(title=title, turns=turns), kind)


def export_file(report: Report, kind: str) -> ExportFile:
    """The file in one of FORMATS. Raises KeyError for another one, ExportTooLongError."""
    media_type, write = FORMATS[kind]
    name = _NO_NAME.sub(" ", report.title)[:NAME_CHARACTERS].strip(" .") or _("Answer")
    return ExportFile(name=f"{name}.{kind}", media_type=media_type, content=write(report))


def _line(text: str) -> str:
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>#|])", r"\\\1", text)
