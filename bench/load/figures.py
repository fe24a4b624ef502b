"""What a load measured, as Markdown."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds
BAR = 40  # characters of the longest bar


@dataclass(slots=True)
class Figures:
    """Seconds by action, and what failed."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)  # (action, what happened)

    def add(self, action: str, seconds: float) -> None:
        self.seconds.setdefault(action, []).append(seconds)

    def fail(self, action: str, what: str) -> None:
        self.failures[action, what] += 1

    def failed(self, action: str) -> int:
        return sum(number for (name, _), number in self.failures.items() if name == action)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so many others do not pass. Raises IndexError without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(phases: dict[str, Figures]) -> str:
    """Seconds of every action in every phase."""
    rows = ["| phase | action | number | failed | p50 s | p95 s | longest s |", "|---|---|---|---|---|---|---|"]
    for phase, figures in phases.items():
        for action in sorted({*figures.seconds, *(name for name, _ in figures.failures)}):
            values = figures.seconds.get(action, [])
            cells = [f"{percentile(values, share):.2f}" for share in (0.5, 0.95, 1)] if values else ["–"] * 3
            numbers = f"{len(values)} | {figures.failed(action)}"
            rows.append(f"| {phase} | {action} | {numbers} | {' | '.join(cells)} |")
    return "\n".join(rows)


def histogram(values: Sequence[float]) -> str:
    """How many values lie up to each bound, as bars."""
    counts = [0] * (len(BOUNDS) + 1)
    for value in values:
        counts[bisect_left(BOUNDS, value)] += 1
    names = [*(f"≤ {bound:g} s" for bound in BOUNDS), f"> {BOUNDS[-1]:g} s"]
    most = max([*counts, 1])
    return "\n".join(
        f"{name:>9} {count:6} {'█' * round(BAR * count / most)}"
        for name, count in zip(names, counts, strict=True)
        if count
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUse:
    """What one process of the product used in a phase."""

    name: str
    cpu_seconds: float
    memory_mb: float  # at its largest; shared pages count for each process that uses them by its part


def process_table(phases: Mapping[str, Iterable[ProcessUse]]) -> str:
    """Processor time and memory, by process."""
    rows = ["| phase | process | processor s | memory MB |", "|---|---|---|---|"]
    for phase, uses in phases.items():
        listed = sorted(uses, key=lambda use: -use.cpu_seconds)
        rows += [f"| {phase} | {use.name} | {use.cpu_seconds:.1f} | {use.memory_mb:.0f} |" for use in listed]
        cpu, memory = sum(use.cpu_seconds for use in listed), sum(use.memory_mb for use in listed)
        rows.append(f"| {phase} | all | {cpu:.1f} | {memory:.0f} |")
    return "\n".join(rows)
