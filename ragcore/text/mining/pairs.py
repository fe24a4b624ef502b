"""What pairs of names share: where they were found, and how long and short forms fit together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ragcore.text.scripts import CJK

PairKind = Literal["abbreviation", "translation", "synonym"]

HAS_CJK = re.compile(f"[{CJK}]")
HAS_LATIN = re.compile(r"[A-Za-z]")
OPEN, CLOSE = "(（[【", ")）]】"
MOST_LONG_WORDS = 12
MOST_CHARACTERS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePair:
    """Two names of one thing. Of an abbreviation `first` is the short form."""

    first: str
    second: str
    kind: PairKind
    how: str  # the pattern that found it
    quote: str = ""  # where it was found, for people


def is_abbreviation(text: str) -> bool:
    """Whether a text may be a short form: 2 to 12 characters, one word, mostly capitals and digits, one capital."""
    plain = text.strip()
    if not 2 <= len(plain) <= 12 or " " in plain or HAS_CJK.search(plain):
        return False
    if not re.fullmatch(r"[A-Za-z0-9][\w./&+\-]*", plain):
        return False
    capitals = sum(c.isupper() for c in plain)
    letters = sum(c.isalpha() for c in plain)
    return capitals >= 1 and capitals + sum(c.isdigit() for c in plain) >= 2 and capitals * 2 >= letters


def long_form_in(short: str, text: str) -> str:
    """The long form of an abbreviation at the end of a text; "" where its letters do not fit.

    Schwartz & Hearst, A simple algorithm for identifying abbreviation definitions in biomedical text, 2003.
    """
    letters = [c.lower() for c in short if c.isalnum()]
    most = min(len(letters) + 5, 2 * len(letters))
    words = text.split()
    tail = " ".join(words[-most:])
    at = len(tail)
    for number in range(len(letters) - 1, -1, -1):
        at -= 1
        while at >= 0 and (tail[at].lower() != letters[number] or (number == 0 and at > 0 and tail[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return ""
    if at >= 0 and _is_one_word(tail[at:]) and not tail[at:].lower().startswith("".join(letters[:2])):
        at = _word_before(tail, at, letters[0])  # SCS: subcarrier spacings, not spacings
        if at < 0:
            return ""
    tail_form = tail[at:].strip(" ,;:-–")
    is_plain = tail_form.lower() != short.lower() and short.lower() not in tail_form.lower().split()
    return tail_form if len(tail_form) > len(short) and is_plain and len(tail_form) <= MOST_CHARACTERS else ""


def _is_one_word(text: str) -> bool:
    return len(re.split(r"[\s\-/]+", text.strip())) == 1


def _word_before(text: str, at: int, letter: str) -> int:
    """Where the last word before a place begins that has this first letter; -1 where none has."""
    places = [match.start() for match in re.finditer(r"(?<![^\s\-/(])\w", text[:at])]
    return max((place for place in places if text[place].lower() == letter), default=-1)


def letters_fit(short: str, long_form: str) -> bool:
    """Whether a whole long form fits its abbreviation: the letters stand in it in order, the first one at its start."""
    plain = long_form.strip()
    letters = [c.lower() for c in short if c.isalpha()]
    if not letters or not plain:
        return False
    at = 0
    folded = plain.lower()
    for letter in letters:
        at = folded.find(letter, at) + 1
        if at == 0:
            return False
    return folded[0] == letters[0] or any(c.isdigit() for c in short[:2])


def brackets(text: str) -> Iterator[tuple[str, str, int]]:
    """What stands before a bracket on its line, what is in it, and where it begins; brackets in brackets are passed."""
    text = _unwrapped(text)
    for match in re.finditer(
        rf"[{re.escape(OPEN)}]([^{re.escape(OPEN + CLOSE)}\n]{{1,{MOST_CHARACTERS}}})[{re.escape(CLOSE)}]", text
    ):
        line = text.rfind("\n", 0, match.start()) + 1
        yield (
            text[max(line, match.start() - MOST_CHARACTERS) : match.start()].rstrip(),
            match.group(1).strip(),
            match.start(),
        )


def _unwrapped(text: str) -> str:
    """Lines of one paragraph joined, so that a name that was wrapped is whole; each character keeps its place."""
    return re.sub(r"(?<=[^\s|#:：。.!?！？])\n(?=[^\s|#*•\-\d])", " ", text)


def quote_at(text: str, at: int) -> str:
    """Some words around a place, in one line."""
    return " ".join(text[max(0, at - 80) : at + 80].split())


def table_rows(text: str) -> Iterator[list[list[str]]]:
    """The tables of a Markdown text, each as its rows without the line below the head."""
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        plain = line.strip()
        if plain.startswith("|") and plain.endswith("|") and len(plain) > 2:
            cells = [cell.strip().strip("*`") for cell in plain[1:-1].split("|")]
            if not all(re.fullmatch(r":?-{2,}:?", cell) for cell in cells):
                rows.append(cells)
        elif rows:
            yield rows
            rows = []
