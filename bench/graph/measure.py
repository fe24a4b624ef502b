"""Recall, "all passages found" and nDCG at 10 with and without the graph, through the product's own search."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from django.core.management import call_command

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.retrieval import work_off
from evaluation.models import GoldenSet
from evaluation.services.golden import benchmark_load
from knowledge.models import Mention
from knowledge.queue import READ_ENTITIES
from knowledge.services import indexes_refresh, retrieve
from knowledge.types import RetrievalRequest
from ragcore.metrics.bootstrap import paired_interval, set_mean_difference
from ragcore.metrics.quality import ndcg_at_k, recall_at_k
from work.upkeep import due_run

FIRST = 10  # places
SEVERAL = 1.5  # relevant passages of a question on average, from which a set is one of several hops


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """Figures of every question of one set, in order."""

    recall: list[float]
    complete: list[float]  # 1 where all relevant passages stand among the first
    ndcg: list[float]
    milliseconds: list[float]


def measure_sets(folders: Sequence[Path], *, limit: int, use: str) -> dict[str, Any]:
    """Gains over all sets of several hops, the worst change of a single-hop set, and the figures of each set."""
    call_command("bootstrap", "--demo", "0", verbosity=0)
    admin = User.objects.get(username="admin")
    scope = scope_for(admin)
    pairs: dict[str, tuple[Arm, Arm]] = {}
    several: list[str] = []
    figures: dict[str, Any] = {}
    for folder in folders:
        name = folder.parent.name if folder.name in ("dev", "heldout", "test") else folder.name
        golden, read_rate = _loaded(scope, admin, folder, name)
        cases = [(c.question, frozenset(c.relevant)) for c in golden.cases.order_by("pk")[:limit] if c.relevant]
        set_id = golden.sets.get().pk
        _asked(scope, set_id, cases[:3], "on")  # models are loaded
        alone, graph = (_asked(scope, set_id, cases, one) for one in ("off", use))
        pairs[name] = alone, graph
        if fmean(len(right) for _, right in cases) >= SEVERAL:
            several.append(name)
        figures[name] = _figures(alone, graph) | {"questions": len(cases), "passages_read_per_second": read_rate}
        print(f"{name}: {figures[name]}", file=sys.stderr, flush=True)
    return {**_together(pairs, several), "sets": figures}


def _loaded(scope: Scope, admin: User, folder: Path, name: str) -> tuple[GoldenSet, float]:
    golden, accepted = benchmark_load(scope=scope, actor=admin, folder=folder, name=name)
    work_off(accepted.job_id)
    indexes_refresh()
    before, start = Mention.objects.values("chunk").distinct().count(), time.perf_counter()
    due_run(kind=READ_ENTITIES)
    seconds = time.perf_counter() - start
    indexes_refresh()
    return golden, round((Mention.objects.values("chunk").distinct().count() - before) / seconds, 1)


def _asked(scope: Scope, set_id: int, cases: Sequence[tuple[str, frozenset[str]]], use: str) -> Arm:
    arm = Arm(recall=[], complete=[], ndcg=[], milliseconds=[])
    for question, right in cases:
        request = RetrievalRequest(query=question, sets=(set_id,), top_k=FIRST, options={"graph": use})
        start = time.perf_counter()
        state = retrieve(scope=scope, request=request).state
        arm.milliseconds.append(1000 * (time.perf_counter() - start))
        names = list(dict.fromkeys(c.passage.external_id for c in state.candidates if c.passage is not None))
        arm.recall.append(recall_at_k(names, right, FIRST))
        arm.complete.append(float(right <= set(names[:FIRST])))
        arm.ndcg.append(ndcg_at_k(names, right, FIRST))
    return arm


def _figures(alone: Arm, graph: Arm) -> dict[str, Any]:
    return {
        "recall10": [round(fmean(arm.recall), 4) for arm in (alone, graph)],
        "recall10_gain": paired_interval(graph.recall, alone.recall).text(signed=True),
        "all_found": [round(fmean(arm.complete), 4) for arm in (alone, graph)],
        "all_found_gain": paired_interval(graph.complete, alone.complete).text(signed=True),
        "ndcg10": [round(fmean(arm.ndcg), 4) for arm in (alone, graph)],
        "p50_ms": [_percentile(arm.milliseconds, 0.5) for arm in (alone, graph)],
        "p95_ms": [_percentile(arm.milliseconds, 0.95) for arm in (alone, graph)],
    }


def _together(pairs: dict[str, tuple[Arm, Arm]], several: Sequence[str]) -> dict[str, Any]:
    gain: dict[str, Any] = {"recall10_gain": None, "interval": None, "all_found_gain": None}
    if several:
        recall = set_mean_difference([(pairs[name][1].recall, pairs[name][0].recall) for name in several])
        complete = set_mean_difference([(pairs[name][1].complete, pairs[name][0].complete) for name in several])
        gain = {
            "recall10_gain": round(recall.value, 4),
            "interval": [round(recall.low, 4), round(recall.high, 4)],
            "all_found_gain": round(complete.value, 4),
            "all_found_interval": [round(complete.low, 4), round(complete.high, 4)],
        }
    changes = [fmean(graph.ndcg) - fmean(alone.ndcg) for name, (alone, graph) in pairs.items() if name not in several]
    return {**gain, "single_hop_change": round(min(changes), 4) if changes else None}


def _percentile(values: Sequence[float], share: float) -> float:
    return round(sorted(values)[int(share * (len(values) - 1))], 1)
