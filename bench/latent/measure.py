"""Recall of the vectors and nDCG of the hybrid search, before and after domain vectors are switched on; refusals."""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from django.core.management import call_command

from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.retrieval import work_off
from evaluation.services.golden import benchmark_load
from knowledge.models import LatentModel, TenantVectors
from knowledge.services import indexes_refresh, retrieve
from knowledge.services.latent_models import latents_refresh
from knowledge.types import RetrievalRequest, Retrieved
from ragcore.metrics.bootstrap import mean_interval, paired_interval
from ragcore.metrics.quality import ndcg_at_k, recall_at_k

SEED = 11
FOREIGN = 100  # questions of another set that are asked: nothing here answers them

Asked = tuple[str, frozenset[str]]


def measure_sets(folders: Sequence[Path], *, limit: int) -> dict[str, Any]:
    """Figures of each set by its name."""
    call_command("bootstrap", "--demo", "0", verbosity=0)
    sets = [_Set.loaded(folder, limit=limit) for folder in folders]
    found: dict[str, Any] = {}
    for place, one in enumerate(sets):
        other = sets[(place + 1) % len(sets)]
        foreign = [question for question, _ in other.cases[:FOREIGN]] if other is not one else []
        found[one.name] = one.measure(foreign)
        print(f"{one.name}: {json.dumps(found[one.name])}", file=sys.stderr, flush=True)
    if len(sets) > 1:
        gains = [figures["hybrid_ndcg_gain"][0] for figures in found.values()]
        found["mean"] = {
            "recall10_gain": round(statistics.mean(f["recall10_gain"][0] for f in found.values()), 4),
            "hybrid_ndcg_gain": round(statistics.mean(gains), 4),
            "hybrid_ndcg_least": round(min(gains), 4),
        }
    return found


@dataclass(frozen=True, slots=True)
class _Set:
    """One retrieval set, alone in its tenant."""

    name: str
    scope: Scope
    set_id: int
    cases: Sequence[Asked]

    @classmethod
    def loaded(cls, folder: Path, *, limit: int) -> _Set:
        """Ingested, without domain vectors; up to `limit` of its questions, drawn with a fixed seed."""
        name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
        tenant = Tenant.objects.create(name=f"bench {name}")
        admin = User.objects.create(
            username=f"bench-{name}", tenant=tenant, is_staff=True, is_superuser=True, clearance=4
        )
        scope = scope_for(admin)
        golden, accepted = benchmark_load(scope=scope, actor=admin, folder=folder, name=name)
        work_off(accepted.job_id)
        TenantVectors.objects.filter(tenant=tenant).update(latent_off=True)
        indexes_refresh()
        cases = [(case.question, frozenset(case.relevant)) for case in golden.cases.order_by("pk")]
        random.Random(SEED).shuffle(cases)  # noqa: S311 # nosec B311 - a bench
        return cls(name, scope, golden.sets.get().pk, cases[:limit])

    def measure(self, foreign: Sequence[str]) -> dict[str, Any]:
        """All figures; domain vectors are made in between."""
        before = self._asked(foreign)
        TenantVectors.objects.filter(tenant=self.scope.tenant_id).update(latent_off=False)
        start = time.perf_counter()
        latents_refresh()
        seconds = time.perf_counter() - start
        latent = LatentModel.objects.filter(tenant=self.scope.tenant_id, state=LatentModel.State.LIVE).first()
        after = self._asked(foreign)
        return {
            "passages": latent.passages if latent else 0,
            "questions": len(self.cases),
            "fit_seconds": round(latent.seconds, 2) if latent else None,
            "fit_and_switch_seconds": round(seconds, 2),
            **_compared("recall10", before["recall"], after["recall"]),
            **_compared("hybrid_ndcg", before["ndcg"], after["ndcg"]),
            "question_ms": [before["ms"], after["ms"]],
            "false_refusals": [before["refused"], after["refused"]],
            "foreign_refused": [before["foreign"], after["foreign"]],
            "scale": [round(latent.cosine_offset, 3), round(latent.cosine_slope, 3)] if latent else None,
        }

    def _asked(self, foreign: Sequence[str]) -> Mapping[str, Any]:
        recall, ndcg, times = [], [], []
        refused: dict[str, list[float]] = {"vector": [], "hybrid": []}
        for question, right in self.cases:
            start = time.perf_counter()
            near = self._found(question, "vector")
            times.append(1000 * (time.perf_counter() - start))
            recall.append(recall_at_k(_names(near), right, 10))
            hybrid = self._found(question, "hybrid")
            ndcg.append(ndcg_at_k(_names(hybrid), right, 10))
            for mode, found in (("vector", near), ("hybrid", hybrid)):
                refused[mode].append(float(not found.relevant))
        others = [float(not self._found(question, "vector").relevant) for question in foreign]
        return {
            "recall": recall,
            "ndcg": ndcg,
            "refused": {mode: round(statistics.mean(values), 3) for mode, values in refused.items()},
            "foreign": round(statistics.mean(others), 3) if others else None,
            "ms": round(statistics.median(times), 1),
        }

    def _found(self, question: str, mode: Literal["vector", "hybrid"]) -> Retrieved:
        request = RetrievalRequest(query=question, sets=(self.set_id,), top_k=10, mode=mode)
        return retrieve(scope=self.scope, request=request)


def _names(found: Retrieved) -> list[str]:
    names = [c.passage.external_id for c in found.state.candidates if c.passage is not None]
    return list(dict.fromkeys(names))


def _compared(name: str, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
    gain = paired_interval(after, before)
    return {
        f"{name}_before": round(mean_interval(before).value, 4),
        f"{name}_after": round(mean_interval(after).value, 4),
        f"{name}_gain": [round(gain.value, 4), round(gain.low, 4), round(gain.high, 4)],
    }
