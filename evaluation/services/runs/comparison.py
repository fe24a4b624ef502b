"""Two configurations of a golden set side by side, and whether the second one may take the place of the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from evaluation.models import RunConfiguration
from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs.asking import run_cases
from evaluation.services.runs.figures import ordered
from ragcore.metrics.comparison import TIE, PairedDifference, compare, holm, least_differing
from ragcore.metrics.judged import JUDGED
from ragcore.metrics.registry import metric_info

Scores = Mapping[str, float]
MOST_LOST = 0.05  # of the mean of a primary share, whatever the test says: of few cases it says nothing
KEPT = 16  # comparisons in one process
MOST_FAILED = 0.05  # of the cases of a configuration: cases that fail in both count 0 in both, and hide any difference

_kept: dict[tuple[Any, ...], Comparison] = {}
_keeping = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCase:
    """One case that both have; empty scores where a configuration had nothing to say of it."""

    case: int
    question: str
    first: Scores
    second: Scores

    def difference(self, metric: str) -> float | None:
        """Second minus first; None where one of them has no value."""
        if metric not in self.first or metric not in self.second:
            return None
        return self.second[metric] - self.first[metric]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Differences by metric, in the order of tables, with the cases that they come from."""

    metrics: Mapping[str, PairedDifference]
    cases: tuple[ComparedCase, ...]
    changed: int = 0  # cases left out, because they were changed between the two, or stand in one of them alone

    def better(self, metric: str) -> int:
        """Cases that the second configuration wins."""
        difference = self.metrics[metric]
        return difference.higher if is_higher_better(metric) else difference.lower

    def worse(self, metric: str) -> int:
        """Cases that it loses."""
        difference = self.metrics[metric]
        return difference.lower if is_higher_better(metric) else difference.higher


def is_higher_better(metric: str) -> bool:
    """The direction of a metric; of an unknown one higher is better."""
    info = metric_info(metric)
    return info is None or info.is_higher_better


def configurations_compare(first: RunConfiguration, second: RunConfiguration) -> Comparison:
    """Pairs the cases that both have done and that expected the same; a case is known by its id in the golden set."""
    rows, others = (dict(run_cases(one.run)) for one in (first, second))
    alike = {case for case in rows.keys() & others.keys() if _expects_the_same(rows[case], others[case])}
    done = [_scores_judged(one) for one in (first, second)]
    both = sorted(done[0].keys() & done[1].keys() & alike)
    return scores_compare(
        (
            ComparedCase(case=case, question=rows[case].question, first=one, second=other)
            for case in both
            for one, other in [_alike(done[0][case], done[1][case])]
        ),
        changed=len((rows.keys() | others.keys()) - alike),
    )


def _expects_the_same(one: GoldenRow, other: GoldenRow) -> bool:
    return one.question == other.question and one.expectation() == other.expectation()


def comparison_of(first: RunConfiguration, second: RunConfiguration) -> Comparison:
    """`configurations_compare`, kept in the process where both runs are over: of many cases it takes seconds."""
    ends = (first.run.finished, second.run.finished)
    if None in ends:
        return configurations_compare(first, second)
    key = (first.pk, second.pk, *ends)
    with _keeping:
        comparison = _kept.get(key)
    if comparison is None:
        comparison = configurations_compare(first, second)
        with _keeping:
            while len(_kept) >= KEPT:
                _kept.pop(next(iter(_kept)))
            _kept[key] = comparison
    return comparison


def _scores_judged(configuration: RunConfiguration) -> dict[int, tuple[Scores, tuple[Any, Any]]]:
    """Case → its scores and who judged them: a model, perhaps in vain, or rules."""
    names = ("case", "scores", "trace__judge__model", "trace__judge__failed")
    rows = configuration.outcomes.order_by().values_list(*names)
    return {case: (scores, (model, failed)) for case, scores, model, failed in rows}


def _alike(first: tuple[Scores, Any], second: tuple[Scores, Any]) -> tuple[Scores, Scores]:
    """The scores of both sides; those of the judge only where the same one has judged both."""
    if first[1] == second[1]:
        return first[0], second[0]
    one, other = ({name: value for name, value in side[0].items() if name not in JUDGED} for side in (first, second))
    return one, other


def scores_compare(cases: Iterable[ComparedCase], *, changed: int = 0) -> Comparison:
    """The comparison of cases; figures of earlier stages are not compared, so that fewer metrics are corrected for.

    `changed`: how many cases were left out.
    """
    rows = tuple(cases)
    names = ordered({name for row in rows for name in row.first.keys() & row.second.keys() if "." not in name})
    first: dict[str, Sequence[float]] = {}
    second: dict[str, Sequence[float]] = {}
    for name in names:
        pairs = [(row.first[name], row.second[name]) for row in rows if name in row.first and name in row.second]
        first[name], second[name] = [a for a, _ in pairs], [b for _, b in pairs]
    return Comparison(metrics=compare(first, second), cases=rows, changed=changed)


