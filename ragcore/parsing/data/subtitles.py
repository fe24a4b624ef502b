"""Subtitles (SubRip, WebVTT): what is said as paragraphs, each with the time at which it begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from ragcore.errors import CorruptDocumentError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.charset import decode
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.types import Block, ParsedDocument

PAUSE_SECONDS = 2.0  # after which a new paragraph begins
LONG_SECONDS = 20.0  # from the beginning of a paragraph, which ends with the next sentence: it has one time
_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_CUE = re.compile(rf"{_TIME}[ \t]{{0,9}}-->[ \t]{{0,9}}{_TIME}")
_SPEAKER = re.compile(r"<v(?:\.[^\s>]{0,100})?\s+([^>]{1,100})>")
_TAG = re.compile(r"</?[A-Za-z0-9][^<>\n]{0,200}>|\{\\[^{}\n]{0,200}\}")
_ENDS = (".", "!", "?", "。", "！", "？", "…")


@dataclass(frozen=True, slots=True)
class _Cue:
    start: float  # seconds
    end: float
    text: str


class SubtitlesParser:
    """`[0:01:05] text`: cues that follow each other are one paragraph; a speaker stands before what they say."""

    formats = (".srt", ".vtt")
    media_types = {"application/x-subrip": ".srt", "text/vtt": ".vtt"}
    label = _("subtitles")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, or CorruptDocumentError for a file without a single time."""
        require_content(content, name=name)
        with coded_errors(name):
            text = decode(content).replace("\r\n", "\n").replace("\r", "\n")
            cues = list(_cues(text))
            if not cues and text.removeprefix("\ufeff").strip():
                raise CorruptDocumentError(name=name, problem="no times")
            return build_document(_paragraphs(cues), name=name)


def _cues(text: str) -> Iterator[_Cue]:
    for part in re.split(r"\n[ \t]*\n", text):
        match = _CUE.search(part)
        if match is None:
            continue  # a header, a style or a remark
        lines = part[match.end() :].partition("\n")[2]
        spoken = unescape(_TAG.sub("", _SPEAKER.sub(lambda tag: f"{tag[1].strip()}: ", lines)))
        if words := " ".join(spoken.split()):
            yield _Cue(_seconds(*match.groups()[:4]), _seconds(*match.groups()[4:]), words)


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000


def _paragraphs(cues: list[_Cue]) -> Iterator[Block]:
    waiting: list[_Cue] = []
    for cue in cues:
        if waiting and (cue.start - waiting[-1].end >= PAUSE_SECONDS or _is_full(waiting)):
            yield _paragraph(waiting)
            waiting = []
        if not waiting or cue.text != waiting[-1].text:  # recognisers repeat a line that stays on the screen
            waiting.append(cue)
    if waiting:
        yield _paragraph(waiting)


def _is_full(cues: list[_Cue]) -> bool:
    return cues[-1].end - cues[0].start >= LONG_SECONDS and cues[-1].text.endswith(_ENDS)


def _paragraph(cues: list[_Cue]) -> Block:
    minutes, seconds = divmod(int(cues[0].start), 60)
    return Block(
        kind="paragraph",
        text=f"[{minutes // 60}:{minutes % 60:02}:{seconds:02}] " + " ".join(cue.text for cue in cues),
    )
