"""Makes the vectors that passages and facts of the site lack of an embedding model (decision 031)."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import partial

from django.utils.translation import gettext_lazy as _

from knowledge.indexes.embedder_fill import missing_count, newest_entry, texts_without, vectors_fill
from knowledge.model_registry import embedder_of
from knowledge.model_setup import setup_refresh
from knowledge.queue import FILL_VECTORS
from knowledge.services import embedder_fill
from knowledge.services.embedder_calibration import switch_calibrate
from knowledge.services.embedder_fill import (
    Place,
    entry_text,
    fill_task,
    is_model_needed,
    site_due,
    switch_follow,
    switch_of,
    switch_ready,
    texts_embed,
)
from knowledge.services.triples import fact_vectors_embed
from ragcore.ports import Embedder, FloatArray
from work.kinds import Checkpoint, DueWork, JobKind, job_kind
from work.models import Job

FIRST, AGAIN, FACTS = range(3)  # steps: all entries, those that came meanwhile, facts


@job_kind
class EmbedSite(JobKind):
    """One model: the one in use, the one on its way into use, or the former one.

    The job of a switch ends when the switch is ready. Then it begins anew each minute with the entries that are new,
    and every few hours with all, as the jobs of the other models do.
    """

    name = FILL_VECTORS
    label = _("Vectors of an embedding model of the site")
    queue = "nightly"
    slice_seconds = 45.0
    longest_retry_seconds = 300.0
    ends_with_author = False

    def due(self) -> list[DueWork]:
        return site_due()

    def run(self, job: Job) -> Iterator[Checkpoint]:
        setup_refresh(now=True)
        task = fill_task(subject=job.subject)
        if task is None:
            return
        embedder, building = embedder_of(task.spec), task.building
        if not task.names(embedder.model):
            return
        is_building = building is not None
        step = FIRST if is_building else AGAIN
        place = Place.of(job, space=embedder.model, newest=newest_entry, is_whole=is_building, step=step)
        if is_building and not job.total:
            missing, total = missing_count(model=embedder.model)
            yield Checkpoint(data=place.data(), done=total - missing, total=total)
        place = yield from _entries(job, embedder, place)
        if not task.is_live:  # else the reading of facts makes them
            place = yield from _facts(job, embedder, place)
        if fill_task(subject=job.subject) is None:
            return
        if building is None:
            yield Checkpoint(data=place.end(), is_last=True)
            return
        ready = partial(switch_ready, switch=building, calibration=switch_calibrate(spec=task.spec))
        missing, total = missing_count(model=embedder.model)
        yield Checkpoint(data=place.end(), done=total - missing, total=total, write=ready, is_last=True)

    def state_changed(self, job: Job) -> None:
        switch_follow(subject=job.subject, state=job.state)

    def subject_words(self, job: Job) -> str:
        """The name of the vectors; "" where the site has never changed its model."""
        row = switch_of(subject=job.subject)
        return row.model if row is not None else ""


def _entries(job: Job, embedder: Embedder, place: Place) -> Generator[Checkpoint, None, Place]:
    """Vectors of the entries; gives the place of the facts."""
    while place.step < FACTS:
        rows = texts_without(model=embedder.model, after=place.after, limit=embedder_fill.BATCH)
        task = fill_task(subject=job.subject)  # it may have come into use, or been given up
        if task is None:
            break
        if not rows:
            place = place.moved(after=0, step=place.step + 1)
            continue
        vectors, ids = texts_embed([entry_text(row) for row in rows], embedder, task.spec), [row.entry for row in rows]
        place = place.moved(after=ids[-1])
        write = partial(_store, embedder.model, ids, vectors, is_live=task.is_live)
        yield Checkpoint(data=place.data(), done=min(job.done + len(ids), job.total), write=write)
    return place


def _facts(job: Job, embedder: Embedder, place: Place) -> Generator[Checkpoint, None, Place]:
    while fill_task(subject=job.subject) is not None:
        facts = fact_vectors_embed(after=place.after, embedder=embedder)
        if facts is None:
            break
        place = place.moved(after=facts.last)
        yield Checkpoint(data=place.data(), write=facts.store)
    return place


def _store(model: str, ids: Sequence[int], vectors: FloatArray, *, is_live: bool) -> None:
    if is_model_needed(model, is_live=is_live):
        vectors_fill(model=model, ids=ids, vectors=vectors, is_live=is_live)
