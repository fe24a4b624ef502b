"""Planted failures with their diagnoses, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One planted failure and what the diagnosis said of it; causes are (class, sub-cause, detail)."""

    kind: str
    question: str
    planted: tuple[str, str, str]
    found: tuple[str, str, str]
    rule: str  # where the passage was seen last
    confidence: float

    @property
    def is_class(self) -> bool:
        return self.found[0] == self.planted[0]

    @property
    def is_exact(self) -> bool:
        """Class and sub-cause."""
        return self.found[:2] == self.planted[:2]

    def described(self) -> str:
        return f"{self.kind}: {self.question[:80]!r} planted {self.planted}, found {self.found} at {self.rule!r}"


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, float | int | None]:
    """Shares in 0..1. Raises ValueError without outcomes."""
    if not outcomes:
        raise ValueError("nothing was planted")
    return {
        "class_accuracy": round(float(np.mean([o.is_class for o in outcomes])), 4),
        "subcause_accuracy": round(float(np.mean([o.is_exact for o in outcomes])), 4),
        "ece": round(calibration_error([o.confidence for o in outcomes], [o.is_class for o in outcomes]), 4),
        "remedied": None,
        "cases": len(outcomes),
    }


def calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error (Naeini et al. 2015): mean gap of confidence and share right over BINS equal bins."""
    bins = np.minimum((np.asarray(confidences) * BINS).astype(int), BINS - 1)
    hits, sure = np.asarray(right, np.float64), np.asarray(confidences)
    gaps = [abs(hits[bins == b].mean() - sure[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)]
    return float(np.sum(gaps))


def table(outcomes: Sequence[Outcome]) -> str:
    """One row for each kind of failure."""
    rows = ["| planted | class and sub-cause | cases | class right | sub-cause right |", "|---|---|---|---|---|"]
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.kind == kind]
        shares = [float(np.mean([o.is_class for o in mine])), float(np.mean([o.is_exact for o in mine]))]
        cells = [kind, ", ".join(mine[0].planted[:2]), str(len(mine)), *(f"{share:.2f}" for share in shares)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
