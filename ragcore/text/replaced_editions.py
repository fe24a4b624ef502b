"""Whether a question asks for an edition that another document replaces: by its name, its time, or in so many words.

What names the older edition is what tells it from the newer one: numbers and codes of its title, its id and its
attributes that the newer one does not have ("2024", "Rel-15", "rev C").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragcore.text.normalise import nfkc
from ragcore.types import ReplacedBy

MAX_VALUE = 200  # characters of an attribute that may name an edition
_CODE = re.compile(r"(?<![^\W_])[^\W_]*\d[^\W_]*(?:[-./][^\W_]+)*")
_LETTER = re.compile(r"\b(?:rev(?:ision)?\.?|edition|版本?)\s?([A-Z])\b", re.IGNORECASE)
_DAY = re.compile(r"((?:19|20)\d\d)[-/.](\d{1,2})[-/.](\d{1,2})")
_BEFORE = r"(?:release|rel|r|version|ver|v|revision|rev|edition|issue|第|版本|版次|修订|发布)[\s._-]*"
_BEHIND = r"\s*(?:版|修订|(?:st|nd|rd|th)?\s?(?:edition|release|version)\b)"
_ASKED_DAY = re.compile(
    r"(?<!\d)((?:19|20)\d\d)(?:\s?[-/.年]\s?(\d{1,2})(?:\s?[-/.月]\s?(\d{1,2})日?|月)?|年)?(?![\d.]*\d)"
)
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_ASKED_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})\s+((?:19|20)\d\d)\b", re.IGNORECASE)
_IN_WORDS = re.compile(
    r"旧版|舊版|老版|旧的|舊的|(?:旧|舊|老)(?:标准|標準|规定|規定|制度|文件|规范|規範|办法|辦法|要求)|上一[版个]|前一[版个]"
    r"|历史版|歷史版|(?:以前|原来|原來|过去|過去|从前)(?:的|是|怎|如何|规定|規定|要求|有|多少)|已(?:废止|廢止|作废|被替代|被取代)"
    r"|新旧|新舊|去年|对比|對比|比较|比較|区别|區別|差异|差異|变化|變化|改了|不同"
    r"|\b(?:old(?:er)?|previous|former|earlier|superseded|replaced|withdrawn|past)\s+"
    r"(?:\w+\s+)?(?:editions?|versions?|releases?|revisions?|rules?|polic(?:y|ies)|documents?|standards?|limits?|guides?)"
    r"|\blast year|\bused to\b|\bbefore\s*[?.]*$|\bcompared? (?:to|with)|\bcompare\b|\bdifferences?\b|\bdiffer\b"
    r"|\bwhat (?:has )?changed|\bchanges? (?:between|since|from)|\bvs\b",
    re.IGNORECASE,
)


def asks_for_replaced(question: str, replaced: ReplacedBy) -> bool:
    """Whether a question names the older edition, a day on which it held, or compares editions."""
    plain = nfkc(question).casefold()
    if _IN_WORDS.search(plain) or any(_names(plain, name) for name in replaced.names):
        return True
    return any(_held_on(day, replaced) for day in _days_asked(plain))


def names_of_older(older: Iterable[Any], newer: Iterable[Any]) -> frozenset[str]:
    """Codes of the texts and values of the older document that the newer one does not have."""
    return frozenset(set(_codes(older)) - set(_codes(newer)))


def times_of_older(older: Mapping[str, Any], newer: Mapping[str, Any]) -> tuple[str, str]:
    """From when until when the older one held, by the first attribute that gives a day of both; "" without one."""
    for name, value in older.items():
        since, until = _day(value), _day(newer.get(name))
        if since and until and since < until:
            return since, until
    return "", ""


def _codes(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _codes(value)
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            text = nfkc(str(value))[:MAX_VALUE]
            yield from (match[0].casefold() for match in _CODE.finditer(text))
            yield from (f"rev {match[1].casefold()}" for match in _LETTER.finditer(text))
            yield from (match[1] for match in _DAY.finditer(text))


def _names(question: str, name: str) -> bool:
    """A code by itself; of a short number only with a word for editions, such as "release 15" or "第3版"."""
    if name.startswith("rev "):
        return re.search(rf"\brev(?:ision)?\.?\s?{re.escape(name[4:])}\b", question) is not None
    number = re.search(r"\d+(?:\.\d+)*$", name)
    if number and (name.isdigit() and len(name) < 4 or re.fullmatch(r"[a-z]{1,8}[-_.]?\d+(?:\.\d+)*", name)):
        plain = re.escape(number[0])
        pattern = rf"(?<![a-z]){_BEFORE}{plain}(?![\d.]*\d)|(?<![\d.]){plain}{_BEHIND}"
        if re.search(pattern, question) and (name.isdigit() or re.match(_BEFORE, name)):
            return True
        if name.isdigit():
            return False
    return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])(?!\.\d)", _spaced(question)) is not None


def _spaced(question: str) -> str:
    """Chinese stands beside a number without a space."""
    return re.sub(r"(?<=[^\x00-\x7f])(?=[\x00-\x7f])|(?<=[\x00-\x7f])(?=[^\x00-\x7f])", " ", question)


def _day(value: Any) -> str:
    match = _DAY.search(value) if isinstance(value, str) else None
    return f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}" if match else ""


def _days_asked(question: str) -> Iterator[tuple[str, str]]:
    """First and last day of each time that a question names."""
    for match in _ASKED_DAY.finditer(question):
        month, day = (int(part) if part else None for part in (match[2], match[3]))
        yield f"{match[1]}-{month or 1:02}-{day or 1:02}", f"{match[1]}-{month or 12:02}-{day or 31:02}"
    for match in _ASKED_MONTH.finditer(question):
        month = _MONTHS.index(match[1].casefold()) + 1
        yield f"{match[2]}-{month:02}-01", f"{match[2]}-{month:02}-31"


def _held_on(days: tuple[str, str], replaced: ReplacedBy) -> bool:
    """Whether the older one held on one of these days, and not the newer one at the end of them."""
    return bool(replaced.until) and replaced.since <= days[1] < replaced.until
