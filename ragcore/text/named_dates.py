"""Days, months and years that texts name in Chinese and English: 6月12日, "12 June", 2025-05.

A question names a date that its answer must have. A passage about another month shares every other word with it.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragcore.text.normalise import nfkc
from ragcore.text.scripts import CJK

_YEAR = r"(?:199\d|20\d\d)"
_HAN_DIGITS = "〇零一二三四五六七八九"
_HAN_NUMBER = {han: number for number, han in enumerate("一二三四五六七八九十", 1)} | {"十一": 11, "十二": 12}
_NUMBER_OF_MONTH = {name[:3].lower(): number for number, name in enumerate(month_name[1:], 1)}
_MONTH_EN = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
_DAY_EN = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_ISO = re.compile(
    rf"(?<![\w.-])(?P<year>{_YEAR})(?P<joint>[-/.])(?P<month>0?[1-9]|1[0-2])"
    rf"(?:(?P=joint)(?P<day>0?[1-9]|[12]\d|3[01]))?(?![\d.-]*\d)"
)
_MONTH_AND_YEAR = re.compile(rf"(?<![\w./-])(?P<month>0?[1-9]|1[0-2])/(?P<year>{_YEAR})(?![\w/]|[.-]\d)")
_CHINESE = re.compile(
    rf"(?:(?P<year>{_YEAR}|[{_HAN_DIGITS}]{{4}})\s?(?:年度?|[/.-])\s?)?"
    rf"(?<![\d.{_HAN_DIGITS}])(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s?月(?![龄薪球饼嫂内內]|[一两兩几幾多]次)份?"
    r"(?:\s?(?P<day>3[01]|[12]\d|0?[1-9]|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])\s?[日号號](?![线楼])"
    rf"|(?!\s?\d+\s?[{CJK}]))"
)
_COMPACT = re.compile(rf"(?<![\d.])(?P<year>{_YEAR})(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?![\d.]*\d)")
_YEAR_ZH = re.compile(rf"(?<![\d.])(?P<year>{_YEAR}|[{_HAN_DIGITS}]{{4}})\s?(?:年(?!\s?[前后內内])|财年|版)")
_ENGLISH = re.compile(
    rf"\b(?:(?P<day>{_DAY_EN})(?:\s+of)?[\s-]+(?P<month>{_MONTH_EN})(?:,?[\s-]+(?P<year>{_YEAR})(?!\d))?"
    rf"|(?P<month2>{_MONTH_EN})\s+(?P<day2>{_DAY_EN})\b(?![:%]|\.\d)(?:,?\s+(?P<year2>{_YEAR})(?!\d))?"
    rf"|(?P<month3>{_MONTH_EN}),?\s+(?P<year3>{_YEAR})(?!\d)"
    rf"|(?P<month4>{_MONTH_EN})(?![\w%]))",
    re.IGNORECASE,
)
_BARE_YEAR = re.compile(
    rf"(?<![\w.,/#$€£¥~–+-])(?P<year>{_YEAR})(?!\w|[.,:/–~-]\d|-\w|\s?[%°€$£¥]"
    r"|\s?(?:[kmc]?m|k?g|[kmg]?hz|k?wh?|m?[va]|mah|m?s|h|rpm|bar|dbm?|[mgk]b|eur|usd|cny|rmb)\b"
    r"|\s(?:euros?|dollars?|yuan|hours?|days?|minutes?|seconds?|units?|pieces|pcs|people|persons?|users?|employees"
    r"|points?|steps?|times|words|cycles|items|met(?:er|re)s?|watts?|volts?)\b)",
    re.IGNORECASE,
)
_MODAL = re.compile(r"\b(?:in|of|for|last|next|early|late|mid|the)[\s-]+$", re.IGNORECASE)
# A date behind or before one of these is a limit, and its answer is about another time.
_LIMIT_BEFORE = re.compile(
    r"\b(?:before|after|since|until|till?|by|from|between|to|than|over|above|under|through|as\s+of|up\s+to|starting"
    r"|between\b.{1,30}\band|deadline|due)[\s(]+(?:the\s+)?(?:(?:beginning|start|end|middle)\s+of\s+)?$"
    r"|(?:到|自|从|從|至|早于|晚于|截至|截止|直到|超过|[~–—-])\s*$",
    re.IGNORECASE,
)
_LIMIT_BEHIND = re.compile(
    r"\s*(?:底|末|初|中旬|上旬|下旬)?(?:以后|以後|之后|之後|后|後|以前|之前|前|起|以来|以來|至今|开始|開始|为止|為止|到|至"
    r"|[~–—-]\s*\d|(?:onwards?|and\s+(?:later|after)|or\s+(?:later|earlier|newer)|to|until|through)\b)",
    re.IGNORECASE,
)
_NAMED_MONTH = re.compile(rf"\b{_MONTH_EN}", re.IGNORECASE)
_MAY_DO = re.compile(r"May\s+(?:I\b|[a-z])")
_RANGE = re.compile(r"\s{0,3}(?:[日号號]|st|nd|rd|th)?\s{0,3}(?:[-–—~至到]|to|until|through)\s{0,3}", re.IGNORECASE)
_DAYS_BEFORE = re.compile(rf"(?P<first>{_DAY_EN})\s?[-–—]\s?$")
_DAYS_BEHIND = re.compile(rf"\s?[-–—~至到]\s?(?P<last>{_DAY_EN})\s?(?:[日号號]|(?![\w.:%]))")
_SLASHED = re.compile(r"(?<![\d/.])(\d{1,2})(?:/(\d{1,2})(?:/(\d{4}|\d\d))?|\.(\d{1,2})\.(\d{4}))(?![\d/])")
_COMPACT_MONTH = re.compile(rf"(?<!\d)({_YEAR})(0[1-9]|1[0-2])(?!\d)")
_SHORT_YEAR = re.compile(r"(?<!\d)(\d\d)年(?=\d{1,2}月)")
_ANY_YEAR = re.compile(rf"(?<!\d)({_YEAR})(?!\d)")
_YEARS = re.compile(rf"(?<!\d)({_YEAR})\s?[年]?\s?[-–—~至到]\s?({_YEAR})(?!\d)")

_MEETING = re.compile(
    r"会(?!计|员|签)|會(?!計|員|簽)|评审|評審|纪要|紀要|\b(?:meetings?|minutes|calls?|sessions?|reviews?|workshops?|boards?|committees?)\b",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"下一?[次回场場届]|\bnext (?:\w+ ){0,2}(?:meeting|call|session|review|workshop|board|time|date|one)\b"
    r"|\bnext(?: on\b|\s?:)|\b(?:meets?|meeting) again\b",
    re.IGNORECASE,
)
# a heading, a line that begins with a date or is the one for it, a title or file name
_HEAD_LINE = re.compile(
    r"[#*_>\s-]{0,6}(?:\d|(?:会议|會議|开会|開會)?(?:时间|時間|日期)|(?:date|held|when|time|on|subject|meeting|minutes)\b"
    rf"|{_MONTH_EN}\s)|\s?#|(?!\s{{0,3}}[|-]).{{0,60}}\Z",
    re.IGNORECASE,
)
_TIME_ASKED = re.compile(r"几点|幾點|什么时候|什麼時候|何时|何時|在哪|\b(?:what time|when|where)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A day of a month, a month or a year, each with what else of it is said; None where it is not said."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def is_told_by(self, other: NamedDate) -> bool:
        """Whether a text that names the other date may be about this one: it says the month or year and nothing else.

        A month without its day may be about any of its days.
        """
        part = other.year if self.month is None else other.month
        return part is not None and not self.differs_from(other)

    def differs_from(self, other: NamedDate) -> bool:
        """Whether the two cannot be the same: something that both say is another."""
        pairs = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        return any(first is not None and two is not None and first != two for first, two in pairs)

    def is_beside(self, other: NamedDate) -> bool:
        """Whether the other is another day, month or year: as exact as this one, and not the same."""
        is_exact = (self.day is None or other.day is not None) and (self.month is None or other.month is not None)
        return is_exact and self.differs_from(other)


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date with its place in the text as `nfkc` gives it."""

    date: NamedDate
    start: int
    end: int


