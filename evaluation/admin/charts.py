"""Charts as plain numbers that a template draws as SVG: bars of a day on top of each other, and lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils import formats

from accounts.relative_time import exact_day, short_day

WIDTH, HEIGHT = 640, 160  # of the plane, in units of the drawing
TICKS = 4
DATES = 6  # names of days below the plane


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One row of figures by day; None: nothing to show for the day."""

    name: Any  # what people read
    kind: str  # the class of its colour
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle, and what it stands for in words."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Line:
    """Points of a line, in pieces where days have no figure; each piece as SVG wants it."""

    kind: str
    pieces: Sequence[str]
    dots: Sequence[tuple[float, float, str]]  # x, y, words


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What the template draws."""

    title: Any
    series: Sequence[Series]
    bars: Sequence[Bar] = ()
    lines: Sequence[Line] = ()
    ticks: Sequence[tuple[float, str]] = ()  # y, words
    dates: Sequence[tuple[float, str]] = ()  # x, words
    summary: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(value for line in self.series for value in line.values)


def bar_chart(title: Any, days: Sequence[date], series: Sequence[Series], *, unit: str = "") -> Chart:
    """Bars of each day, those of all series on top of each other."""
    totals = [sum(each.values[at] or 0 for each in series) for at in range(len(days))]
    top, step = _scale(max([*totals, 0]))
    width = WIDTH / max(len(days), 1)
    bars = []
    for at, day in enumerate(days):
        below = 0.0
        for each in series:
            value = each.values[at] or 0
            height = HEIGHT * value / top
            if height:
                words = f"{exact_day(day)}: {each.name} {_number(value)}{unit}"
                bars.append(
                    Bar(
                        round(at * width + width * 0.1, 2),
                        round(HEIGHT - below - height, 2),
                        round(width * 0.8, 2),
                        round(height, 2),
                        each.kind,
                        words,
                    )
                )
            below += height
    return _chart(title, days, series, top, step, unit, bars=bars)


def line_chart(title: Any, days: Sequence[date], series: Sequence[Series], *, unit: str = "") -> Chart:
    """A line for each series; days without a figure leave a gap."""
    top, step = _scale(max([value for each in series for value in each.values if value is not None] + [0.0]))
    width = WIDTH / max(len(days), 1)
    lines = []
    for each in series:
        pieces: list[list[str]] = [[]]
        dots = []
        for at, value in enumerate(each.values):
            if value is None:
                pieces.append([])
                continue
            x, y = round((at + 0.5) * width, 2), round(HEIGHT * (1 - value / top), 2)
            pieces[-1].append(f"{x},{y}")
            words = f"{exact_day(days[at])}: {each.name} {_number(value)}{unit}"
            dots.append((x, y, words))
        lines.append(Line(each.kind, [" ".join(piece) for piece in pieces if len(piece) > 1], dots))
    return _chart(title, days, series, top, step, unit, lines=lines)


def _chart(
    title: Any,
    days: Sequence[date],
    series: Sequence[Series],
    top: float,
    step: float,
    unit: str,
    *,
    bars: Sequence[Bar] = (),
    lines: Sequence[Line] = (),
) -> Chart:
    marks = [number * step for number in range(round(top / step) + 1)]
    apart = max(1, math.ceil(len(days) / DATES))
    width = WIDTH / max(len(days), 1)
    return Chart(
        title=title,
        series=series,
        bars=bars,
        lines=lines,
        ticks=[(round(HEIGHT * (1 - mark / top), 2), f"{_number(mark)}{unit}") for mark in marks],
        dates=[(round((at + 0.5) * width, 2), short_day(day)) for at, day in enumerate(days) if at % apart == 0],
        summary="; ".join(f"{each.name} {_number(_whole(each))}{unit}" for each in series),
    )


def _whole(series: Series) -> float:
    """The largest value: what a reader without the picture is told of a series."""
    return max([value for value in series.values if value is not None] + [0.0])


def _scale(most: float) -> tuple[float, float]:
    """The end of an axis and its step: 1, 2 or 5 times a power of ten, about TICKS steps."""
    if most <= 0:
        return 1.0, 1.0
    rough = most / TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return math.ceil(round(most / step, 6)) * step, step


def _number(value: float) -> str:
    """With as many digits as a reader needs."""
    digits = 0 if value == round(value) or value >= 100 else 1 if value >= 10 else 2
    return formats.number_format(round(value, digits), decimal_pos=digits, use_l10n=True, force_grouping=True)