# ── the gate ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFault:
    """Why something does not pass: worse than the baseline beyond chance (worse) or by more than MOST_LOST (lost),
    below its floor, or not measured at all (missing); or too many cases have failed, which is said of no metric.
    """

    metric: str  # "" for failed
    reason: str  # worse | lost | below | missing | failed
    value: float | None  # failed: so many cases
    limit: float | None  # the baseline's mean, or the floor; failed: cases of the configuration
    p: float | None = None  # corrected


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Cases of a configuration that ended with an error, of all that were asked."""

    failed: int
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """`checked` names the metrics that decided; `least` cases must differ before a test can find anything."""

    faults: tuple[GateFault, ...]
    checked: tuple[str, ...]
    cases: int
    compared: int = 0  # cases of the primary metric that has most of them; 0 without a baseline
    differing: int = 0  # of the one with most differing cases
    least: int = 0

    @property
    def has_passed(self) -> bool:
        return not self.faults

    @property
    def is_too_small(self) -> bool:
        """Whether the golden set has so few cases that no difference of them can be significant."""
        return 0 < self.compared < self.least

    @property
    def is_untouched(self) -> bool:
        """Whether the change makes no difference to any case, so that the golden set says nothing of it."""
        return self.compared > 0 and self.differing == 0

    @property
    def is_undecided(self) -> bool:
        """Whether some cases differ, and too few for a test."""
        return 0 < self.differing < self.least


def gate_judge(
    *,
    means: Mapping[str, float],
    floors: Mapping[str, float],
    comparison: Comparison | None,
    failures: Sequence[Failures] = (),
) -> GateVerdict:
    """Passed if no primary metric is worse than the baseline, none is below its floor, and the cases were answered.

    Worse is what the paired permutation test finds significant, with p-values corrected for the primary metrics alone,
    and a share whose mean falls by more than MOST_LOST: with fewer than `least_differing` cases that differ no test can
    find anything, exact as it is.
    `means`: of the candidate. A metric with a floor that was not measured is a fault: otherwise a change could pass by
    not being measured. `comparison`: None without a baseline. `failures`: of the configurations that were asked.
    """
    faults = [
        GateFault(metric="", reason="failed", value=worst.failed, limit=worst.cases)
        for worst in sorted(failures, key=lambda failure: -failure.failed)[:1]
        if worst.failed > MOST_FAILED * worst.cases
    ]
    compared = comparison.metrics if comparison is not None else {}
    primary = [name for name in compared if (info := metric_info(name)) is not None and info.is_primary]
    corrected = holm({name: compared[name].p for name in primary})
    for name in primary:
        difference = replace(compared[name], p_corrected=corrected[name])
        is_worse = difference.difference < 0 if is_higher_better(name) else difference.difference > 0
        if is_worse and (difference.is_significant or _is_lost(name, difference)):
            reason = "worse" if difference.is_significant else "lost"
            values = {"value": difference.second, "limit": difference.first, "p": difference.p_corrected}
            faults.append(GateFault(metric=name, reason=reason, **values))
    for name, floor in floors.items():
        value = means.get(name)
        if value is None:
            faults.append(GateFault(metric=name, reason="missing", value=None, limit=floor))
        elif value < floor if is_higher_better(name) else value > floor:
            faults.append(GateFault(metric=name, reason="below", value=value, limit=floor))
    return GateVerdict(
        faults=tuple(faults),
        checked=tuple(dict.fromkeys([*primary, *floors])),
        cases=len(comparison.cases) if comparison is not None else 0,
        compared=max((compared[name].cases for name in primary), default=0),
        differing=max((compared[name].higher + compared[name].lower for name in primary), default=0),
        least=least_differing(len(primary)) if primary else 0,
    )


def _is_lost(name: str, difference: PairedDifference) -> bool:
    info = metric_info(name)
    return info is not None and info.unit == "share" and abs(difference.difference) > MOST_LOST + TIE


def configuration_failures(configuration: RunConfiguration) -> Failures:
    """How many of the cases of a configuration have failed; the run is over."""
    outcomes = configuration.outcomes.exclude(trace__has_key="skipped")
    return Failures(failed=configuration.failed, cases=outcomes.count())


def configuration_means(configuration: RunConfiguration) -> dict[str, float]:
    """Metric -> mean of a configuration whose run is over."""
    return {name: float(figure["value"]) for name, figure in configuration.figures.items()}
