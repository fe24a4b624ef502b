"""Time expressions become dates that documents can be matched with: 上周, "last month".

Weeks begin on Monday (ISO 8601).
"""

from __future__ import annotations

import re
from calendar import month_name, monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from ragcore.text.clauses import clause_around, is_of_asker
from ragcore.understanding.mentions import Resolution

_ZH_NUMBER = {c: n for n, c in enumerate("零一二三四五六七八九十")} | {"两": 2, "兩": 2, "半": 0}
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_EN_NUMBER = {word: number for number, word in enumerate(_COUNTED)} | {"a": 1, "an": 1, "few": 3, "couple": 2}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS_ZH = {
    "大前天": -3,
    "前天": -2,
    "昨天": -1,
    "昨日": -1,
    "今天": 0,
    "今日": 0,
    "明天": 1,
    "明日": 1,
    "后天": 2,
    "大后天": 3,
}
_N_ZH = r"(?P<n>\d{1,3}|[一二三四五六七八九十两兩]{1,3})"
_ZH = re.compile(
    r"(?P<day>大前天|前天|昨天|昨日|今天|今日|明天|明日|大后天|后天)"
    rf"|(?P<recent>(?:最近|过去|過去|近)(?:的)?{_N_ZH}(?:个|個)?(?P<unit>天|日|周|星期|月|季度|年)(?:内|以来|里)?)"
    rf"|(?P<ago>(?P<n2>\d{{1,3}}|[一二三四五六七八九十两兩]{{1,3}})(?:个|個)?(?P<unit2>天|周|星期|月|年)(?:以)?前)"
    r"|(?P<weekday>(?P<w>上上|上|本|这|這|下)(?:个|個)?(?:周|星期|礼拜)(?P<d>[一二三四五六日天]))"
    r"|(?P<week>(?P<w2>上上|上|本|这|這|下)(?:个|個)?(?:周|星期|礼拜)(?![一二三四五六日天刊报会边围]))"
    r"|(?P<month>(?P<w3>上上|上|本|这|這|当|下)(?:个|個)?月(?!份?[球饼])份?)"
    r"|(?P<quarter>(?P<w4>上上|上|本|这|這|下)(?:一|个|個)?季度)"
    r"|(?P<half>(?P<y2>今年|去年|本年|明年)?(?P<h>上|下)半年)"
    r"|(?P<year>(?:前年|去年|今年|明年|后年|本年度|上年度|上一年|本年))(?P<part>(?P<m>\d{1,2}|十[一二]|[一二三四五六七八九十])月(?:份)?"
    r"|第?(?P<q>[一二三四1-4])季度)?"
)
_YEARS_ZH = {
    "前年": -2,
    "去年": -1,
    "上年度": -1,
    "上一年": -1,
    "今年": 0,
    "本年度": 0,
    "本年": 0,
    "明年": 1,
    "后年": 2,
}
_STEPS_ZH = {"上上": -2, "上": -1, "本": 0, "这": 0, "這": 0, "当": 0, "下": 1}
_UNITS = r"(?P<{0}>day|week|month|quarter|year)s?"
_N_EN = r"(?:\d{1,3}|a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|few|couple of)"
_EN = re.compile(
    r"\b(?:(?P<day>(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday|today|tomorrow)"
    rf"|(?:(?:over|in|during|within|for)\s+)?(?:the\s+)?(?P<recent>(?:(?:last|past|previous)\s+(?P<n>{_N_EN})|past)\s+{_UNITS.format('unit')})"
    rf"|(?P<ago>(?P<n2>{_N_EN})\s+{_UNITS.format('unit2')}\s+ago)"
    r"|(?:on\s+)?(?P<weekday>(?P<w>last|this|next)\s+(?P<d>monday|tuesday|wednesday|thursday|friday|saturday|sunday))"
    r"|(?P<span>(?:the\s+)?(?P<w2>last|previous|this|current|next)\s+(?P<unit3>week|month|quarter|year)))\b(?P<own>['’]s)?",
    re.I,
)
_DAYS_EN = {"day before yesterday": -2, "yesterday": -1, "today": 0, "tomorrow": 1, "day after tomorrow": 2}
_STEPS_EN = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1}
_PREPOSITION = re.compile(
    r"\b(?:in|on|of|from|since|for|during|until|till|by|before|after|between|to|than|about|the|and|with)\s+$", re.I
)
_MONTHS = month_name[1:]
# what is carried over into another time: a rule says so of every year
_CARRIES_ZH = re.compile(r"[带帶留转轉存攒攢挪移延]|累积|累積|滚动")
_INTO_ZH = re.compile(r"[到至进進入]\Z")
_CARRIES_EN = re.compile(r"\b(?:carr(?:y|ies|ied)|roll|transfer|mov|tak|keep|bring|bank|sav|us(?=e\b))\w*\b", re.I)
_INTO_EN = re.compile(r"\b(?:to|into|for|until|till)\s+(?:the\s+)?\Z", re.I)


