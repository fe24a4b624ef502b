"""The generated part of docs/benchmarks.md."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from bench.peers.catalogue import VECTOR_KINDS, System
from bench.peers.goals import Beside, Goal, beside_arm, beside_peers, goals, values_of
from bench.peers.measure import SetResult
from bench.report import machine_words, table
from ragcore.metrics.bootstrap import Interval, set_mean_interval

SECTION = "retrieval"
MISSING = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the reader needs to run it again."""

    command: str
    day: date
    versions: Mapping[str, str]  # of the product's database and models; the peers' come with their answers
    database_bytes: int = 0  # all processes of PostgreSQL at the end; 0: not known


def page_section(results: Sequence[SetResult], systems: Sequence[System], about: About) -> str:
    """Everything between the markers, as Markdown."""
    parts = [
        _about(results, about),
        "### Goals",
        _goals(goals(results, systems)),
        "### nDCG@10",
        _quality(results, systems),
        "### Ours minus theirs",
        "Fused and reranked, nDCG@10, in pairs by question, with the 95 % interval; above 0 we are ahead.",
        _differences(results, systems),
        "### Time and memory",
        _costs_about(results, about),
        _costs(results, systems),
    ]
    if failures := _failures(results, systems):
        parts += ["### Not measured", failures]
    return "\n\n".join(parts)


def _about(results: Sequence[SetResult], about: About) -> str:
    versions = dict(about.versions)
    for result in results:
        for measured in result.measured.values():
            versions |= measured.versions
    sizes = [
        f"{r.public.label}: {len(r.public.passages)} passages, {len(r.public.questions)} questions" for r in results
    ]
    lines = [
        f"`{about.command}`, {about.day.isoformat()}, {machine_words()}; load at the end {os.getloadavg()[0]:.1f}.",
        f"Versions: {', '.join(f'{name} {version}' for name, version in sorted(versions.items()))}.",
        f"{'; '.join(sizes)}.",
    ]
    return "\n\n".join(lines)


def _goals(found: Sequence[Goal]) -> str:
    rows = [[goal.name, goal.found, "yes" if goal.is_met else "**no**"] for goal in found]
    return table(["fused and reranked", "measured", "met"], rows)


def _quality(results: Sequence[SetResult], systems: Sequence[System]) -> str:
    """Systems by sets; the mean over sets only where a system was measured on all of them."""
    rows = []
    for system in systems:
        values = [values_of(result, system.key) for result in results]
        there = [one for one in values if one is not None]
        mean = set_mean_interval(there).text() if there and len(there) == len(results) else MISSING
        rows.append([system.label, *(f"{np.mean(one):.3f}" if one is not None else MISSING for one in values), mean])
    return table(["system", *(result.public.label for result in results), "mean (95 %)"], rows)


def _differences(results: Sequence[SetResult], systems: Sequence[System]) -> str:
    compared = [beside_arm(results), *(row for _system, row in beside_peers(results, systems))]
    rows = [[row.label, *map(_difference, row.by_set), _difference(_mean(row, results))] for row in compared]
    return table(["minus", *(result.public.label for result in results), "mean"], rows)


def _mean(row: Beside, results: Sequence[SetResult]) -> Interval | None:
    return row.mean if all(row.by_set) and len(row.by_set) == len(results) else None


def _difference(found: Interval | None) -> str:
    return found.text(signed=True) if found else MISSING


def _costs_about(results: Sequence[SetResult], about: About) -> str:
    kinds = {kind: [r.embedding_ms[kind] for r in results if kind in r.embedding_ms] for kind in VECTOR_KINDS}
    embedding = ", ".join(f"{VECTOR_KINDS[kind]} {np.median(found):.1f} ms" for kind, found in kinds.items() if found)
    text = (
        "One question at a time; medians over the sets, the memory is the largest. Everybody's times are with "
        f"embedding the question or the passages (median of a question: {embedding}); for the peers it was measured "
        "apart and added. Peak memory is that of the process that searches; the peers' is without an embedder, ours "
        "with it. Our own index time is that of the whole ingestion: chunks, windows, duplicates, versions, both "
        "indexes in the database."
    )
    if about.database_bytes:
        text += f" PostgreSQL itself, for us and for pgvector, held {about.database_bytes / 1e6:.0f} MB at the end."
    return text


def _costs(results: Sequence[SetResult], systems: Sequence[System]) -> str:
    rows = []
    for system in systems:
        found = [result.measured[system.key] for result in results if system.key in result.measured]
        cells = [MISSING] * 4
        if found:
            p50, p95 = (float(np.median([np.percentile(one.milliseconds, q) for one in found])) for q in (50, 95))
            index = float(np.median([one.index_seconds for one in found]))
            cells = [f"{p50:.1f}", f"{p95:.1f}", f"{index:.1f}", f"{max(one.peak_bytes for one in found) / 1e6:.0f}"]
        rows.append([system.label, *cells])
    return table(["system", "p50 ms", "p95 ms", "index s", "peak MB"], rows)


def _failures(results: Sequence[SetResult], systems: Sequence[System]) -> str:
    labels = {system.key: system.label for system in systems}
    lines = [f"- {labels[key]} on {r.public.label}: {reason}" for r in results for key, reason in r.failed.items()]
    lines += [f"- {r.public.label}: the product refused {r.refused} passages" for r in results if r.refused]
    return "\n".join(lines)
