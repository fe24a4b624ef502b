"""Things told apart by a number or letter beside their name: "port A", "SteriLine 23", 端口C, 四步随机接入.

"Port A" is another port than "port C", though a text about one shares every other word with a question about the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragcore.text.normalise import nfkc
from ragcore.text.tokenise import stop_words

_ENGLISH = re.compile(r"(?<![A-Za-z0-9_-])([A-Za-z][A-Za-z-]{2,20}) (\d{1,3}[A-Z]?|[A-Z])(?![A-Za-z0-9_%°/+-]|[.,:]\d)")
_CHINESE = re.compile(r"([\u4e00-\u9fff]{2})(?:口|号)?([A-Z])(?![A-Za-z0-9])")
_HAN_NUMBERS = {han: str(number) for number, han in enumerate("一二三四五六七八九", start=1)} | {"两": "2", "兩": "2"}
_ENGLISH_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMBERS = _HAN_NUMBERS | {word: str(number) for number, word in enumerate(_ENGLISH_NUMBERS, start=1)}
# how many steps, layers or the like a thing has is a part of its name: "four-step random access", 两步随机接入
_PARTS = r"step|layer|tier|stage|level|phase|wire|pole|stroke|axis|port|channel"
_ENGLISH_PARTS = re.compile(rf"(?<![\w-])([a-z]{{3,5}}|\d{{1,2}})-({_PARTS}) ([a-z]{{3,}})", re.IGNORECASE)
_CHINESE_PARTS = re.compile(
    rf"(?<![第每前后新下上这同进某\d])([{''.join(_HAN_NUMBERS)}]|\d{{1,2}})([步层層级級阶相代])([\u4e00-\u9fff]{{2}})"
)
# in front of a number that counts, or names a time or a place in a text
_COUNTS = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul"
    r"|aug|sept?|oct|nov|dec|about|around|least|most|than|top|last|next|first|every|within|only|page|pages|clause|section"
    r"|chapter|step|steps|line|lines|version|release|edition|rev|revision|year|day|week|month|item|question|point"
    r"|under|over|until|before|after|plus|minus|some|all|any|these|those|the|and)",
    re.IGNORECASE,
)


def missing_labels(question: str, texts: Iterable[str]) -> list[str]:
    """What a question names so that no text has, where some text has another one of that name.

    "Port A" where only port C is mentioned; nothing where no port is.
    """
    labels = _labels(question)
    if not labels:
        return []
    labels_of_texts: dict[str, set[str]] = {}
    for text in texts:
        for name, label in _labels(text):
            labels_of_texts.setdefault(name, set()).add(label)
    return [
        f"{name} {label}" for name, label in labels if labels_of_texts.get(name) and label not in labels_of_texts[name]
    ]


def labels_in(text: str) -> frozenset[tuple[str, str]]:
    """The things of a text that are told apart so: name, in lower case, and label."""
    return frozenset(_labels(text))


def _labels(text: str) -> list[tuple[str, str]]:
    """Name, in lower case, and label."""
    plain = nfkc(text)
    labels = [
        (match[1].lower(), match[2])
        for match in _ENGLISH.finditer(plain)
        if not _COUNTS.fullmatch(match[1]) and match[1].lower() not in stop_words()
    ]
    labels += [(match[1], match[2]) for match in _CHINESE.finditer(plain)]
    for match in _ENGLISH_PARTS.finditer(plain):
        if number := _number_of(match[1]):
            labels.append((f"{match[2]} {match[3]}".lower(), number))
    labels += [(f"{match[2]}{match[3]}", _number_of(match[1])) for match in _CHINESE_PARTS.finditer(plain)]
    return list(dict.fromkeys(labels))


def _number_of(word: str) -> str:
    """In digits; "" for a word that is none."""
    return word if word.isdigit() else _NUMBERS.get(word.lower(), "")
