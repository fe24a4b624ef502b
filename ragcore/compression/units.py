"""Cutting a passage into what compression takes or leaves as a whole (U9).

A unit is a sentence, or a code block, table or formula, which mean nothing in parts. Units joined are the text again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ragcore.text.sentences import split_sentences

UnitKind = Literal["sentence", "item", "head", "heading", "block"]

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ROW = re.compile(r"\s*\|")
_HEADING = re.compile(r"\s*#{1,6}\s")
_ITEM = re.compile(r"\s*(?:[-*+•·●▪◦]\s|\d{1,3}[.)、．]\s?|[(（]\d{1,3}[)）]|[一二三四五六七八九十]{1,3}、)")
_FORMULA = re.compile(r"\s*(\$\$|\\\[|\\begin\{(\w+\*?)\})")
_COLON = re.compile(r"[:：][*_\s]*\Z")
_WIDE = "\u2e7f"
SHORTEST = 20  # columns; what is not longer is no sentence worth keeping (U9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A piece of a passage with the white space behind it."""

    text: str
    kind: UnitKind = "sentence"
    head: int | None = None  # the heading or the sentence before a list without which the unit hangs in the air


def units_of(text: str) -> list[Unit]:
    """The units of a passage in reading order; "".join of their texts is the passage."""
    units: list[Unit] = []
    heading: int | None = None  # of what follows
    introduction: int | None = None  # of the items that follow
    for piece, is_block in _pieces(text):
        kind = _kind(piece, is_block)
        if kind == "item" and units and units[-1].kind == "sentence" and _COLON.search(units[-1].text):
            introduction = len(units) - 1
            units[-1] = replace(units[-1], kind="head")
        elif kind not in ("item", "block"):
            introduction = None
        if kind == "item" and units and _is_short_list(units[-1], piece):
            units[-1] = replace(units[-1], text=units[-1].text + piece)
            continue
        head = introduction if introduction is not None else heading
        units.append(Unit(text=piece, kind=kind, head=head))
        if kind == "heading":
            heading = len(units) - 1
            units[-1] = replace(units[-1], head=None)
    return units


def width(text: str) -> int:
    """Length in columns: a character of Chinese, which says about as much as two Latin letters, counts twice."""
    return sum(2 if char > _WIDE else 1 for char in text.strip())


def _is_short_list(before: Unit, piece: str) -> bool:
    """Items of a word or two are no sentences of their own: they stay with their neighbour."""
    return before.kind == "item" and min(width(before.text), width(piece)) <= SHORTEST


def _kind(piece: str, is_block: bool) -> UnitKind:
    if is_block:
        return "block"
    if _HEADING.match(piece):
        return "heading"
    return "item" if _ITEM.match(piece) else "sentence"


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Blocks as they stand, and the sentences between them."""
    prose = ""
    for lines, is_block in _runs(text):
        if not is_block:
            prose += lines
            continue
        yield from ((sentence, False) for sentence in split_sentences(prose))
        prose = ""
        yield lines, True
    yield from ((sentence, False) for sentence in split_sentences(prose))


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    """Runs of lines: code, tables and formulas with the blank lines behind them, and single other lines."""
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        end = _block_end(lines, at)
        is_block = end > at
        end = max(end, at + 1)
        while is_block and end < len(lines) and not lines[end].strip():
            end += 1
        yield "".join(lines[at:end]), is_block
        at = end


def _block_end(lines: list[str], at: int) -> int:
    """Behind the last line of the block that begins here; `at` where none does."""
    line = lines[at]
    if fence := _FENCE.match(line):
        return _closed(lines, at, lambda other: other.strip().startswith(fence[1]))
    if formula := _FORMULA.match(line):
        closing = {"$$": "$$", "\\[": "\\]"}.get(formula[1], f"\\end{{{formula[2]}}}")
        if closing in line[formula.end() :]:
            return at + 1
        return _closed(lines, at, lambda other: closing in other)
    end = at
    while end < len(lines) and _ROW.match(lines[end]):
        end += 1
    return end


def _closed(lines: list[str], at: int, closes: Callable[[str], bool]) -> int:
    """Behind the closing line; a block that is never closed goes on to the end of the passage."""
    return next((number + 1 for number in range(at + 1, len(lines)) if closes(lines[number])), len(lines))
