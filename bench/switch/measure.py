"""Two models alone, and what people find while the site goes from one to the other and back."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.conf import settings
from django.core.management import call_command
from django.db import connection

from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.retrieval import note, work_off
from bench.switch.asking import MODES, Answered, asked_once, asked_until
from bench.switch.corpus import model_save, sets_joined, words_of
from evaluation.services.golden import benchmark_load
from knowledge.indexes.embedder_fill import is_complete
from knowledge.jobs.embed_site import EmbedSite
from knowledge.models import Chunk, EmbedderSwitch, IndexEntry, SearchModel
from knowledge.queue import FILL_VECTORS, switch_subject
from knowledge.services import indexes_refresh
from knowledge.services.bulk import documents_bulk
from knowledge.services.embedder_switch import switch_back, switch_finish, switch_start
from knowledge.services.maintenance import vectors_merge
from knowledge.services.search_models import search_model_save, search_model_test
from ragcore.metrics.quality import recall_at_k
from work.models import Job
from work.runner import slice_run
from work.upkeep import due_run

SEED = 16
LATE = 20  # documents that are added while vectors are made
LEAST_SECONDS = 2.0  # of asking after each step


@dataclass(slots=True)
class _World:
    """The corpus and who asks."""

    admin: User
    scope: Scope
    set_id: int
    questions: list[str]
    right: list[frozenset[str]]

    def alone(self) -> dict[tuple[int, str], float]:
        """recall@10 of each question and mode, with one model and nothing else going on."""
        return {
            (number, mode): self.recall(asked_once(self.scope, self.set_id, self.questions, number, mode))
            for number in range(len(self.questions))
            for mode in MODES
        }

    def recall(self, one: Answered) -> float:
        """recall@10 of one answer."""
        return recall_at_k(list(one.found), self.right[one.question], 10)


def measure(folders: Sequence[Path], *, size: int, questions: int, askers: int = 0) -> dict[str, Any]:
    """All figures. `askers`: processes that ask; 0: a thread of this one does."""
    call_command("bootstrap", "--demo", "0", verbosity=0)
    with tempfile.TemporaryDirectory(prefix="ragsite-switch-") as folder:
        return _measured(folders, Path(folder), size=size, questions=questions, askers=askers)


def _measured(folders: Sequence[Path], folder: Path, *, size: int, questions: int, askers: int) -> dict[str, Any]:
    world = _loaded(sets_joined(folders, folder / "set"), size=size, questions=questions)
    who: dict[str, Any] = {"scope": world.scope, "actor": world.admin}
    target = _target(world, who)
    note(f"{Chunk.objects.count()} passages, {len(world.questions)} questions")
    before = world.alone()
    steps: dict[str, tuple[float, float]] = {}
    with _asking(world, folder, askers) as answered:
        late: list[str] = []
        with _step(steps, "making vectors"):
            row = switch_start(**who, target=target)
            with patch.object(EmbedSite, "slice_seconds", 1.0):
                slice_run(job_id=Job.objects.get(kind=FILL_VECTORS, subject=switch_subject(row.pk)).pk)
            late = _add_late(world)
            while EmbedderSwitch.objects.get(pk=row.pk).state == EmbedderSwitch.State.BUILDING:
                due_run(kind=FILL_VECTORS)
        with _step(steps, "switch"):
            switch_finish(**who, switch_id=row.pk)
        is_whole = is_complete(model=row.model)
        with _step(steps, "coarse vectors"):
            vectors_merge()
        after = world.alone()
        with _step(steps, "back"):
            switch_back(**who)
        with _step(steps, "coarse vectors back"):
            vectors_merge()
    return {
        "passages": IndexEntry.objects.filter(representation="body").count(),
        "entries": IndexEntry.objects.count(),
        "seconds": {name: round(end - start, 2) for name, (start, end) in steps.items()},
        "complete_at_switch": is_whole,
        "late_documents": len(late),
        **_figures(world, answered, steps, before, after),
    }


def _figures(
    world: _World,
    answered: Sequence[Answered],
    steps: dict[str, tuple[float, float]],
    before: dict[tuple[int, str], float],
    after: dict[tuple[int, str], float],
) -> dict[str, Any]:
    """Answers by step against both models alone."""
    failed = [one.error for one in answered if one.error]
    below = [
        one
        for one in answered
        if world.recall(one) < min(before[one.question, one.mode], after[one.question, one.mode]) - 1e-9
    ]
    by_step = {}
    for name, (start, end) in steps.items():
        mine = [one for one in answered if start <= one.start < end + LEAST_SECONDS]
        by_step[name] = {
            "answers": len(mine),
            **{mode: _mean([world.recall(one) for one in mine if one.mode == mode]) for mode in MODES},
            "alone": {
                mode: [
                    _mean([side[one.question, mode] for one in mine if one.mode == mode]) for side in (before, after)
                ]
                for mode in MODES
            },
            "p95_ms": round(1000 * _quantile([one.seconds for one in mine], 0.95), 1),
        }
    return {
        "questions_asked": len(answered),
        "failed": len(failed),
        "errors": sorted(set(failed))[:5],
        "answers_below_both_models": len(below),
        "recall10_alone": {
            mode: [_mean([v for (_n, m), v in side.items() if m == mode]) for side in (before, after)] for mode in MODES
        },
        "steps": by_step,
    }


# ── the corpus and the models ───────────────────────────────────────────────────────────────────


def _loaded(folder: Path, *, size: int, questions: int) -> _World:
    """Ingested up to about `size` passages; questions about what is there."""
    tenant = Tenant.objects.get(is_default=True)
    admin = User.objects.create(username="bench-switch", tenant=tenant, is_staff=True, is_superuser=True, clearance=4)
    scope = scope_for(admin)
    golden, accepted = benchmark_load(scope=scope, actor=admin, folder=folder, name="switch")
    while Chunk.objects.count() < size and work_off_some(accepted.job_id):
        note(f"{Chunk.objects.count()} passages")
    indexes_refresh()
    known = set(
        Chunk.objects.filter(version__live_for__isnull=False).values_list("version__document__external_id", flat=True)
    )
    cases = [(case.question, frozenset(case.relevant)) for case in golden.cases.order_by("pk")]
    cases = [case for case in cases if case[1] and case[1] <= known]
    random.Random(SEED).shuffle(cases)  # noqa: S311 # nosec B311 - a bench
    chosen = cases[:questions]
    return _World(admin, scope, golden.sets.get().pk, [one for one, _ in chosen], [right for _, right in chosen])


def work_off_some(job_id: int) -> bool:
    """One batch of a job; False once it has no open item."""
    from knowledge.models import IngestItem
    from knowledge.services import ingestion_advance

    ingestion_advance(job_id=job_id)
    return IngestItem.objects.filter(job_id=job_id, finished=None).exists()


def _target(world: _World, who: dict[str, Any]) -> SearchModel:
    """A small model in a folder where models may be, registered and tested."""
    folder = Path(settings.DATA_DIR) / "models" / f"bench-switch-{os.getpid()}"
    texts = Chunk.objects.values_list("text", flat=True).iterator()
    model_save(folder, words_of([*texts, *world.questions]))
    row = search_model_save(**who, model=SearchModel(), values={"provider": "folder", "name": str(folder)})
    note(search_model_test(**who, model=row))
    return row


def _add_late(world: _World) -> list[str]:
    """Documents that come while vectors are made."""
    lines = [
        json.dumps(
            {"external_id": f"late/{number}", "title": "", "sets": [world.set_id],
             "text": f"Late document {number}: lamp number {number * 7919} is green."}
        ).encode()
        for number in range(LATE)
    ]  # fmt: skip
    accepted = documents_bulk(scope=world.scope, actor=world.admin, lines=iter(lines))
    work_off(accepted.job_id)
    return [f"late/{number}" for number in range(LATE)]


# ── asking meanwhile ────────────────────────────────────────────────────────────────────────────


@contextmanager
def _step(steps: dict[str, tuple[float, float]], name: str) -> Iterator[None]:
    start = time.time()
    yield
    steps[name] = (start, time.time())
    note(f"{name}: {steps[name][1] - start:.1f} s")
    time.sleep(LEAST_SECONDS)


@contextmanager
def _asking(world: _World, folder: Path, askers: int) -> Iterator[list[Answered]]:
    """Somebody asks until the block ends; the list is filled then."""
    answered: list[Answered] = []
    if askers:
        with _processes(world, folder, askers) as files:
            yield answered
        for file in files:
            for line in file.read_text(encoding="utf-8").splitlines():
                question, mode, start, seconds, model, found, error = json.loads(line)
                answered.append(Answered(question, mode, start, seconds, model, tuple(found), error))
        return
    over = threading.Event()

    def ask() -> None:
        try:
            answered.extend(asked_until(world.scope, world.set_id, world.questions, over.is_set))
        finally:
            connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answered
    finally:
        over.set()
        thread.join()


@contextmanager
def _processes(world: _World, folder: Path, askers: int) -> Iterator[list[Path]]:
    running, files = [], []
    for number in range(askers):
        asked, written = folder / f"asked-{number}.json", folder / f"answered-{number}.jsonl"
        first = number * len(world.questions) // askers
        values = {"user": world.admin.username, "set": world.set_id, "questions": world.questions, "first": first}
        asked.write_text(json.dumps(values), encoding="utf-8")
        command = [sys.executable, "-m", "bench.switch.asking", str(asked), str(written)]
        running.append(subprocess.Popen(command, stdin=subprocess.PIPE))
        files.append(written)
    try:
        while not all(file.is_file() and file.stat().st_size for file in files):
            time.sleep(0.2)
        yield files
    finally:
        for one in running:
            one.communicate()


def _mean(values: Sequence[float]) -> float | None:
    return round(statistics.mean(values), 4) if values else None


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0