def resolve_dates(text: str, today: date | None) -> Resolution:
    """Chinese and English time expressions as dates; without `today` they are only named, not replaced.

    An expression without a number, such as 最近 or "recently", stays: it names no date. So does one for what the asker
    did or will do then ("I travel next week"): no document has that date, and its figures would be looked for.
    """
    signs: list[str] = []

    def replaced(write: Callable[[re.Match[str], date], str]) -> Callable[[re.Match[str]], str]:
        def one(match: re.Match[str]) -> str:
            signs.append(match.group())
            return match.group() if today is None or _is_of_asker(match) else write(match, today)

        return one

    resolved = _ZH.sub(replaced(_chinese), text)
    resolved = _EN.sub(replaced(_english), resolved)
    return Resolution(resolved, tuple(signs), resolved != text)


def _is_of_asker(match: re.Match[str]) -> bool:
    if is_carried_into(match.string, match.start()):
        return True
    return not match.groupdict().get("own") and is_of_asker(match.string, match.start(), match.end())


def is_carried_into(text: str, start: int) -> bool:
    """Whether a time is one that something is carried over into: "how many days go into next year", 留到明年."""
    before, _behind = clause_around(text, start, start)
    if _INTO_ZH.search(before):
        return _CARRIES_ZH.search(before) is not None
    return _INTO_EN.search(before) is not None and _CARRIES_EN.search(before) is not None


def _chinese(match: re.Match[str], today: date) -> str:
    span = _span_zh(match, today)
    if match["half"]:
        return f"{span.first.year}年{match['h']}半年"
    if match["quarter"] or match["q"]:
        return f"{span.first.year}年第{'一二三四'[(span.first.month - 1) // 3]}季度"
    if span.is_year:
        return f"{span.first.year}年"
    if span.is_month:
        return f"{span.first.year}年{span.first.month}月"
    first = _day_zh(span.first)
    return first if span.first == span.last else f"{first}至{_day_zh(span.last)}"


def _span_zh(match: re.Match[str], today: date) -> Span:
    if match["day"]:
        return Span.of(today + timedelta(days=_DAYS_ZH[match["day"]]))
    if match["recent"]:
        return Span(back(today, _number_zh(match["n"]), _unit_zh(match["unit"])), today)
    if match["ago"]:
        unit = _unit_zh(match["unit2"])
        return _around(back(today, _number_zh(match["n2"]), unit), unit)
    if match["weekday"]:
        monday = week(today, _STEPS_ZH[match["w"]]).first
        return Span.of(monday + timedelta(days="一二三四五六日".index(match["d"].replace("天", "日"))))
    if match["week"]:
        return week(today, _STEPS_ZH[match["w2"]])
    if match["month"]:
        return month(today, _STEPS_ZH[match["w3"]])
    if match["quarter"]:
        return quarter(today, _STEPS_ZH[match["w4"]])
    if match["half"]:
        return _half(today.year + _YEARS_ZH.get(match["y2"] or "", 0), match["h"])
    return _of_year(today.year + _YEARS_ZH[match["year"]], match)


def _of_year(number: int, match: re.Match[str]) -> Span:
    if match["m"]:
        return month(date(number, _number_zh(match["m"]), 1), 0)
    if match["q"]:
        at = "一二三四".find(match["q"])
        return quarter(date(number, 3 * (at if at >= 0 else int(match["q"]) - 1) + 1, 1), 0)
    return year(number)


def _half(number: int, which: str) -> Span:
    return (
        Span(date(number, 1, 1), date(number, 6, 30))
        if which == "上"
        else Span(date(number, 7, 1), date(number, 12, 31))
    )


