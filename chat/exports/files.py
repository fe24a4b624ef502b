"""A report as a file of each format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection
from django.utils.translation import gettext as _

from chat.errors import ExportBusyError
from chat.exports.pdf import pdf_bytes
from chat.exports.report import Report, build_report
from chat.exports.word import docx_bytes
from chat.pages.view_models import TurnView
from knowledge.person_queue import PersonQueue

NAME_CHARACTERS = 60
AT_ONCE = 2  # files that one web process makes
WAIT_SECONDS = 8.0  # for a turn
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
        parts += [f"*{turn.note}*", turn.markdown]
        if turn.unsupported:
            parts += [
                f"**{_('Not supported by the sources')}**",
                "\n".join(f"- {_line(sentence)}" for sentence in turn.unsupported),
            ]
        if turn.sources:
            parts += [f"**{_('Sources')}**", "\n".join(f"- {_escaped(source)}" for source in turn.sources)]
    return ("\n\n".join(parts) + "\n").encode()


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
