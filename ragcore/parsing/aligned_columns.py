"""Tables of plain text whose cells stand below those of their head, also where a cell goes on in the next line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.text.scripts import columns

LEAST_ROWS = 3  # its head among them
LEAST_COLUMNS = 3  # without rules above and below: two columns may be anything that is indented
GAP = 2  # blanks in front of a column
SHIFT = 2  # columns by which a cell may be moved between rules, which tell that it is a table
RULE = re.compile(r"\s*[-=+ |─━]{3,}\s*")
_NAME = re.compile(r"\S+(?: \S+)*")
_FILLER = "\0"  # behind a character that is two columns wide


def aligned_rows(lines: Sequence[str]) -> list[list[str]]:
    """The cells of each row; [] where a line does not keep to the columns of the first one.

    A line without a first cell goes on with the row above it.
    """
    plain = [_widened(line) for line in lines if not RULE.fullmatch(line)]
    is_ruled = len(plain) < len(lines)
    if len(plain) < LEAST_ROWS or "\t" in "".join(plain):
        return []
    names = list(_NAME.finditer(plain[0]))
    starts = [name.start() for name in names]
    if len(starts) < LEAST_COLUMNS - is_ruled:
        return []
    rows = [[_narrowed(name[0]) for name in names]]
    for line in plain[1:]:
        cells = _cells(line, starts, is_ruled=is_ruled)
        if cells and cells[0]:
            rows.append(cells)
        elif cells and len(rows) > 1:
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        else:
            return []
    is_filled = all(sum(map(bool, row)) > len(row) / 2 for row in rows)
    return rows if len(rows) >= LEAST_ROWS and is_filled else []


def _cells(line: str, starts: Sequence[int], *, is_ruled: bool) -> list[str]:
    """The cells of a line cut at the columns; [] where text stands across one, or before the first."""
    end = len(line.rstrip())
    if line[: starts[0]].strip() or end <= starts[0]:
        return []
    cuts = [starts[0], *(_cut(line, start, is_ruled=is_ruled) for start in starts[1:])]
    if None in cuts:
        return []
    return [_narrowed(line[begin:after]) for begin, after in zip(cuts, [*cuts[1:], None], strict=True)]


def _cut(line: str, start: int, *, is_ruled: bool) -> int | None:
    """Where a cell begins whose column begins at `start`; None where text stands across it."""
    if start >= len(line.rstrip()) or not line[start - GAP : start].strip():
        return start
    near = sorted(range(start - SHIFT, start + SHIFT + 1), key=lambda at: abs(at - start)) if is_ruled else []
    return next((at for at in near if line[at - 1] == " " and line[at : at + 1].strip()), None)


def _widened(line: str) -> str:
    return "".join(character + _FILLER * (columns(character) - 1) for character in line)


def _narrowed(text: str) -> str:
    return text.replace(_FILLER, "").strip()
