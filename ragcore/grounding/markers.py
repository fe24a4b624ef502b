"""Citation markers in the text of a model, normalised to `[n]` while it streams.

Understood outside of code: `[1]`, `[[1]]`, `[1, 2]`, `[1-3]`, `[^1]`, `[Source 1]`, `[Sources 1 and 2]`, `[来源1]`,
`[1†source]`, the ids of documents (`[doc_7]`, `[doc_id: TS 38.300]`), all of them in `【】` and with full-width digits,
and in round brackets those that say that they are sources: `(Source 1)`, `（来源 1）`. Markers of sources that do not
exist are taken out with the space before them. `［１］` is one, too, but `［1］` is not: that is how a document's own
reference numbers are shown (see `context`), so that a quotation does not become a citation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ragcore.text.normalise import nfkc
from ragcore.text.word_lists import longest_first, read_sections
from ragcore.types import Source

MAX_MARKER = 80  # characters between the brackets
MAX_ROUND = 40  # in round ones, which are common in prose and should not delay it
MAX_RANGE = 20
_INNER = rf"[^\[\]【】［］\n`]{{1,{MAX_MARKER}}}"
_ROUND = rf"[^()（）\[\]【】［］\n`]{{1,{MAX_ROUND}}}"
_PIECE = re.compile(
    r"(?P<ticks>`+|~{3,})"
    rf"|(?P<gap>[ \t]*)(?:\[\[(?P<double>{_INNER})\]\]|\[(?P<square>{_INNER})\]|【(?P<lens>{_INNER})】"
    rf"|［(?P<wide>{_INNER})］|[(（](?P<round>{_ROUND})[)）])"
    r"|(?P<newline>\n[ \t]*)"
    r"|(?P<text>[^`~\[【［(（\n \t]+|[ \t]+|.)",
    re.DOTALL,
)
_UNFINISHED = re.compile(
    rf"(?:(?<!`)`+|(?<!~)~+|\n[ \t]*"
    rf"|(?<![ \t])[ \t]*(?:\[\[[^\[\]【】［］\n`]{{0,{MAX_MARKER}}}\]?|[\[【［][^\[\]【】［］\n`]{{0,{MAX_MARKER}}}"
    rf"|[(（][^()（）\[\]【】［］\n`]{{0,{MAX_ROUND}}})?)\Z"
)
_NUMBERS = re.compile(r"\^?(\d{1,3})(?:\s*[-–~]\s*\^?(\d{1,3}))?")
_DAGGER = re.compile(r"(?:(?<!\s)\s+)?†.*\Z", re.DOTALL)  # `1†source`, as some models were trained to write
_TURN = re.compile(
    r"\d{1,3}:\d{1,3}"
)  # `4:0†source` counts turns and files of another system: it points to nothing here
_DOCUMENT_ID = re.compile(r"\bdoc(?:ument)?[_ ]?id(?:\s*[:#=]\s*(?=\S)|\s+(?=\S*\d))", re.IGNORECASE)
_DIGIT = re.compile(r"[0-9]")
_SEPARATORS = re.compile(r"[,，、;；&]")
_JOIN = re.compile(r"\s*(?:[,，、;；&]|\band\b|和|与|與|\s)\s*")


@dataclass(slots=True)
class CodeSpans:
    """Told the pieces of a text in order; back ticks that are never closed count as code until their paragraph ends.

    Good enough to leave code as it is written, not to decide what is safe: see `links.LinkGuard` for that.
    """

    _fence: str = ""  # the ticks that opened a code block
    _ticks: int = 0  # length of the ticks that opened code in a line
    _line_start: bool = True

    @property
    def inside(self) -> bool:
        return bool(self._fence or self._ticks)

    def ticks(self, run: str) -> None:
        """A run of back ticks or tildes: enter or leave code."""
        if self._fence:
            if self._line_start and run[0] == self._fence[0] and len(run) >= len(self._fence):
                self._fence = ""
        elif self._line_start and not self._ticks and len(run) >= 3:
            self._fence = run
        elif run[0] == "`":
            self._ticks = 0 if self._ticks == len(run) else self._ticks or len(run)
        self._line_start = False

    def newline(self) -> None:
        """A line end; an empty line ends the paragraph."""
        self._ticks = 0 if self._line_start else self._ticks
        self._line_start = True

    def text(self, piece: str) -> None:
        """Anything else."""
        self._line_start = self._line_start and not piece.strip()


@dataclass(frozen=True, slots=True)
class Marker:
    """One `[n]` of the normalised text."""

    number: int
    position: int  # character offset of its bracket


@dataclass(slots=True)
class MarkerStream:
    """Feed the pieces of a text, get the normalised text back; what could still become a marker is held back.

    However the text is cut, the pieces joined are the same. With `renumbers` the sources get the numbers 1, 2, … in the
    order in which the text first names them.
    """

    numbers: frozenset[int]  # sources that exist
    ids: Mapping[str, int] = field(default_factory=dict)  # id of a document, lower case -> source
    markers: list[Marker] = field(default_factory=list)
    renumbers: bool = False
    numbering: dict[int, int] = field(default_factory=dict)  # number of a source -> the one that the text has for it
    _held: str = ""
    _length: int = 0
    _code: CodeSpans = field(default_factory=CodeSpans)

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
        pending, self._held = self._held, ""
        return self._normalise(pending)

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
            self._code.ticks(piece)
        elif match["newline"]:
            self._code.newline()
        else:
            if not self._code.inside:
                piece = self._marked(piece, match)
            self._code.text(piece)
        return piece

    def _marked(self, piece: str, match: re.Match[str]) -> str:
        if content := match["double"] or match["square"] or match["lens"]:
            return self._marker(piece, match["gap"], content, labelled=False)
        if match["wide"] and not _DIGIT.search(match["wide"]):
            return self._marker(piece, match["gap"], match["wide"], labelled=False)
        return self._marker(piece, match["gap"], match["round"], labelled=True) if match["round"] else piece

    def _marker(self, piece: str, gap: str, content: str, *, labelled: bool) -> str:
        cited = self._cited(nfkc(content).strip(), labelled=labelled)
        if cited is None:
            return piece
        numbers = [number for number in dict.fromkeys(cited) if number in self.numbers]
        if self.renumbers:
            numbers = [self.numbering.setdefault(number, len(self.numbering) + 1) for number in numbers]
        position = self._length + len(gap)
        for number in numbers:
            self.markers.append(Marker(number, position))
            position += len(str(number)) + 2
        return gap + "".join(f"[{number}]" for number in numbers) if numbers else ""

    def _cited(self, content: str, *, labelled: bool) -> list[int] | None:
        """Numbers that a bracket points to; None if it is no marker. `labelled`: only if it says that it is one."""
        label = _label(anywhere=labelled).match(content)
        if labelled and label is None:
            return None
        if (number := self.ids.get(content.lower())) is not None:
            return [number]
        bare = _DAGGER.sub("", content)
        if bare != content and _TURN.fullmatch(bare):
            return []
        with_ids = _DOCUMENT_ID.sub("doc_", bare)
        if with_ids != bare and not _SEPARATORS.search(with_ids):
            return self._document(with_ids)
        cited: list[int] = []
        for part in _JOIN.split(_label(anywhere=False).sub("", with_ids)):
            numbers = self._pointed(part)
            if numbers is None:
                return None
            cited += numbers
        return cited

    def _pointed(self, part: str) -> list[int] | None:
        """Sources that one part of a marker names, perhaps ones that do not exist; None if it names none."""
        if (number := self.ids.get(part.lower())) is not None:
            return [number]
        if part.startswith("doc_"):
            return self._document(part)
        match = _NUMBERS.fullmatch(part)
        return _range(match) or None if match else None

    def _document(self, name: str) -> list[int]:
        """The source of `doc_7` or `doc_TS 38.300`, if there is one."""
        number = self.ids.get(name.lower(), self.ids.get(name.removeprefix("doc_").lower()))
        return [] if number is None else [number]


def document_ids(sources: Sequence[Source]) -> dict[str, int]:
    """What a model may write instead of a number, lower case; the best source of a document counts."""
    ids: dict[str, int] = {}
    for source in sources:
        passage = source.passage
        for name in (f"doc_{passage.document}", f"doc_id {passage.document}", passage.external_id.lower()):
            if name and not name.isdigit():
                ids.setdefault(name, source.number)
    return ids


@cache
def _label(*, anywhere: bool) -> re.Pattern[str]:
    """A word of marker_labels.txt that stands before a number; `anywhere`: only words of the first section."""
    sections = read_sections("ragcore.grounding", "marker_labels.txt")
    words = longest_first([*sections["anywhere"], *([] if anywhere else sections["square"])])
    return re.compile(rf"(?:{'|'.join(map(re.escape, words))})\s*[:#.]?\s*(?=\^?\d)", re.IGNORECASE)


def _range(match: re.Match[str]) -> list[int]:
    """`3` or `1-3` as numbers; nothing for what cannot be a range of sources."""
    first, last = int(match[1]), int(match[2] or match[1])
    return list(range(first, last + 1)) if 1 <= first <= last < first + MAX_RANGE else []
