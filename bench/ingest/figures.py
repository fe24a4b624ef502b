"""Figures: repeated values, their median with its 95 % interval, and the goal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.metrics.bootstrap import interval, percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One row of the table. `goal` is met from above, or from below where `less_is_better`."""

    part: str  # a to f
    name: str
    unit: str
    values: Sequence[float]
    goal: float | None = None
    less_is_better: bool = False

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the median by the bootstrap (Efron 1979); of few repetitions, nearly their range."""
        found = interval(self.values, statistic=percentile(50))
        return found.low, found.high

    @property
    def is_met(self) -> bool | None:
        """Whether the median reaches the goal; None where there is none."""
        if self.goal is None:
            return None
        return self.median <= self.goal if self.less_is_better else self.median >= self.goal

    def as_row(self) -> str:
        low, high = self.interval
        shown = "" if self.goal is None else f"{'≤' if self.less_is_better else '≥'} {_short(self.goal)}"
        met = {None: "", True: "yes", False: "**no**"}[self.is_met]
        cells = [self.part, self.name, f"{_short(self.median)} ({_short(low)}–{_short(high)})", self.unit, shown, met]
        return f"| {' | '.join(cells)} |"

    def as_json(self) -> dict[str, Any]:
        low, high = self.interval
        return {
            "part": self.part,
            "name": self.name,
            "unit": self.unit,
            "values": list(self.values),
            "median": self.median,
            "low": low,
            "high": high,
            "goal": self.goal,
            "met": self.is_met,
        }


def table(figures: Sequence[Figure]) -> str:
    """Markdown."""
    head = ["| | what | median (95 %) | unit | goal | met |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *(figure.as_row() for figure in figures)])


def write_json(path: Path, figures: Sequence[Figure], **about: Any) -> None:
    """The same figures for machines, with every repetition."""
    content = {**about, "figures": [figure.as_json() for figure in figures]}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def note(text: str) -> None:
    """Progress for the person who waits."""
    print(text, file=sys.stderr, flush=True)


def _short(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