def _english(match: re.Match[str], today: date) -> str:
    span = _span_en(match, today)
    before = match.string[: match.start()]
    bare = bool(match["own"]) or bool(_PREPOSITION.search(before)) or not before.strip()
    if (match["span"] or match["unit2"]) and (match["unit3"] or match["unit2"]).lower() == "quarter":
        text, word = f"Q{(span.first.month - 1) // 3 + 1} {span.first.year}", "in"
    elif span.is_year:
        text, word = str(span.first.year), "in"
    elif span.is_month:
        text, word = f"{_MONTHS[span.first.month - 1]} {span.first.year}", "in"
    elif span.first == span.last:
        text, word = _day_en(span.first), "on"
    else:
        return f"{'' if match['own'] else 'from '}{_day_en(span.first)} to {_day_en(span.last)}"
    return (text if bare else f"{word} {text}") + (match["own"] or "")


def _span_en(match: re.Match[str], today: date) -> Span:
    if match["day"]:
        return Span.of(today + timedelta(days=_DAYS_EN[match["day"].lower().removeprefix("the ")]))
    if match["recent"]:
        return Span(back(today, _number_en(match["n"] or "1"), match["unit"].lower()), today)
    if match["ago"]:
        unit = match["unit2"].lower()
        return _around(back(today, _number_en(match["n2"]), unit), unit)
    if match["weekday"]:
        weekday = _WEEKDAYS.index(match["d"].lower())
        return Span.of(_weekday(today, weekday, match["w"].lower()))
    step, unit = _STEPS_EN[match["w2"].lower()], match["unit3"].lower()
    if unit == "week":
        return week(today, step)
    if unit == "month":
        return month(today, step)
    return quarter(today, step) if unit == "quarter" else year(today.year + step)


def _weekday(today: date, weekday: int, which: str) -> date:
    """last: the latest one before today; this: of this week; next: the first one after today."""
    if which == "last":
        return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    if which == "next":
        return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
    return week(today, 0).first + timedelta(days=weekday)


def _around(day: date, unit: str) -> Span:
    """Something so many months ago was in that month, not on that day."""
    if unit == "week":
        return week(day, 0)
    if unit == "month":
        return month(day, 0)
    if unit == "quarter":
        return quarter(day, 0)
    return year(day.year) if unit == "year" else Span.of(day)


def _number_zh(text: str) -> int:
    if text.isdigit():
        return int(text)
    if "十" in text:
        tens, ones = text.split("十", 1)
        return 10 * (_ZH_NUMBER[tens] if tens else 1) + (_ZH_NUMBER[ones] if ones else 0)
    return _ZH_NUMBER[text[-1]]


def _number_en(text: str) -> int:
    return int(text) if text.isdigit() else _EN_NUMBER[text.lower().split()[0]]


def _unit_zh(text: str) -> str:
    return {"天": "day", "日": "day", "周": "week", "星期": "week", "月": "month", "季度": "quarter", "年": "year"}[
        text
    ]


def _day_zh(day: date) -> str:
    return f"{day.year}年{day.month}月{day.day}日"


def _day_en(day: date) -> str:
    return f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"


# ── spans of the calendar ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Span:
    """From one day to another, both included."""

    first: date
    last: date

    @classmethod
    def of(cls, day: date) -> Span:
        return cls(day, day)

    @property
    def is_month(self) -> bool:
        """A whole calendar month."""
        return self.first.day == 1 and self.last == _month_end(self.first)

    @property
    def is_year(self) -> bool:
        """A whole calendar year."""
        return (self.first.month, self.first.day, self.last.month, self.last.day) == (1, 1, 12, 31) and (
            self.first.year == self.last.year
        )


def week(day: date, step: int) -> Span:
    """The week `step` weeks after that of a day."""
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=step)
    return Span(monday, monday + timedelta(days=6))


def month(day: date, step: int) -> Span:
    first = add_months(day.replace(day=1), step)
    return Span(first, _month_end(first))


def quarter(day: date, step: int) -> Span:
    first = add_months(date(day.year, 3 * ((day.month - 1) // 3) + 1, 1), 3 * step)
    return Span(first, _month_end(add_months(first, 2)))


def year(number: int) -> Span:
    return Span(date(number, 1, 1), date(number, 12, 31))


def add_months(day: date, months: int) -> date:
    """The same day of another month, or that month's last day."""
    years, index = divmod(day.month - 1 + months, 12)
    number = day.year + years
    return date(number, index + 1, min(day.day, monthrange(number, index + 1)[1]))


def back(day: date, number: int, unit: str) -> date:
    """So many days, weeks, months, quarters or years before a day."""
    if unit in ("day", "week"):
        return day - timedelta(days=number * (7 if unit == "week" else 1))
    return add_months(day, -number * {"month": 1, "quarter": 3, "year": 12}[unit])


def _month_end(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])
