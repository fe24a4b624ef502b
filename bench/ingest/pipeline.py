"""Parts b and f: the whole pipeline with the workers of production, and how much memory they take."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Exists, OuterRef

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.ingest.texts import Text
from bench.process_figures import family_of, resident_bytes
from knowledge.models import Document, DocumentVersion, IndexEntry, IngestItem, KnowledgeSet, SketchBand
from knowledge.selectors.options import pipeline_options
from knowledge.services import document_upload, documents_bulk
from knowledge.services.ingestion.chunk_and_represent import item_represent
from knowledge.services.ingestion.item_state import ItemLease
from knowledge.services.ingestion.parse_and_ocr import item_read
from ragsite.embedded.data_dir import MODEL_SOCKET_NAME
from ragsite.embedded.processes import Process, wait_until
from ragsite.embedded.programs import Program, model_program, programs
from ragsite.env import Environment, read_environment

END_SECONDS = 1800
ALL_REPRESENTATIONS = {"representations": {"summaries": True, "questions": True}}
SAMPLE_SECONDS = 0.2


@contextmanager
def workers() -> Iterator[list[Process]]:
    """The workers that `make run` starts and the process of models, against the services of this benchmark."""
    env = read_environment()
    served = {"MODEL_SOCKET": str(env.DATA_DIR / MODEL_SOCKET_NAME), "LOG_LEVEL": "INFO"}
    wanted = [model_program(), *_worker_programs(env)]
    started = [replace(each, environment={**each.environment, **served}).process(env) for each in wanted]
    try:
        for process in started:
            process.start()
        yield started
    finally:
        for process in reversed(started):
            process.stop(seconds=10)


def models_loaded() -> int:
    """How often the process of models has loaded one; it tells its log."""
    log = read_environment().DATA_DIR / "logs" / f"{model_program().name}.log"
    return log.read_text(encoding="utf-8").count(" was loaded in ")


def ingestion_program() -> Program:
    """The worker that embeds: its priority and its environment."""
    return next(program for program in _worker_programs(read_environment()) if program.name == "worker")


def _worker_programs(env: Environment) -> list[Program]:
    return [program for program in programs(env) if "worker" in program.arguments]


@dataclass(frozen=True, slots=True)
class Desk:
    """Who loads, and into which set."""

    scope: Scope
    actor: User
    set_id: int

    @classmethod
    def made(cls, name: str, options: Mapping[str, Any]) -> Desk:
        actor = User.objects.get(username="admin")
        made = KnowledgeSet.objects.create(tenant=actor.tenant, code=name, name=name, options=dict(options))
        made.owners.add(actor)
        return cls(scope_for(actor), actor, made.pk)

    def load(self, texts: Sequence[Text], prefix: str) -> int:
        """Hand the texts over as one load; returns its job."""
        rows = (
            {"external_id": f"{prefix}-{number}", "title": one.title, "text": one.text, "sets": [self.set_id]}
            for number, one in enumerate(texts)
        )
        done = documents_bulk(scope=self.scope, actor=self.actor, lines=(json.dumps(row).encode() for row in rows))
        if done.rejected:
            raise RuntimeError(f"lines were refused: {done.rejected[:3]}")
        return done.job_id


@dataclass(frozen=True, slots=True)
class Run:
    """One load until everything could be found."""

    job_id: int
    documents: int
    entries: int
    seconds: float

    @property
    def entries_per_second(self) -> float:
        return self.entries / self.seconds


def pipeline_run(desk: Desk, texts: Sequence[Text], prefix: str) -> Run:
    """From handing over to the last entry that can be found; the workers must be running."""
    start = time.perf_counter()
    job_id = desk.load(texts, prefix)
    _wait_for(job_id)
    seconds = time.perf_counter() - start
    live = Document.objects.filter(external_id__startswith=f"{prefix}-", state=Document.State.LIVE)
    if live.count() != len(texts):
        raise RuntimeError(f"{len(texts) - live.count()} of {len(texts)} documents did not get live")
    entries = IndexEntry.objects.filter(version__live_for__in=live).count()
    return Run(job_id=job_id, documents=len(texts), entries=entries, seconds=seconds)


def _wait_for(job_id: int) -> None:
    items = IngestItem.objects.filter(job_id=job_id, finished=None)
    if not wait_until(lambda: not items.exists(), seconds=END_SECONDS):
        raise RuntimeError(f"the job was not over after {END_SECONDS} s")


def texts_embedded(run: Run) -> list[str]:
    """Exactly what the pipeline handed to the embedder in a run: its documents are read and described once more."""
    items = list(IngestItem.objects.filter(job_id=run.job_id).select_related("version__document__source"))
    options = pipeline_options(documents=[item.version.document for item in items])
    described = [
        item_represent(item_read(item, options[item.version.document_id], ItemLease([item])), ItemLease([item]))
        for item in items
    ]
    return [representation.embedded_text for one in described for representation in one.representations]


def wait_for_quiet() -> None:
    """Until the workers have compared everything that went live: what is measured next shall not share the cores."""
    compared = SketchBand.objects.filter(version=OuterRef("pk"))
    waiting = DocumentVersion.objects.filter(~Exists(compared), live_for__isnull=False).exclude(sketch=None)
    if not wait_until(lambda: not waiting.exists(), seconds=END_SECONDS):
        raise RuntimeError(f"the workers were still at it after {END_SECONDS} s")


# ── memory ──────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Memory:
    """The largest sum of memory of some processes and all below them, in bytes, while the context lasts."""

    pids: Sequence[int]
    peak_bytes: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Memory:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self.peak_bytes = max(self.peak_bytes, sum(map(resident_bytes, family_of(self.pids))))


def memory_of_pdf(desk: Desk, content: bytes, processes: Sequence[Process]) -> tuple[int, float]:
    """Peak bytes of the workers while one PDF goes through, and the seconds that it takes."""
    with Memory([process.pid for process in processes if process.pid]) as memory:
        start = time.perf_counter()
        done = document_upload(
            scope=desk.scope, actor=desk.actor, sets=[desk.set_id], name="large.pdf", content=content
        )
        if done.job is None:
            raise RuntimeError("the PDF is already there")
        _wait_for(done.job.pk)
        seconds = time.perf_counter() - start
    item = IngestItem.objects.get(job=done.job)
    if item.stage != IngestItem.Stage.LIVE:
        raise RuntimeError(f"the PDF did not get live: {item.error_code} {item.error_message}")
    return memory.peak_bytes, seconds
