"""Weeks, months, quarters and years around a day. Weeks begin on Monday (ISO 8601)."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta


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
