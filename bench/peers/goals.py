"""What the product's retrieval must reach, and whether it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.peers.catalogue import ARMS, System
from bench.peers.measure import SetResult
from ragcore.metrics.bootstrap import Interval, Values, paired_interval, set_mean_difference

METRIC = "ndcg@10"
FINAL = "ours-reranked"
WORST_BESIDE_ARM = -0.005  # on any set, against the better single arm
MEAN_OVER_ARM = 0.015
PEER_GOALS = {
    False: "on average above every peer as it comes",
    True: "on average above every peer that is given our terms or our vectors",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One line of the verdict."""

    name: str
    found: str
    is_met: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Ours minus another system: by set (None: not measured there) and on average over the sets that were."""

    label: str
    by_set: Sequence[Interval | None]
    mean: Interval | None

    @property
    def behind(self) -> int:
        """Sets on which the other one is ahead."""
        return sum(found is not None and found.value < 0 for found in self.by_set)


def values_of(result: SetResult, key: str) -> Values | None:
    """nDCG@10 by question, or None where the system was not measured."""
    return result.measured[key].scores[METRIC] if key in result.measured else None


def best_arm(result: SetResult) -> str | None:
    """Key of ours' better single arm on a set."""
    means = {f"ours-{arm}": values for arm in ARMS if (values := values_of(result, f"ours-{arm}")) is not None}
    return max(means, key=lambda key: sum(means[key])) if means else None


def beside(results: Sequence[SetResult], *, label: str, keys: Sequence[str | None], ours: str = FINAL) -> Beside:
    """`keys`: the other system by set, in the order of the results."""
    pairs: list[tuple[Values, Values] | None] = []
    for result, key in zip(results, keys, strict=True):
        mine, other = values_of(result, ours), values_of(result, key) if key else None
        pairs.append((mine, other) if mine is not None and other is not None else None)
    there = [pair for pair in pairs if pair is not None]
    return Beside(
        label=label,
        by_set=[paired_interval(*pair) if pair else None for pair in pairs],
        mean=set_mean_difference(there) if there else None,
    )


def beside_arm(results: Sequence[SetResult], *, ours: str = FINAL) -> Beside:
    """Ours beside its own better single arm, set by set."""
    return beside(results, label="our better single arm", keys=[best_arm(result) for result in results], ours=ours)


def beside_peers(results: Sequence[SetResult], systems: Sequence[System]) -> list[tuple[System, Beside]]:
    """Ours beside every other row of the tables that is not ours."""
    return [
        (system, beside(results, label=system.label, keys=[system.key] * len(results)))
        for system in systems
        if not system.is_ours
    ]


def goals(results: Sequence[SetResult], systems: Sequence[System]) -> list[Goal]:
    """Judged by the means; the intervals stand beside them. A goal that could not be measured is not met."""
    arm = beside_arm(results)
    there = [found for found in arm.by_set if found is not None]
    worst = min((found.value for found in there), default=float("-inf"))
    named = ", ".join(
        f"{result.public.label} {found.value:+.3f}"
        for result, found in zip(results, arm.by_set, strict=True)
        if found is not None and found.value < WORST_BESIDE_ARM
    )
    found = [
        Goal(
            name=f"on every set at least {WORST_BESIDE_ARM:+.3f} beside our better single arm",
            found=f"worst {worst:+.3f}" + (f"; below: {named}" if named else ""),
            is_met=len(there) == len(results) and worst >= WORST_BESIDE_ARM,
        ),
        Goal(
            name=f"on average at least {MEAN_OVER_ARM:+.3f} over our better single arm",
            found=arm.mean.text(signed=True) if arm.mean else "not measured",
            is_met=arm.mean is not None and arm.mean.value >= MEAN_OVER_ARM,
        ),
    ]
    for with_our_parts, name in PEER_GOALS.items():
        peers = [s for s in systems if s.is_peer and s.with_our_parts == with_our_parts]
        if peers:
            found.append(_above(name, [row for _system, row in beside_peers(results, peers)]))
    return found


def _above(name: str, rows: Sequence[Beside]) -> Goal:
    """Whether ours is above all of them; a peer that is missing on a set leaves the goal open, which is not met."""
    missing = [row.label for row in rows if not all(row.by_set)]
    measured = sorted(((row.mean, row) for row in rows if row.mean), key=lambda pair: pair[0].value)
    not_below = [f"{row.label} {mean.value:+.3f}" for mean, row in measured if mean.value <= 0]
    ahead = [f"{row.label} on {row.behind}" for _mean, row in measured if row.behind]
    parts = [f"closest: {row.label} {mean.text(signed=True)}" for mean, row in measured[:1]]
    parts += [f"not below us: {', '.join(not_below)}"] if not_below else []
    parts += [f"ahead of us on single sets: {', '.join(ahead)}"] if ahead else []
    parts += [f"not measured everywhere: {', '.join(missing)}"] if missing else []
    return Goal(name=name, found="; ".join(parts), is_met=bool(measured) and not not_below and not missing)
