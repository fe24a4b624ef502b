"""Cutting text into sentences, Chinese and English, without losing a character."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from ragcore.text.code_blocks import code_blocks
from ragcore.text.request_cache import cached
from ragcore.text.scripts import CJK, columns

_CLOSERS = "」』”’\"'）)】》〉\\]*_"
_MARKERS = r"(?:[ \t]*\[\d{1,3}\])*"  # citation markers belong to the sentence before them

# A full stop of any script, what closes with it, and its citation markers.
_CANDIDATE = re.compile(
    rf"(?P<stop>[。！？｡]+|[.!?]+)(?P<close>[{_CLOSERS}]*?{_MARKERS}[{_CLOSERS}]*)(?P<space>[ \t\u3000]*)"
)
_LINE = re.compile(r"[^\n]*(?:\n[ \t\r]*)+|[^\n]+\Z")
_MEASURE = r"\d{1,3}\.\d+(?:\s*[a-z%°,;)]|\s*[kMGT]?(?:Hz|bit|bps|B|W|V)\b)"  # "0.1 for 60 s"; "5.7 General" is a title
_BLOCK_START = re.compile(
    rf"\s*(?:#{{1,6}}\s|[-*+•·●▪◦]\s|(?!{_MEASURE})\d{{1,3}}[.)、．]\s?|[(（]\d{{1,3}}[)）]|[|>]|```|~~~"
    r"|[一二三四五六七八九十]{1,3}、|[(（]?(?:[ivxl]{1,6}|[a-z])[.)）]\s)"
)
_WHOLE_LINE = re.compile(r"\s*(?:#{1,6}\s|\||```|~~~)")  # headings, table rows and fences end with their line
_LIST_NUMBER = re.compile(
    r"\s*(?:[-*+>]\s+)*(?:\d{1,3}|[A-Za-z]|[ivxl]{1,6}|[IVXL]{1,6}|[一二三四五六七八九十]{1,3}|[甲乙丙丁戊己庚辛壬癸]"
    r"|(?i:step|case|note|example|phase|stage|rule|test|item|part|section)\s+\d{1,3})\Z"
)  # also "Step 1. Open the cabinet."
_DOTTED = re.compile(r"(?:[A-Z]\.)+[A-Z]")  # P.R. China
_INLINE_NUMBER = re.compile(r"(?P<colon>[:：]\s*)?(?<!\d)(?P<number>\d{1,2})\Z")  # "Causes: 1. Dust 2. Heat"
_LIST_BEGINS = re.compile(rf"[|·;；,，)）{CJK}]\s+\Z")  # what stands before the first number of a list
_SIGN_CHARACTERS = 8
_BEFORE_WORD = re.compile(rf"[\s(\[{{\"'“‘（/{CJK}]")  # "笔名S.G. Smith": Chinese has no spaces before it
_LOWER_WORD = re.compile(r"[a-zà-ÿ]+(?![A-Za-z0-9])")  # "eNB" and "gNodeB" may begin a sentence
_SPACE = re.compile(r"\s*")
_BLANK_LINES = re.compile(r"(?:[ \t\r]*\n)*(?:[ \t\r]+\Z)?")
_NEAR_CHARACTERS = 2_000  # in front of a list number, where the number before it is looked for
_WORD_CHARACTERS = 100  # more than an abbreviation has
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

    A list item, a heading and a table row is at least one sentence, a fenced block of code is exactly one; a
    hard-wrapped line is joined with the next.
    """
    return list(cached(("sentences", text), lambda: list(_sentences(text))))


def _sentences(text: str) -> Iterator[str]:
    at = 0
    for block in code_blocks(text):
        yield from _sentences_of_words(text[at : block.start])
        at = _blank_lines_end(text, block.end)
        yield text[block.start : at]
    yield from _sentences_of_words(text[at:])


def _sentences_of_words(text: str) -> Iterator[str]:
    return (sentence for line in _logical_lines(text) for sentence in _split_line(line))


