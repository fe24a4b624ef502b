"""The product's own retrieval, arm by arm, on golden sets (modes and `rerank` as a client would ask for them)."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from django.core.management import call_command

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from evaluation.models import GoldenSet, RunConfiguration
from evaluation.services.golden import benchmark_load, golden_import
from evaluation.services.golden_files import golden_file_parse
from evaluation.services.runs.lifecycle import evaluation_run
from evaluation.services.runs.plans import ConfigurationPlan
from knowledge.demo import GOLDEN
from knowledge.models import IngestItem, IngestJob, KnowledgeSet
from knowledge.services import indexes_refresh, ingestion_advance

ALONE = RunConfiguration.Component.RETRIEVAL
UNRANKED = {"retrieval": {"rerank": False}}
ARMS = {
    "BM25": ConfigurationPlan(name="BM25", retrieval_mode="bm25", component=ALONE, options=UNRANKED),
    "vectors": ConfigurationPlan(name="vectors", retrieval_mode="vector", component=ALONE, options=UNRANKED),
    "fused": ConfigurationPlan(name="fused", component=ALONE, options=UNRANKED),
    "fused and reranked": ConfigurationPlan(name="fused and reranked", component=ALONE),
}
SHOWN = ("recall@1", "recall@10", "ndcg@10", "p50_ms", "p95_ms")


def run(*, folders: Sequence[Path], limit: int) -> str:
    """A Markdown table with one row per set and arm; 95 % intervals for nDCG@10."""
    call_command("bootstrap", "--demo", "0" if folders else "1", verbosity=0)
    admin = User.objects.get(username="admin")
    scope = scope_for(admin)
    rows = ["| set | arm | r@1 | r@10 | nDCG@10 (95 %) | p50 ms | p95 ms |", "|---|---|---|---|---|---|---|"]
    for golden, documents, seconds in _sets(scope=scope, admin=admin, folders=folders):
        note(f"{golden.name}: {documents} documents live in {seconds:.1f} s ({documents / seconds:.1f}/s)")
        for arm, plan in ARMS.items():
            rows.append(_row(scope=scope, admin=admin, golden=golden, arm=arm, plan=plan, limit=limit))
            note(rows[-1])
    return "\n".join(rows)


def _sets(*, scope: Scope, admin: User, folders: Sequence[Path]) -> Iterator[tuple[GoldenSet, int, float]]:
    """Golden sets whose documents are live, with how long that took."""
    if not folders:
        start = time.perf_counter()
        done = sum(work_off(job_id) for job_id in IngestJob.objects.values_list("pk", flat=True))
        rows = golden_file_parse(name=GOLDEN.name, content=GOLDEN.read_bytes())
        golden = golden_import(tenant=admin.tenant, name="demo", rows=rows).golden_set
        golden.sets.set(KnowledgeSet.objects.all())
        yield golden, done, time.perf_counter() - start
    for folder in folders:
        start = time.perf_counter()
        name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
        golden, accepted = benchmark_load(scope=scope, actor=admin, folder=folder, name=name)
        done = work_off(accepted.job_id)
        indexes_refresh()
        yield golden, done, time.perf_counter() - start


def work_off(job_id: int) -> int:
    """Do what a worker would, until the job has no open item."""
    done = 0
    while IngestItem.objects.filter(job_id=job_id, finished=None).exists():
        done += ingestion_advance(job_id=job_id)
    return done


def _row(*, scope: Scope, admin: User, golden: GoldenSet, arm: str, plan: ConfigurationPlan, limit: int) -> str:
    figures = evaluation_run(scope=scope, user=admin, golden_set=golden, configurations=[plan], limit=limit).figures
    recall1, recall10, ndcg, p50, p95 = (figures[name] for name in SHOWN)
    interval = f"{ndcg['value']:.3f} ({ndcg['low']:.3f}–{ndcg['high']:.3f})"
    cells = [golden.name, arm, f"{recall1['value']:.3f}", f"{recall10['value']:.3f}", interval]
    return "| " + " | ".join([*cells, f"{p50['value']:.0f}", f"{p95['value']:.0f}"]) + " |"


def note(text: str) -> None:
    """Progress for the person who waits; the table alone goes to standard output."""
    print(text, file=sys.stderr, flush=True)
