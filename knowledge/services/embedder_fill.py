"""Making the vectors of another embedding model in the background, beside questions and ingestion (decision 031).

One worker at a time goes through the entries that have no vector of a model: of the one in use first, then of the one
on its way, then of the former one, so that going back stays one transaction. What is done is in the index itself, so a
worker that is killed loses the batch at hand, and whoever comes next goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import Error as DatabaseFailure
from django.db import transaction
from django.utils import timezone

from knowledge.embedder_fit import new_vectors_check
from knowledge.errors import error_columns
from knowledge.faults import failure_columns
from knowledge.indexes.embedder_fill import TextWithout, missing_count, newest_entry, texts_without, vectors_fill
from knowledge.indexes.statements import embedder_fill_try_lock
from knowledge.model_registry import embedder_of
from knowledge.model_setup import hosts_allowed, setup_now, setup_refresh
from knowledge.models import EmbedderSwitch
from knowledge.queue import FILL_VECTORS, enqueue_on_commit
from knowledge.search_model_setup import SearchModelSpec, spec_of
from knowledge.services.embedder_calibration import switch_calibrate
from knowledge.services.model_slots import model_slot
from knowledge.services.representations import indexed_text
from knowledge.services.triples import vectors_make
from ragcore.errors import RagError
from ragcore.ports import Embedder, FloatArray
from ragcore.representations.derived_texts import without_picture_links

logger = logging.getLogger(__name__)

State = EmbedderSwitch.State
SLICE_SECONDS = 45.0  # of work; then other tasks of the queue have their turn
BATCH = 64  # entries a transaction
LOOKED_BACK = 10_000  # ids below the newest one whose entry may be committed later than that
LOOKED_SECONDS = 6 * 3600.0  # after which a process looks at all entries again
FEW = 256  # entries that the switch itself makes vectors of, while writers wait


_complete: dict[str, tuple[int, float]] = {}  # model -> entry up to which all have a vector, and when all were read


class StoppedError(Exception):
    """Somebody has paused or cancelled, or the time is over. Nothing failed."""


@dataclass(frozen=True, slots=True)
class FillTask:
    """A model of which entries want vectors."""

    spec: SearchModelSpec
    switch: EmbedderSwitch | None  # None: the model in use, where nobody has switched
    is_live: bool


def vectors_tend(*, seconds: float = SLICE_SECONDS) -> int:
    """Make vectors for so long; returns how many. Nothing if another worker does it. Call outside of transactions.

    A model that fails in any way is noted at its row, and the others go on.
    """
    setup_refresh(now=True)
    with embedder_fill_try_lock() as alone:
        if not alone:
            return 0
        until, count, is_over = time.monotonic() + seconds, 0, True
        for task in fill_tasks():
            try:
                count += _tend(task, until=until)
            except StoppedError:
                is_over = False
            except DatabaseFailure:
                raise
            except Exception as error:  # of one model, or of the library or server behind it
                is_known = isinstance(error, RagError)
                logger.warning("vectors of %s are not made: %s", task.spec.client, error, exc_info=not is_known)
                _note(task, **failure_columns(error))
    if not is_over and time.monotonic() >= until:
        enqueue_on_commit(FILL_VECTORS)
    return count


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


def _tend(task: FillTask, *, until: float) -> int:
    """Vectors of all entries without one, and of all facts; the switch is ready then. Raises StoppedError."""
    embedder = embedder_of(task.spec)
    row = task.switch
    if row is not None and row.model != embedder.model:
        return 0  # what the environment names is another model by now
    after, looked = _complete.get(embedder.model, (0, float("-inf")))
    if time.monotonic() - looked > LOOKED_SECONDS or (row is not None and row.state == State.BUILDING):
        after, looked = 0, time.monotonic()
    newest = newest_entry()
    alive = partial(_alive, task, until)
    count = entries_fill(embedder, task.spec, is_live=task.is_live, alive=alive, after=after)
    _complete[embedder.model] = (max(newest - LOOKED_BACK, 0), looked)
    after = 0
    while not task.is_live and (after := vectors_make(after=after, embedder=embedder)):  # else `triples_tend` does it
        _alive(task, until, 0)
    if row is not None and row.state == State.BUILDING:
        _ready(row, task.spec)
    return count


def entries_fill(
    embedder: Embedder,
    spec: SearchModelSpec,
    *,
    is_live: bool = False,
    alive: Callable[[int], None],
    most: int = 0,
    after: int = 0,
) -> int:
    """Vectors of entries above the id `after` that have none, of `most` at most.

    `alive` is told of each batch and may end the work. Raises StoppedError where a model that is not in use
    (`is_live`) is wanted no more.
    """
    total = 0
    while rows := texts_without(model=embedder.model, after=after, limit=BATCH):
        vectors = texts_embed([entry_text(row) for row in rows], embedder, spec, lambda: alive(0))
        ids = [row.entry for row in rows]
        switches = EmbedderSwitch.objects.filter(model=embedder.model, state__in=EmbedderSwitch.FILLED)
        with transaction.atomic():
            if not is_live and not switches.select_for_update(no_key=True).exists():
                raise StoppedError  # whoever cancels deletes what was stored before
            count = vectors_fill(model=embedder.model, ids=ids, vectors=vectors, is_live=is_live)
        total, after = total + count, ids[-1]
        alive(count)
        if most and total >= most:
            break
    return total


def texts_embed(
    texts: Sequence[str], embedder: Embedder, spec: SearchModelSpec, alive: Callable[[], None]
) -> FloatArray:
    """float32[n, 768] of what `entry_text` gives; waits for a turn at a server, and calls `alive` meanwhile.

    Raises EmbedderRefusedError where they could not be compared with those that are stored.
    """
    with model_slot("embedding", alive=alive) if spec.is_remote else nullcontext():
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


# ── progress ────────────────────────────────────────────────────────────────────────────────────


def _alive(task: FillTask, until: float, count: int) -> None:
    """Write progress. Raises StoppedError where somebody has stopped the work, or its time is over."""
    row = task.switch
    if row is not None and count:
        row.done += count
        _note(task, done=row.done, heartbeat=timezone.now(), **error_columns(None))
    if row is not None and not EmbedderSwitch.objects.filter(pk=row.pk, state__in=EmbedderSwitch.FILLED).exists():
        raise StoppedError
    if time.monotonic() >= until:
        raise StoppedError


def _note(task: FillTask, **values: Any) -> None:
    if task.switch is not None:
        EmbedderSwitch.objects.filter(pk=task.switch.pk).update(**values)


def _ready(row: EmbedderSwitch, spec: SearchModelSpec) -> None:
    """Everything has a vector: it can be switched on."""
    missing, total = missing_count(model=row.model)
    figures = {**row.figures, "calibration": switch_calibrate(spec=spec)}
    values = {"done": total - missing, "total": total, "figures": figures}
    EmbedderSwitch.objects.filter(pk=row.pk, state=State.BUILDING).update(state=State.READY, **values)
