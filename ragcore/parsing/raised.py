"""Raised and lowered characters in plain text: powers, units, marks of notes, chemical formulas.

10 with a raised 6 is "10^6" and never "106", and the mark of a note at a figure never becomes one of its digits. Plain
text has no other way to tell them apart; superscript digits of Unicode stand where a letter goes before ("m²").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

RAISED, LOWERED = 1, -1
MAX_CHARACTERS = 8  # of what is raised; longer text is set so for its looks
NEAR_CHARACTERS = 64  # before a raised figure, which tell what it is
MAX_BASE_DIGITS = 2  # of a number with a power; a raised digit at a longer one is the mark of a note

_UNSIGNED = re.compile(r"\d{1,4}")
_SIGNED = re.compile(r"[-+\u2212\u2013\u2010\u2011]\d{1,4}")
_CHARGE = re.compile(r"\d{1,2}[-+\u2212\u2013]")
_VARIABLE = re.compile(r"[A-Za-zα-ω](?:[-+\u2212][\dA-Za-z])?|\d[A-Za-z]")
_NOTES = re.compile(r"[(（\[]?\d{1,2}[)）\]]?(?:\s*[,，、]\s*\d{1,2})*")
_MARKED_NOTES = re.compile(r"\[\d{1,3}\]")
_POWERED = re.compile(r"(?:\d|(?<![A-Za-z])[A-Za-z])\Z")  # what a letter may be a power of
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|e|ème|o|a|r)", re.IGNORECASE)
_DEGREE = frozenset("oO0º")
_BASE = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?\Z")
_UNIT = re.compile(
    r"(?<![A-Za-z])(?:[kKMGTcdmµμnpf]?(?:m|s|g|l|L|A|V|W|N|J|K|C|F|H|T|Hz|Pa|mol|bar|eV|rad|sr|cd|lm|lx|Bq|Gy|Sv|ohm)"
    r"|ft|in|yd|mi|h|min|cps|°C|Ω|[A-Za-zα-ωΑ-Ω])\Z"
)
_HAN_UNIT = re.compile(r"(?:[千毫厘分微纳]?米|公里|秒|英尺|英寸)\Z")
_SUM = re.compile(r"[(（][^()（）]*[-+*/=×·\u2212][^()（）]*[)）]\Z")
_SUPERSCRIPT = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")
_MINUS = str.maketrans("\u2212\u2013\u2010\u2011", "----")


def levelled_text(pieces: Iterable[tuple[str, int]]) -> str:
    """The text of pieces, each on the line (0), RAISED or LOWERED."""
    groups = [("".join(text for text, _ in group), level) for level, group in groupby(pieces, lambda piece: piece[1])]
    text = ""
    for at, (piece, level) in enumerate(groups):
        following = groups[at + 1][0] if at + 1 < len(groups) else ""
        text += on_level(piece, level, before=text, after=following)
    return text


def on_level(text: str, level: int, *, before: str, after: str) -> str:
    """A stretch of text on one level, between the text before it in its line and what follows."""
    body = text.strip()
    if not level or not body or len(body) > MAX_CHARACTERS:
        return text
    at, before = text.index(body), before[-NEAR_CHARACTERS:]
    lead, trail = text[:at], text[at + len(body) :]
    write = raised if level == RAISED else lowered
    return f"{lead}{write(body, before + lead, trail + after)}{trail}"


def raised(body: str, before: str, after: str) -> str:
    """What is raised as plain text: a power (`^6`, ², ⁻¹), the mark of a note (`[^3]`), or as it is."""
    last = before[-1:]
    if body in _DEGREE and last.isdigit() and re.match(r"\s?[CF]\b", after):
        return "°"
    if _SIGNED.fullmatch(body) or _CHARGE.fullmatch(body):
        return _power(body.translate(_MINUS), before, after)
    if _UNSIGNED.fullmatch(body):
        return _digits(body, before, after)
    if _MARKED_NOTES.fullmatch(body):
        return body
    if _NOTES.fullmatch(body):
        return _note(body, before, after)
    if _POWERED.search(before) and _VARIABLE.fullmatch(body) and not _ORDINAL.fullmatch(body):
        return _power(body.translate(_MINUS), before, after)
    return body


def lowered(body: str, before: str, after: str) -> str:
    """What is lowered as plain text: `_2` between digits, else as it is ("H2O")."""
    is_beside_digit = body[0].isdigit() and (before[-1:].isdigit() or after[:1].isdigit())
    if not is_beside_digit:
        return body
    return f"_{{{body}}}" if after[:1].isalnum() else f"_{body}"


def _digits(body: str, before: str, after: str) -> str:
    """Digits without a sign: the power of a short number or a unit, else the mark of a note."""
    if not before.strip():
        is_isotope = not before and len(body) > 1 and re.match(r"[A-Z][a-z]?(?![a-z])", after) is not None
        return f"^{body}" if is_isotope else _note(body, before, after)
    if base := _BASE.search(before):
        digits = sum(map(str.isdigit, base[0]))
        return (
            _power(body, before, after) if digits <= MAX_BASE_DIGITS or "." in base[0] else _note(body, before, after)
        )
    if _UNIT.search(before) or _HAN_UNIT.search(before) or _SUM.search(before):
        return _power(body, before, after)
    return _note(body, before, after)


def _power(body: str, before: str, after: str) -> str:
    """Behind a letter as superscript characters, behind a digit with a sign that search keeps: 10⁶ is no 106 there."""
    if before[-1:].isalpha() and all(char in "0123456789-+" for char in body):
        return body.translate(_SUPERSCRIPT)
    return f"^{{{body}}}" if after[:1].isalnum() and body[-1].isalnum() and after[0].isascii() else f"^{body}"


def _note(body: str, before: str, after: str) -> str:
    """The marks of notes as Markdown writes them; at the beginning of a line it is the note itself."""
    marks = "".join(f"[^{number}]" for number in re.findall(r"\d+", body))
    if before.strip():
        return marks
    return f"{marks}:" if after[:1].isspace() or not after else f"{marks}: "
