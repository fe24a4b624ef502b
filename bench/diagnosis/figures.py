"""Planted failures with their diagnoses, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ragcore.metrics.bootstrap import paired_interval

BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RestScore:
    """Another question beside a remedy: nDCG@10 of its document, and whether it was answered rightly; 0 to 1."""

    ndcg: float
    answered: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One planted failure and what the diagnosis said of it; causes are (class, sub-cause, detail)."""

    kind: str
    question: str
    planted: tuple[str, str, str]
    found: tuple[str, str, str]
    where: str  # where the passage was seen last
    confidence: float
    rule: str = ""  # of the diagnosis
    certainty: float = 1.0  # of the passage, a factor of the confidence
    remedy: str = ""  # that was applied; "" where none can be
    is_remedied: bool | None = None  # the question was answered after it; None: none was applied
    before: tuple[RestScore, ...] = ()  # other questions before the remedy
    after: tuple[RestScore, ...] = ()  # the same after it

    @property
    def is_class(self) -> bool:
        return self.found[0] == self.planted[0]

    @property
    def is_exact(self) -> bool:
        """Class and sub-cause."""
        return self.found[:2] == self.planted[:2]

    def described(self) -> str:
        said = f"planted {self.planted}, found {self.found} at {self.where!r}"
        return f"{self.kind}: {self.question[:80]!r} {said}, remedy {self.remedy or '-'} {self.is_remedied}"


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, float | int | None]:
    """Shares in 0..1. Raises ValueError without outcomes."""
    if not outcomes:
        raise ValueError("nothing was planted")
    return {
        "class_accuracy": round(float(np.mean([o.is_class for o in outcomes])), 4),
        "subcause_accuracy": round(float(np.mean([o.is_exact for o in outcomes])), 4),
        "ece": round(calibration_error([o.confidence for o in outcomes], [o.is_class for o in outcomes]), 4),
        "remedied": remedied(outcomes),
        "cases": len(outcomes),
        **rest_figures(outcomes),
    }


def remedied(outcomes: Sequence[Outcome]) -> float | None:
    """Share answered after the click, of failures with a remedy that can be clicked; None without any."""
    tried = [outcome.is_remedied for outcome in outcomes if outcome.is_remedied is not None]
    return round(float(np.mean(tried)), 4) if tried else None


def rest_figures(outcomes: Sequence[Outcome]) -> dict[str, float | int | None]:
    """Other questions before and after the remedies: change of the means, after minus before; None without any."""
    before, after = _rest(outcomes)
    if not before:
        return {"rest_cases": 0, "rest_ndcg_change": None, "rest_answered_change": None, "rest_lost": 0, "rest_won": 0}
    return {
        "rest_cases": len(before),
        "rest_ndcg_change": round(float(np.mean([b.ndcg - a.ndcg for a, b in zip(before, after, strict=True)])), 4),
        "rest_answered_change": round(
            float(np.mean([b.answered - a.answered for a, b in zip(before, after, strict=True)])), 4
        ),
        "rest_lost": sum(b.answered < a.answered for a, b in zip(before, after, strict=True)),
        "rest_won": sum(b.answered > a.answered for a, b in zip(before, after, strict=True)),
    }


def rest_table(outcomes: Sequence[Outcome]) -> str:
    """One row for each remedy: what it did to other questions, with 95 % intervals."""
    rows = [
        "| remedy | clicks | other questions | change of nDCG@10 | change of answered | lost | won |",
        "|---|---|---|---|---|---|---|",
    ]
    for remedy in sorted({outcome.remedy for outcome in outcomes if outcome.before}):
        mine = [outcome for outcome in outcomes if outcome.remedy == remedy]
        before, after = _rest(mine)
        pairs = list(zip(before, after, strict=True))
        ndcg = paired_interval([b.ndcg for b in after], [a.ndcg for a in before]).text(signed=True)
        answered = paired_interval([b.answered for b in after], [a.answered for a in before]).text(signed=True)
        lost, won = sum(b.answered < a.answered for a, b in pairs), sum(b.answered > a.answered for a, b in pairs)
        rows.append(f"| {remedy} | {len(mine)} | {len(pairs)} | {ndcg} | {answered} | {lost} | {won} |")
    return "\n".join(rows)


def _rest(outcomes: Sequence[Outcome]) -> tuple[list[RestScore], list[RestScore]]:
    before = list(chain.from_iterable(outcome.before for outcome in outcomes))
    return before, list(chain.from_iterable(outcome.after for outcome in outcomes))


def reliabilities(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, float, float]]:
    """Rule -> (cases, share of right classes, mean certainty of the passages), to calibrate the rules with."""
    rules = sorted({outcome.rule for outcome in outcomes})
    found = {}
    for rule in rules:
        mine = [outcome for outcome in outcomes if outcome.rule == rule]
        share, sure = np.mean([o.is_class for o in mine]), np.mean([o.certainty for o in mine])
        found[rule] = (len(mine), round(float(share), 3), round(float(sure), 3))
    return found


def calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error (Naeini et al. 2015): mean gap of confidence and share right over BINS equal bins."""
    bins = np.minimum((np.asarray(confidences) * BINS).astype(int), BINS - 1)
    hits, sure = np.asarray(right, np.float64), np.asarray(confidences)
    gaps = [abs(hits[bins == b].mean() - sure[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)]
    return float(np.sum(gaps))


def table(outcomes: Sequence[Outcome]) -> str:
    """One row for each kind of failure."""
    rows = [
        "| planted | class and sub-cause | cases | class right | sub-cause right | remedy | answered after it |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.kind == kind]
        shares = [float(np.mean([o.is_class for o in mine])), float(np.mean([o.is_exact for o in mine]))]
        cells = [kind, ", ".join(mine[0].planted[:2]), str(len(mine)), *(f"{share:.2f}" for share in shares)]
        clicked = [o for o in mine if o.is_remedied is not None]
        cells += [", ".join(sorted({o.remedy for o in clicked})) or "–", _answered(clicked)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _answered(clicked: Sequence[Outcome]) -> str:
    return f"{sum(bool(o.is_remedied) for o in clicked)} of {len(clicked)}" if clicked else "–"
