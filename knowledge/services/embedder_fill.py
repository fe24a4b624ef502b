"""Vectors of another embedding model for passages that exist: which models need them, and one batch of them.

`knowledge/jobs/embed_site.py` makes them in the background, beside questions and ingestion (decision 031): of the model
in use, of the one on its way, and of the former one, so that going back stays one transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db import transaction

from knowledge.embedder_fit import new_vectors_check
from knowledge.indexes.embedder_fill import TextWithout, texts_without, vectors_fill
from knowledge.model_setup import hosts_allowed, setup_now, setup_refresh
from knowledge.models import EmbedderSwitch
from knowledge.queue import SWEEP_VECTORS, enqueue_on_commit, switch_subject
from knowledge.search_model_setup import SearchModelSpec, spec_of
from knowledge.services.fill_jobs import site_work
from knowledge.services.model_slots import model_slot
from knowledge.services.representations import indexed_text
from ragcore.ports import Embedder, FloatArray
from ragcore.representations.derived_texts import without_picture_links
from work.kinds import DueWork
from work.models import Job

State = EmbedderSwitch.State
BATCH = 64  # entries a transaction
LOOKED_BACK = 10_000  # ids below the newest one whose entry may be committed later than that
LOOKED_SECONDS = 6 * 3600.0  # after which all entries are looked at again
FEW = 256  # entries that the switch itself makes vectors of, while writers wait


@dataclass(frozen=True, slots=True)
class FillTask:
    """A model of which entries need vectors."""

    spec: SearchModelSpec
    switch: EmbedderSwitch | None  # None: the model in use, where nobody has switched
    is_live: bool

    @property
    def subject(self) -> str:
        """How jobs name it."""
        return switch_subject(self.switch.pk) if self.switch is not None else ""

    def names(self, model: str) -> bool:
        """Whether vectors of this model are needed; what the environment names may be another model by now."""
        return self.switch is None or self.switch.model == model

    @property
    def building(self) -> EmbedderSwitch | None:
        """The switch, where it becomes ready with these vectors."""
        return self.switch if self.switch is not None and self.switch.state == State.BUILDING else None


def fill_tasks() -> list[FillTask]:
    """The model in use, the one on its way, the former one."""
    hosts, setup = hosts_allowed(), setup_now()
    rows = {row.state: row for row in EmbedderSwitch.objects.filter(state__in=EmbedderSwitch.FILLED)}
    live = None if setup.embedder.is_locked else rows.get(State.LIVE)  # else its row is of another model
    tasks = [FillTask(setup.embedder, live, True)]
    for state in (State.BUILDING, State.READY, State.KEPT):
        row = rows.get(state)
        if row is not None:
            tasks.append(FillTask(spec_of(row.target, hosts), row, False))
    return tasks


def fill_task(*, subject: str) -> FillTask | None:
    """The one that a job names; None where its vectors are needed no more."""
    return next((task for task in fill_tasks() if task.subject == subject), None)


def site_due() -> list[DueWork]:
    """One job for each of them."""
    setup_refresh(now=True)
    return site_work([task.subject for task in fill_tasks()])


def is_model_needed(model: str, *, is_live: bool) -> bool:
    """Whether vectors of a model are to be stored; locks its rows until the transaction ends.

    Whoever gives a model up deletes what was stored before.
    """
    switches = EmbedderSwitch.objects.filter(model=model, state__in=EmbedderSwitch.FILLED)
    return is_live or switches.select_for_update(no_key=True).exists()


def few_fill(embedder: Embedder, spec: SearchModelSpec) -> bool:
    """Make about FEW vectors of entries that have none; False where the model is needed no more."""
    after = total = 0
    while total < FEW and (rows := texts_without(model=embedder.model, after=after, limit=BATCH)):
        vectors, ids = texts_embed([entry_text(row) for row in rows], embedder, spec), [row.entry for row in rows]
        with transaction.atomic():
            if not is_model_needed(embedder.model, is_live=False):
                return False
            vectors_fill(model=embedder.model, ids=ids, vectors=vectors)
        after, total = ids[-1], total + len(ids)
    return True


def texts_embed(texts: Sequence[str], embedder: Embedder, spec: SearchModelSpec) -> FloatArray:
    """float32[n, 768] of what `entry_text` gives; waits for a turn at a server.

    Raises EmbedderRefusedError where they could not be compared with those that are stored.
    """
    with model_slot("embedding", alive=lambda: None) if spec.is_remote else nullcontext():
        vectors = embedder.embed_documents(texts)
        new_vectors_check(embedder)
    return vectors


def entry_text(row: TextWithout) -> str:
    """What an embedder reads of an entry."""
    if row.stored is not None:
        return row.stored
    if row.words is not None:  # an earlier version has not kept the text
        return " ".join([row.title, *row.words])
    return indexed_text(title=row.title, heading_path=row.heading_path, text=without_picture_links(row.passage))


# ── the place of a job ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Up to where a job has looked for rows without a vector of `space`, by their ids.

    A job that has looked at all rows begins anew with those that came since; every LOOKED_SECONDS with all.
    """

    space: str  # whose vectors they are
    after: int
    looked: float  # when it began with all, in seconds since 1970
    newest: int  # row when it began
    step: int

    @classmethod
    def of(cls, job: Job, *, space: str, newest: Callable[[], int], is_whole: bool = False, step: int = 0) -> Place:
        """Where a job goes on, or begins: with all rows if it `is_whole`, at a step of its kind."""
        before = job.checkpoint if job.checkpoint.get("space") == space else {}
        if "after" in before:
            return cls(**before)
        now, looked = time.time(), before.get("looked", 0.0)
        if is_whole or now - looked > LOOKED_SECONDS:
            return cls(space=space, after=0, looked=now, newest=newest(), step=step)
        return cls(space=space, after=before["complete"], looked=looked, newest=newest(), step=step)

    def moved(self, *, after: int, step: int | None = None) -> Place:
        return replace(self, after=after, step=self.step if step is None else step)

    def data(self) -> Mapping[str, Any]:
        """Of a checkpoint, from which the job goes on."""
        return asdict(self)

    def end(self) -> Mapping[str, Any]:
        """Of the last checkpoint: from where the next job begins."""
        complete = max(self.newest - LOOKED_BACK, 0)
        return {"space": self.space, "looked": self.looked, "complete": complete}


