"""The lines of a source file, each in one segment: a definition, the head of a container, or what stands between."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragcore.parsing.code.definitions import Definition

MAX_LABEL = 60  # characters of a name that is made of the code
_LETTER = re.compile(r"\w")
_END = re.compile(r"\W*(?:#\s*(?:endif|else)\b.*|end|fi|done|esac)?\W*")
_BOUND = re.compile(
    r"^\s*(?:(?:pub|public|private|protected|static|final|const|constexpr|inline|let|var|export|readonly|type|using"
    r"|typedef|#\s*define)\s+)*(?P<name>[A-Za-z_$][\w$]*)\s*(?::[^=\n]*)?=(?!=)"
)
_DEFINE = re.compile(r"^\s*#\s*define\s+(?P<name>\w+)")
_COMMENT = re.compile(r"^\s*(?:#(?!\s*(?:define|include|if|pragma))|//|/?\*|--)")


@dataclass(slots=True)
class Segment:
    """Rows from `first` to `last`, 0-based and inclusive. Depth 0 is the file itself; without a name it goes on."""

    depth: int
    name: str
    first: int
    last: int


def cut_segments(lines: Sequence[str], definitions: Sequence[Definition]) -> list[Segment]:
    """All rows in order, each once."""
    segments = [Segment(0, "", 0, -1)]
    _cut(lines, definitions, 0, len(lines) - 1, 1, segments)
    return [segment for segment in segments if segment.first <= segment.last]


def _cut(
    lines: Sequence[str], definitions: Sequence[Definition], first: int, last: int, depth: int, segments: list[Segment]
) -> None:
    """Append the rows of a file or of a container, whose own segment is open at the end of `segments`."""
    row = first
    is_open = True  # no definition yet: rows belong to the head
    for definition in definitions:
        if definition.last < row:  # on a line with the one before
            continue
        begin = max(definition.first, row)
        if all(map(_is_comment, lines[row:begin])):  # a heading of what follows
            begin = row
        _between(lines, row, begin - 1, depth, segments, is_open=is_open)
        is_open = False
        segments.append(Segment(depth, definition.name, begin, begin - 1))
        if definition.members and definition.members[0].first > begin:
            _cut(lines, definition.members, begin, definition.last, depth + 1, segments)
        else:
            segments[-1].last = definition.last
        row = definition.last + 1
    _between(lines, row, last, depth, segments, is_open=is_open)


def _between(
    lines: Sequence[str], first: int, last: int, depth: int, segments: list[Segment], *, is_open: bool
) -> None:
    """Rows that are no definition: of the head, of what stands above them (brackets that close), or of their own."""
    if first > last:
        return
    if is_open or all(map(_END.fullmatch, lines[first : last + 1])):
        segments[-1].last = last
    else:
        segments.append(Segment(depth, _label(lines[first : last + 1]), first, last))


def _is_comment(line: str) -> bool:
    return not line.strip() or _COMMENT.match(line) is not None


def _label(lines: Sequence[str]) -> str:
    """What rows are about: the names that they bind, else the first line that is no comment."""
    matches = (_BOUND.match(line) or _DEFINE.match(line) for line in lines)
    names = list(dict.fromkeys(match["name"] for match in matches if match))
    if names:
        label = ", ".join(names)
        return label if len(label) <= MAX_LABEL else f"{', '.join(names[:3])[:MAX_LABEL]} …"
    content = [line.strip() for line in lines if _LETTER.search(line)]
    return next((line for line in content if not _is_comment(line)), content[0])[:MAX_LABEL].rstrip(" :{;(,")