def date_mentions(text: str) -> list[DateMention]:
    """The dates that a text surely names, in order: no bare "may", no four digits before a unit."""
    plain, mentions = nfkc(text), list[DateMention]()
    for pattern in (_ISO, _COMPACT, _MONTH_AND_YEAR, _CHINESE, _YEAR_ZH, _ENGLISH, _BARE_YEAR):
        for match in pattern.finditer(plain):
            is_apart = all(match.end() <= mention.start or match.start() >= mention.end for mention in mentions)
            if (
                is_apart
                and not (pattern is _ENGLISH and _is_word(match))
                and not (pattern is _ISO and _is_season(match))
            ):
                mentions.append(DateMention(_date(match), match.start(), match.end()))
    return sorted(mentions, key=lambda mention: mention.start)


def definite_dates(question: str) -> list[DateMention]:
    """The dates at which something is asked for; not those that only limit a time: "before 2030", 5月以后."""
    plain, mentions = nfkc(question), date_mentions(question)
    return [
        mention
        for mention in mentions
        if not _LIMIT_BEFORE.search(plain[: mention.start]) and not _LIMIT_BEHIND.match(plain[mention.end :])
    ]


def dates_told(text: str) -> set[NamedDate]:
    """Every date that a text may name, also as 20/5, in a file name, and between the ends of a range."""
    plain = _SHORT_YEAR.sub(r"20\1年", nfkc(text))
    mentions = date_mentions(plain)
    dates = {mention.date for mention in mentions}
    for mention, two in pairwise(mentions):
        if _RANGE.fullmatch(plain[mention.end : two.start]):
            dates.update(_between(mention.date, two.date))
    for mention in mentions:
        dates.update(_days_beside(mention, plain))
    dates.update(NamedDate(int(year), int(month)) for year, month in _COMPACT_MONTH.findall(plain))
    for match in _SLASHED.finditer(plain):
        dates.update(_readings(match))
    for match in _NAMED_MONTH.finditer(plain):
        is_new = not any(mention.start <= match.start() < mention.end for mention in mentions)
        if is_new and match.group()[0].isupper() and not _MAY_DO.match(plain, match.start()):
            dates.add(NamedDate(month=_number(match.group(), "month")))
    dates.update(NamedDate(int(year)) for year in _ANY_YEAR.findall(plain))
    for first, last in _YEARS.findall(plain):
        dates.update(map(NamedDate, range(int(first), int(last) + 1)))
    return dates


