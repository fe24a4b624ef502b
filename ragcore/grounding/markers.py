"""Citation markers in the text of a model, normalised to `[n]` while it streams (V7).

Understood outside of code: `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `[Source 1]`, `[Sources 1 and 2]`, `[来源1]`, the same
in `【】`, and the ids of documents. Markers of sources that do not exist are taken out with the space before them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragcore.types import Source

MAX_MARKER = 80  # characters between the brackets
_PIECE = re.compile(
    r"(?P<ticks>`+|~{3,})"
    rf"|(?P<gap>[ \t]*)(?:\[(?P<square>[^\[\]【】\n`]{{1,{MAX_MARKER}}})\]|【(?P<lens>[^【】\n`]{{1,{MAX_MARKER}}})】)"
    r"|(?P<newline>\n[ \t]*)"
    r"|(?P<text>[^`~\[【\n \t]+|[ \t]+|.)",
    re.DOTALL,
)
_UNFINISHED = re.compile(rf"(?:`+|~+|\n[ \t]*|[ \t]*(?:[\[【][^\[\]【】\n`]{{0,{MAX_MARKER}}})?)\Z")
_LABEL = re.compile(
    r"(?:sources?|refs?|references?|documents?|docs?|来源|來源|资料|資料|文档|文檔|出处)\s*[:：#]?\s*(?=\^?\d)",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\^?(\d{1,3})(?:\s*[-–~]\s*\^?(\d{1,3}))?")
_JOIN = re.compile(r"\s*(?:[,，、;；&]|\band\b|和|与|\s)\s*")
MAX_RANGE = 20


@dataclass(frozen=True, slots=True)
class Marker:
    """One `[n]` of the normalised text."""

    number: int
    position: int  # character offset of its bracket


@dataclass(slots=True)
class MarkerStream:
    """Feed the pieces of a text, get the normalised text back; what could still become a marker is held back.

    However the text is cut, the pieces joined are the same.
    """

    numbers: frozenset[int]  # sources that exist
    ids: Mapping[str, int] = field(default_factory=dict)  # id of a document, lower case -> source
    markers: list[Marker] = field(default_factory=list)
    _held: str = ""
    _length: int = 0
    _fence: str = ""  # the ticks that opened a code block
    _ticks: int = 0  # length of the ticks that opened code in a line
    _line_start: bool = True

    @classmethod
    def of(cls, sources: Sequence[Source]) -> MarkerStream:
        """A normaliser for an answer from these sources."""
        return cls(numbers=frozenset(source.number for source in sources), ids=document_ids(sources))

    def feed(self, text: str) -> str:
        """The normalised text that is certain after this piece."""
        text = self._held + text
        end = _UNFINISHED.search(text)
        cut = end.start() if end else len(text)
        self._held = text[cut:]
        return self._normalise(text[:cut])

    def flush(self) -> str:
        """The rest, when the text is over."""
        held, self._held = self._held, ""
        return self._normalise(held)

    def _normalise(self, text: str) -> str:
        out = []
        for match in _PIECE.finditer(text):
            piece = self._piece(match)
            self._length += len(piece)
            out.append(piece)
        return "".join(out)

    def _piece(self, match: re.Match[str]) -> str:
        piece = match.group()
        if match["ticks"]:
            self._code(piece)
        elif match["newline"]:
            self._ticks = 0 if self._line_start else self._ticks  # an empty line ends the paragraph
        elif not self._fence and not self._ticks and (content := match["square"] or match["lens"]):
            piece = self._marker(piece, match["gap"], content.strip())
        self._line_start = bool(match["newline"]) or (self._line_start and not piece.strip())
        return piece

    def _code(self, ticks: str) -> None:
        """Enter or leave code."""
        if self._fence:
            if self._line_start and ticks[0] == self._fence[0] and len(ticks) >= len(self._fence):
                self._fence = ""
        elif self._line_start and not self._ticks and len(ticks) >= 3:
            self._fence = ticks
        elif ticks[0] == "`":
            self._ticks = 0 if self._ticks == len(ticks) else self._ticks or len(ticks)

    def _marker(self, piece: str, gap: str, content: str) -> str:
        cited = self._cited(content)
        if cited is None:
            return piece
        known = [number for number in dict.fromkeys(cited) if number in self.numbers]
        position = self._length + len(gap)
        for number in known:
            self.markers.append(Marker(number, position))
            position += len(str(number)) + 2
        return gap + "".join(f"[{number}]" for number in known) if known else ""

    def _cited(self, content: str) -> list[int] | None:
        """Numbers that a bracket points to; None if it is no marker."""
        if (number := self.ids.get(content.lower())) is not None:
            return [number]
        cited: list[int] = []
        for part in _JOIN.split(_LABEL.sub("", content)):
            if (number := self.ids.get(part.lower())) is not None:
                cited.append(number)
            elif (match := _NUMBERS.fullmatch(part)) and (numbers := _range(match)):
                cited.extend(numbers)
            else:
                return None
        return cited


def document_ids(sources: Sequence[Source]) -> dict[str, int]:
    """What a model may write instead of a number, lower case; the best source of a document counts."""
    ids: dict[str, int] = {}
    for source in sources:
        passage = source.passage
        for name in (f"doc_{passage.document}", f"doc_id {passage.document}", passage.external_id.lower()):
            if name and not name.isdigit():
                ids.setdefault(name, source.number)
    return ids


def _range(match: re.Match[str]) -> list[int]:
    """`3` or `1-3` as numbers; nothing for what cannot be a range of sources."""
    first, last = int(match[1]), int(match[2] or match[1])
    return list(range(first, last + 1)) if 1 <= first <= last < first + MAX_RANGE else []