# ── the switch of a job ─────────────────────────────────────────────────────────────────────────


def switch_of(*, subject: str) -> EmbedderSwitch | None:
    """The switch that a job names; None where it is about the model of a site that has never switched."""
    return EmbedderSwitch.objects.filter(pk=subject.removeprefix(switch_subject(""))).first() if subject else None


def switch_ready(*, switch: EmbedderSwitch, calibration: Mapping[str, Any]) -> None:
    """Every entry has a vector: the switch can be finished."""
    figures = {**switch.figures, "calibration": calibration}
    EmbedderSwitch.objects.filter(pk=switch.pk, state=State.BUILDING).update(state=State.READY, figures=figures)


def switch_follow(*, subject: str, state: str) -> None:
    """A person has paused, resumed or cancelled the job of a switch: one that is on its way follows."""
    row = switch_of(subject=subject)
    if row is None or row.state not in (State.BUILDING, State.PAUSED):
        return
    states = {Job.State.PAUSED: State.PAUSED, Job.State.QUEUED: State.BUILDING, Job.State.CANCELLED: State.CANCELLED}
    if state in states:
        EmbedderSwitch.objects.filter(pk=row.pk, state=row.state).update(state=states[Job.State(state)])
    if state == Job.State.CANCELLED:
        enqueue_on_commit(SWEEP_VECTORS, model=row.model)
