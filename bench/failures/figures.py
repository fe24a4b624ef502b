"""How far the diagnosis agrees with the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.failures.labels import Label

Cause = tuple[str, str]  # class and sub-cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A label beside what the diagnosis said."""

    label: Label
    found: Cause
    detail: str
    where: str  # where the passage was seen last
    confidence: float
    expects_refusal: bool

    @property
    def is_class(self) -> bool:
        return self.found[0] == self.label.cause

    @property
    def is_exact(self) -> bool:
        """Class and sub-cause."""
        return self.found == (self.label.cause, self.label.subcause)

    def described(self) -> str:
        said = f"labelled {self.label.cause}, {self.label.subcause}; found {', '.join(self.found)} ({self.detail})"
        return f"{self.label.set} {self.label.question}: {said} at {self.where}; {self.label.reason}"


def agreement(compared: Sequence[Compared]) -> tuple[float, float]:
    """Shares of cases with the same class and with the same class and sub-cause, 0 to 1; nan without cases."""
    if not compared:
        return float("nan"), float("nan")
    return float(np.mean([c.is_class for c in compared])), float(np.mean([c.is_exact for c in compared]))


def figures_of(compared: Sequence[Compared], *, listed: int) -> dict[str, float | int]:
    """The last line of the command: `cases` are labelled failures, `still_wrong` those that count.

    Raises ValueError where no answer is wrong any more.
    """
    if not compared:
        raise ValueError("no listed answer is wrong any more")
    by_class, exact = agreement(compared)
    return {
        "class_agreement": round(by_class, 4),
        "subcause_agreement": round(exact, 4),
        "cases": listed,
        "still_wrong": len(compared),
    }


def shares_table(compared: Sequence[Compared]) -> str:
    """Agreement of all, of both halves, without unanswerable questions, and of each set."""
    parts: dict[str, list[Compared]] = {
        "all": list(compared),
        "development half": [c for c in compared if c.label.half == 0],
        "test half": [c for c in compared if c.label.half == 1],
        "answerable questions": [c for c in compared if not c.expects_refusal],
        "answerable, test half": [c for c in compared if not c.expects_refusal and c.label.half == 1],
    }
    for name in dict.fromkeys(c.label.set for c in compared):
        parts[name] = [c for c in compared if c.label.set == name]
    rows = ["| | cases | class | sub-cause |", "|---|---|---|---|"]
    for name, mine in parts.items():
        by_class, exact = agreement(mine)
        rows.append(f"| {name} | {len(mine)} | {by_class:.3f} | {exact:.3f} |")
    return "\n".join(rows)


def confusion(compared: Sequence[Compared]) -> str:
    """Labels downwards, diagnoses across: class and sub-cause."""
    counts = Counter(((c.label.cause, c.label.subcause), c.found) for c in compared)
    labelled = sorted({label for label, _ in counts})
    found = sorted({found for _, found in counts})
    head = [f"| labelled \\ diagnosed | {' | '.join(map(_named, found))} |", "|---|" + "---|" * len(found)]
    cells = [[str(counts[label, one]) if counts[label, one] else "" for one in found] for label in labelled]
    return "\n".join(
        [*head, *(f"| {_named(label)} | {' | '.join(row)} |" for label, row in zip(labelled, cells, strict=True))]
    )


def _named(cause: Cause) -> str:
    return f"{cause[0]}: {cause[1]}"