def dates_not_in(dates: Iterable[NamedDate], texts: Sequence[str]) -> list[NamedDate]:
    """Those of some dates that no text may be about."""
    listed = list(dates)
    dates_of_texts = {told_date for text in texts for told_date in dates_told(text)} if listed else set()
    return [date for date in listed if not any(date.is_told_by(told_date) for told_date in dates_of_texts)]


def asks_of_meeting(question: str) -> bool:
    """Whether a question is about a meeting that was held, and not about the time of one."""
    plain = nfkc(question)
    return _MEETING.search(plain) is not None and not (_NEXT.search(plain) or _TIME_ASKED.search(plain))


def is_of_meeting(title: str, text: str) -> bool:
    """Whether a text is of the minutes of a meeting, by its title or since it tells of the next one."""
    return _MEETING.search(nfkc(title)) is not None or _NEXT.search(nfkc(text)) is not None


def lines_of_holding(text: str) -> str:
    """The lines of minutes that say when a meeting was held: not its next time, nor when something is due."""
    lines = nfkc(text).splitlines()
    return "\n".join(line for line in lines if _HEAD_LINE.match(line) and not _NEXT.search(line))


def _date(match: re.Match[str]) -> NamedDate:
    parts = {name[:-1] if name[-1].isdigit() else name: text for name, text in match.groupdict().items() if text}
    return NamedDate(*(_number(parts.get(name, ""), name) for name in ("year", "month", "day")))


def _number(text: str, name: str) -> int | None:
    if not text:
        return None
    if name == "month" and text[:3].lower() in _NUMBER_OF_MONTH:
        return _NUMBER_OF_MONTH[text[:3].lower()]
    if name == "year" and text[0] in _HAN_DIGITS:
        return int("".join(str(max(_HAN_DIGITS.index(han) - 1, 0)) for han in text))
    if digits := re.match(r"\d+", text):
        return int(digits.group())
    tens, sign, ones = text.partition("十")
    if not sign:
        return _HAN_NUMBER[text]
    return 10 * _HAN_NUMBER.get(tens, 1) + _HAN_NUMBER.get(ones, 0)


def _is_word(match: re.Match[str]) -> bool:
    """Whether a month's name without day and year is more likely another word: "may", "march", "mar"."""
    name = match["month4"]
    if name is None:
        return False
    if len(name.rstrip(".")) > 3 and name.lower() not in ("march", "august"):
        return False
    return not _MODAL.search(match.string[: match.start()]) and not re.match(r"['’]s\b", match.string[match.end() :])


def _readings(match: re.Match[str]) -> Iterator[NamedDate]:
    """What "5/6/25" may be: the day or the month first."""
    first, other, year_digits = int(match[1]), int(match[2] or match[4]), match[3] or match[5]
    year = int(year_digits) + (2000 if len(year_digits) == 2 else 0) if year_digits else None
    for day, month in ((first, other), (other, first)):
        if 1 <= day <= 31 and 1 <= month <= 12:
            yield NamedDate(year, month, day)


def _is_season(match: re.Match[str]) -> bool:
    """Whether two years stand together, as in "2001-02"."""
    return not match["day"] and match["joint"] != "." and int(match["month"]) == (int(match["year"]) + 1) % 100


def _between(first: NamedDate, last: NamedDate) -> Iterator[NamedDate]:
    """The months or years between the two ends of a range, and each of their days."""
    if first.month is None or last.month is None:
        if first.month is None and last.month is None and first.year and last.year:
            yield from map(NamedDate, range(first.year, last.year + 1))
        return
    year = last.year if first.year is None else first.year
    if first.month == last.month and first.day and last.day:
        yield from (NamedDate(year, first.month, day) for day in range(first.day, last.day + 1))
        return
    months = (last.month - first.month) % 12
    for step in range(1 if first.day else 0, months + (0 if last.day else 1)):
        yield NamedDate(None, (first.month + step - 1) % 12 + 1)
    if first.day:
        yield from (NamedDate(None, first.month, day) for day in range(first.day, 32))
    if last.day:
        yield from (NamedDate(None, last.month, day) for day in range(1, last.day + 1))


def _days_beside(mention: DateMention, plain: str) -> Iterator[NamedDate]:
    """The days of "13–15 Oct", 6月12-14日."""
    if mention.date.day is None:
        return
    first = last = mention.date.day
    if before := _DAYS_BEFORE.search(plain[: mention.start]):
        first = _number(before["first"], "day") or first
    if behind := _DAYS_BEHIND.match(plain, mention.end):
        last = _number(behind["last"], "day") or last
    yield from (NamedDate(mention.date.year, mention.date.month, day) for day in range(first, last + 1))