def _blank_lines_end(text: str, at: int) -> int:
    """Where the blank lines that begin there end; the indentation of the line behind them is not theirs."""
    match = _BLANK_LINES.match(text, at)
    return match.end() if match else at


def _logical_lines(text: str) -> Iterator[str]:
    """Lines, where wrapped lines of one paragraph stay together."""
    pending: list[str] = []
    last = ""  # of the pending ones, with the indentation that stands behind the break before it
    for match in _LINE.finditer(text):
        line = match.group()
        if pending and not _continues(last, line):
            yield "".join(pending)
            pending = []
        last = line if not pending else last[last.rfind("\n") + 1 :] + line
        pending.append(line)
    if pending:
        yield "".join(pending)


def _continues(before: str, line: str) -> bool:
    """Whether a line goes on with the paragraph of the line before it."""
    stripped = before.rstrip()
    if before.count("\n", len(stripped)) > 1 or not stripped:
        return False
    if _BLOCK_START.match(line) or _WHOLE_LINE.match(stripped):
        return False
    first = line.lstrip()[:1]
    if stripped[-1] in _UNFINISHED or first.islower():
        return True
    return stripped[-1] not in "。！？.!?:：" and _is_wide(stripped)


def _is_wide(line: str) -> bool:
    """Whether a line is as long as one that was wrapped; its first characters tell."""
    return columns(line[:_WRAPPED_WIDTH]) >= _WRAPPED_WIDTH


def _split_line(line: str) -> Iterator[str]:
    """Cut one paragraph behind its full stops."""
    start = 0
    for match in _CANDIDATE.finditer(line):
        if _is_end(line, start, match):
            end = match.end()
            if line[end : end + 1] == "\n":
                end = _space_end(line, end)
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
    return stop[0] != "." or not _is_abbreviation(line, start, match.start(), following)


def _space_end(line: str, at: int) -> int:
    """Where the white space that begins there ends."""
    match = _SPACE.match(line, at)
    return match.end() if match else at


def _is_abbreviation(line: str, start: int, end: int, following: str) -> bool:
    """Whether the dot behind line[start:end] belongs to an abbreviation, an initial or a list number.

    Of a long sentence only the end is looked at: each of its dots would read all of it again.
    """
    before = line[max(start, end - _WORD_CHARACTERS) : end]
    is_short = end - start <= _NEAR_CHARACTERS
    if (is_short and _LIST_NUMBER.fullmatch(line, start, end)) or _is_inline_number(line, start, end):
        return True
    backwards = _BEFORE_WORD.search(before[::-1])  # from the end, where the word is
    word = before[len(before) - backwards.start() :] if backwards else before
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


def _is_inline_number(line: str, start: int, end: int) -> bool:
    """Whether it ends with the next number of a list within a sentence: the first behind a colon, then one by one."""
    if not line[end - 1 : end].isdecimal():
        return False
    match = _INLINE_NUMBER.search(line, max(start, end - _WORD_CHARACTERS), end)
    if match is None:
        return False
    number = int(match["number"])
    if number == 1:  # in a cell of a table there is no colon before it, and the second number tells
        behind = line[end : end + _NEAR_CHARACTERS]
        front = line[max(start, match.start("number") - _SIGN_CHARACTERS) : match.start("number")]
        begins = not front.strip() or _LIST_BEGINS.search(front) is not None
        return match["colon"] is not None or (begins and re.search(r"\s2\. ", behind) is not None)
    before = line[max(start, end - _NEAR_CHARACTERS) : match.start("number")]
    return before[-1:].isspace() and re.search(rf"(?<![\d.]){number - 1}\. ", before) is not None


def lines_of(text: str, sentences: Iterable[str]) -> list[int]:
    """The line of a text, from 0, in which each of its sentences begins; they stand in it in this order."""
    lines, position = [], 0
    for sentence in sentences:
        start = text.find(sentence, position)
        position = start + len(sentence) if start >= 0 else position
        lines.append(text.count("\n", 0, max(start, 0)))
    return lines
