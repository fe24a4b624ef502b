"""One set after the other: half ingested, fitted, the rest ingested, asked."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from django.core.management import call_command

from accounts.models import Tenant, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.finetune.halves import Rows, first_half, rows_of
from bench.retrieval import work_off
from evaluation.queue import TRAIN_ADAPTER
from evaluation.services.adapter_training import training_start
from evaluation.services.golden import benchmark_load
from evaluation.services.runs.measuring import ranked_documents
from evaluation.services.trainings import training_jobs
from knowledge.models import QueryAdapter
from knowledge.services import indexes_refresh, retrieve
from knowledge.types import RetrievalMode, RetrievalRequest
from ragcore.metrics.bootstrap import paired_interval
from ragcore.metrics.quality import ndcg_at_k, recall_at_k
from ragcore.text.question_pairs import MADE
from work.runner import slice_run
from work.words import error_words

Asked = list[tuple[str, frozenset[str]]]
PLAIN = 0  # the option `query_adapter` without any


def measure_sets(folders: Sequence[Path], *, limit: int) -> dict[str, Any]:
    """Figures of each set by its name."""
    call_command("bootstrap", "--demo", "0", verbosity=0)
    done: dict[str, Any] = {}
    for folder in folders:
        name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
        start = time.perf_counter()
        figures, told = _Set(folder, name).measure(limit)
        done[name] = {**figures, "minutes": round((time.perf_counter() - start) / 60, 2)}
        _note(f"{name}: {json.dumps({**done[name], **told}, ensure_ascii=False)}")
    return done


class _Set:
    """One retrieval set, alone in its tenant."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        tenant = Tenant.objects.create(name=f"bench {name}")
        self.admin = User.objects.create(
            username=f"bench-{name}", tenant=tenant, is_staff=True, is_superuser=True, clearance=4
        )
        self.scope: Scope = scope_for(self.admin)
        self.corpus, self.queries = rows_of(folder / "corpus.jsonl"), rows_of(folder / "queries.jsonl")
        lines = (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()
        self.relevant: dict[str, set[str]] = {}
        for query, document, *_grade in (line.split("\t") for line in lines):
            self.relevant.setdefault(query, set()).add(document)
        self.seen = first_half(self.corpus)

    def measure(self, limit: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """The figures of the set, and what else there is to tell a person."""
        golden, set_id = self._ingest_half()
        minutes = time.perf_counter()
        fitted = self._fitted(set_id, ["golden"])
        minutes = (time.perf_counter() - minutes) / 60
        made = self._fitted(set_id, list(MADE))
        self._ingest(self.folder)
        asked = self._unseen()[:limit]
        _note(f"{self.name}: {golden} questions of seen documents, {len(asked)} of unseen ones")
        before = self._recall(set_id, asked, PLAIN)
        after = self._recall(set_id, asked, fitted.number) if fitted.is_usable else before
        of_made = self._recall(set_id, asked, made.number) if made.is_usable else before
        ndcg = self._ndcg(set_id, asked, PLAIN)
        ndcg_after = self._ndcg(set_id, asked, fitted.number) if fitted.is_usable else ndcg
        figures = {
            "recall10_before": round(fmean(before), 4),
            "recall10_after": round(fmean(after), 4),
            "misses_removed": _removed(before, after),
            "misses_removed_made_pairs": _removed(before, of_made),
            "hybrid_ndcg_before": round(fmean(ndcg), 4),
            "hybrid_ndcg_after": round(fmean(ndcg_after), 4),
        }
        told = {
            "recall10_gain": paired_interval(after, before).text(signed=True),
            "hybrid_gain": paired_interval(ndcg_after, ndcg).text(signed=True),
            "fit_minutes": round(minutes, 2),
            "states": [fitted.state, made.state],
            "best_rounds": [fitted.best_round, made.best_round],
            "held_out": fitted.figures.get("overall"),
        }
        return figures, told

    # ── documents ───────────────────────────────────────────────────────────────────────────────

    def _ingest_half(self) -> tuple[int, int]:
        """Number of golden cases and the id of the set, with the seen documents and the questions about them alone."""
        asked = [row for row in self.queries if self._of(row) and self._of(row) <= self.seen]
        with tempfile.TemporaryDirectory() as place:
            half = Path(place)
            _write(half / "corpus.jsonl", [row for row in self.corpus if row["id"] in self.seen])
            _write(half / "queries.jsonl", asked)
            pairs = ((str(row["id"]), one) for row in asked for one in sorted(self._of(row)))
            (half / "qrels.tsv").write_text("".join(f"{q}\t{d}\t1\n" for q, d in pairs), encoding="utf-8")
            return len(asked), self._ingest(half)

    def _ingest(self, folder: Path) -> int:
        """Ingest what is not there yet; golden cases stay those of the first time."""
        golden, accepted = benchmark_load(scope=self.scope, actor=self.admin, folder=folder, name=self.name)
        work_off(accepted.job_id)
        indexes_refresh()
        return golden.sets.get().pk

    def _of(self, row: Mapping[str, Any]) -> set[str]:
        return self.relevant.get(str(row["id"]), set())

    def _unseen(self) -> Asked:
        names = lambda row: frozenset(f"{self.name}/{one}" for one in self._of(row))  # noqa: E731
        return [(row["text"], names(row)) for row in self.queries if self._of(row) and not self._of(row) & self.seen]

    # ── fitting and asking ──────────────────────────────────────────────────────────────────────

    def _fitted(self, set_id: int, origins: Sequence[str]) -> QueryAdapter:
        row = training_start(scope=self.scope, actor=self.admin, set_id=set_id, origins=origins)
        job = training_jobs([row], kind=TRAIN_ADAPTER)[row.pk]
        while slice_run(job_id=job.pk):
            pass
        job.refresh_from_db()
        row.refresh_from_db()
        _note(f"{self.name}: {'+'.join(origins)}: {row.state} {error_words(job)} {json.dumps(row.figures)}")
        return row

    def _recall(self, set_id: int, asked: Asked, version: int) -> list[float]:
        return self._each(set_id, asked, version, "vector", recall_at_k)

    def _ndcg(self, set_id: int, asked: Asked, version: int) -> list[float]:
        return self._each(set_id, asked, version, "hybrid", ndcg_at_k)

    def _each(
        self, set_id: int, asked: Asked, version: int, mode: RetrievalMode, figure: Callable[..., float]
    ) -> list[float]:
        found = []
        for question, right in asked:
            request = RetrievalRequest(
                query=question, sets=(set_id,), mode=mode, top_k=10, options={"query_adapter": version}
            )
            candidates = retrieve(scope=self.scope, request=request).state.candidates
            found.append(figure(ranked_documents(candidates, named=right), right, 10))
        return found


def _removed(before: Sequence[float], after: Sequence[float]) -> float:
    """Share of what was missed before that is found now; below 0 where more is missed."""
    missed = 1 - fmean(before)
    return round((fmean(after) - fmean(before)) / missed, 4) if missed > 0 else 0.0


def _write(path: Path, rows: Rows) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
