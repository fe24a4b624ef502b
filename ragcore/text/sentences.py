"""Cutting text into sentences, Chinese and English, without losing a character."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from ragcore.text.request_cache import cached
from ragcore.text.scripts import CJK, columns

_CLOSERS = "」』”’\"'）)】》〉\\]*_"
_MARKERS = r"(?:[ \t]*\[\d{1,3}\])*"  # citation markers belong to the sentence before them

# A full stop of any script, what closes with it, and its citation markers.
_CANDIDATE = re.compile(
    rf"(?P<stop>[。！？｡]+|[.!?]+)(?P<close>[{_CLOSERS}]*?{_MARKERS}[{_CLOSERS}]*)(?P<space>[ \t\u3000]*)"
)
_LINE = re.compile(r"[^\n]*(?:\n[ \t\r]*)+|[^\n]+\Z")
_BLOCK_START = re.compile(
    r"\s*(?:#{1,6}\s|[-*+•·●▪◦]\s|\d{1,3}[.)、．]\s?|[(（]\d{1,3}[)）]|[|>]|```|~~~|[一二三四五六七八九十]{1,3}、)"
)
_WHOLE_LINE = re.compile(r"\s*(?:#{1,6}\s|\||```|~~~)")  # headings, table rows and fences end with their line
_LIST_NUMBER = re.compile(
    r"\s*(?:[-*+>]\s+)*(?:\d{1,3}|[A-Za-z]|(?i:step|case|note|example|phase|stage|rule|test|item|part|section)\s+\d{1,3})\Z"
)  # also "Step 1. Open the cabinet."
_DOTTED = re.compile(r"(?:[A-Z]\.)+[A-Z]")  # P.R. China
_INLINE_NUMBER = re.compile(r"(?P<colon>[:：]\s*)?(?<!\d)(?P<number>\d{1,2})\Z")  # "Causes: 1. Dust 2. Heat"
_LAST_WORD = re.compile(rf"[^\s(\[{{\"'“‘（/{CJK}]*\Z")  # "笔名S.G. Smith": Chinese has no spaces before it
_LOWER_WORD = re.compile(r"[a-zà-ÿ]+(?![A-Za-z0-9])")  # "eNB" and "gNodeB" may begin a sentence
_UNFINISHED = ",，、;；—-–(（[「“"
_WRAPPED_WIDTH = 60  # columns; a shorter line without a full stop is a heading or a list item, not a wrapped one


@cache
def _abbreviations() -> tuple[frozenset[str], frozenset[str]]:
    """Abbreviations always, and those only in front of a number; lower case, without the last dot."""
    text = (files("ragcore.text") / "abbreviations.txt").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    always, _, before_number = lines.partition("=before-number")
    return frozenset(always.split()), frozenset(before_number.split())


def split_sentences(text: str) -> list[str]:
    """Sentences in order, each with the white space behind it; joined they are the text again.

    A list item, a heading and a table row is at least one sentence; a hard-wrapped line is joined with the next.
    """
    return list(cached(("sentences", text), lambda: [s for line in _logical_lines(text) for s in _split_line(line)]))


def _logical_lines(text: str) -> Iterator[str]:
    """Lines, where wrapped lines of one paragraph stay together."""
    pending = ""
    for match in _LINE.finditer(text):
        line = match.group()
        if pending and not _continues(pending, line):
            yield pending
            pending = ""
        pending += line
    if pending:
        yield pending


def _continues(before: str, line: str) -> bool:
    """Whether a line goes on with the paragraph of the line before it."""
    stripped = before.rstrip()
    if before[len(stripped) :].count("\n") > 1 or not stripped:
        return False
    last_line = stripped.rsplit("\n", 1)[-1]
    if _BLOCK_START.match(line) or _WHOLE_LINE.match(last_line):
        return False
    first = line.lstrip()[:1]
    if stripped[-1] in _UNFINISHED or first.islower():
        return True
    return stripped[-1] not in "。！？.!?:：" and columns(last_line) >= _WRAPPED_WIDTH


def _split_line(line: str) -> Iterator[str]:
    """Cut one paragraph behind its full stops."""
    start = 0
    for match in _CANDIDATE.finditer(line):
        if _is_end(line, start, match):
            end = match.end()
            end += len(line[end:]) - len(line[end:].lstrip()) if line[end : end + 1] == "\n" else 0
            yield line[start:end]
            start = end
    if start < len(line):
        yield line[start:]


def _is_end(line: str, start: int, match: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence here."""
    stop = match["stop"]
    if stop[0] in "。！？｡":
        return True
    following = line[match.end() : match.end() + 1]
    spaced = bool(match["space"]) or following in ("", "\n")
    if not spaced:  # a decimal, a version, a domain; "?" and "!" may touch Chinese text
        return stop[0] in "!?" and following > "\u2e7f"
    if _LOWER_WORD.match(line, match.end()) or following in (",", ";", ":"):
        return False
    return stop[0] != "." or not _is_abbreviation(line[start : match.start()], following)


def _is_abbreviation(before: str, following: str) -> bool:
    """Whether the dot behind `before` belongs to an abbreviation, an initial or a list number."""
    if _LIST_NUMBER.fullmatch(before) or _is_inline_number(before):
        return True
    found = _LAST_WORD.search(before)
    word = found.group() if found else ""
    if len(word) == 1 and word.isupper() and following not in ("", "\n"):
        return True
    if following in ("", "\n"):
        return False
    always, before_number = _abbreviations()
    return (
        word.lower() in always
        or (following.isdigit() and word.lower() in before_number)
        or bool(_DOTTED.fullmatch(word))
    )


def _is_inline_number(before: str) -> bool:
    """Whether it ends with the next number of a list within a sentence: the first behind a colon, then one by one."""
    found = _INLINE_NUMBER.search(before)
    if found is None:
        return False
    number = int(found["number"])
    if number == 1:
        return found["colon"] is not None
    return (
        re.search(rf"(?<![\d.]){number - 1}\. ", before) is not None and before[: found.start("number")][-1:].isspace()
    )


def lines_of(text: str, sentences: Iterable[str]) -> list[int]:
    """The line of a text, from 0, in which each of its sentences begins; they stand in it in this order."""
    lines, position = [], 0
    for sentence in sentences:
        start = text.find(sentence, position)
        position = start + len(sentence) if start >= 0 else position
        lines.append(text.count("\n", 0, max(start, 0)))
    return lines
