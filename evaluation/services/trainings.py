"""What trainings of every kind do alike: one worker holds each by a lease that it renews, and a lost one is resumed.

The row is the truth (`knowledge.models.trainings`). What is trained, and how, is a `TrainingWork` of its own. It stores
checkpoints and is trained in slices: after each the worker takes up what else waits, and another call goes on.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeVar

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import F, Max, QuerySet
from django.utils import timezone

from accounts.selectors import scope_for
from evaluation.queue import FIT_RERANKER, QUEUES, TRAIN_ADAPTER
from evaluation.services.worker_calls import is_free
from knowledge.models import Document, QueryAdapter, RerankerFit
from knowledge.models.trainings import Training
from knowledge.queue import enqueue_on_commit
from knowledge.services.fencing import claim, fenced
from ragcore.errors import PermanentError, RagError, TransientError
from ragcore.metrics.comparison import PairedDifference
from ragcore.text.question_pairs import document_group
from work.faults import known_fault

logger = logging.getLogger(__name__)

RowT = TypeVar("RowT", bound=Training)
State = Training.State
LEASE = timedelta(minutes=3)
STORED_SECONDS = 10.0  # between two notes of progress
SLICE_SECONDS = 60.0  # from one checkpoint to the one at which the worker ends
MOST_STARTS = 6  # without an end; those that ended by themselves do not count
# Task → what it trains in slices, and the name by which it is called with one of them.
SLICED: Mapping[str, tuple[type[Training], str]] = {
    TRAIN_ADAPTER: (QueryAdapter, "adapter_id"),
    FIT_RERANKER: (RerankerFit, "fit_id"),
}


class StoppedError(Exception):
    """The training was cancelled, or another worker has it."""


class SliceOverError(Exception):
    """The worker has trained for its time, and what it has learned is stored."""


class TrainingWork(ABC, Generic[RowT]):
    """One worker's part of a training."""

    error: ClassVar[type[PermanentError]]  # of its kind, with the reasons "lost" and "internal"

    def __init__(self, row: RowT) -> None:
        if row.author is None or not row.author.is_active:
            raise self.error("lost")
        self.row, self.author, self.scope = row, row.author, scope_for(row.author)
        self.begun = self.stored_at = time.monotonic()
        self.slice_begun: float | None = None
        self.worked = row.seconds

    @abstractmethod
    def run(self) -> None:
        """Train to the end. Raises StoppedError, RagError."""

    def alive(self, **values: Any) -> None:
        """Renew the lease and write progress; a checkpoint may end the slice.

        Raises StoppedError where the training was cancelled meanwhile, or another worker took it up: the lease of this
        one had lapsed, and both would write.
        """
        seconds = self.worked + time.monotonic() - self.begun
        if not _held(self.row).update(leased_until=timezone.now() + LEASE, seconds=seconds, **values):
            raise StoppedError
        if "checkpoint" in values:
            self._end_slice()

    def _end_slice(self) -> None:
        """Raises SliceOverError once enough time has passed since the first checkpoint: what was loaded to get there is
        loaded again by the next worker.
        """
        now = time.monotonic()
        if self.slice_begun is None:
            self.slice_begun = now
        elif now - self.slice_begun >= SLICE_SECONDS:
            raise SliceOverError

    def is_due(self) -> bool:
        """Whether progress is to be stored again; then the time counts anew."""
        if time.monotonic() - self.stored_at < STORED_SECONDS:
            return False
        self.stored_at = time.monotonic()
        return True

    def finish(self, **values: Any) -> None:
        """Store what came of it. Raises StoppedError as `alive` does."""
        self.alive()
        if not _held(self.row).update(finished=timezone.now(), **values, **self.row.EMPTIED):
            raise StoppedError


def training_create(rows: QuerySet[RowT], *, error: PermanentError, **values: Any) -> RowT:
    """The next one of these rows, queued. Raises `error` where one is under way already."""
    number = (rows.order_by().aggregate(last=Max("number"))["last"] or 0) + 1
    try:
        with transaction.atomic():
            return rows.model._default_manager.create(number=number, **values)
    except IntegrityError as problem:  # of two at the same moment one gets here
        raise error from problem


def training_end(row: Training) -> bool:
    """Cancel; what it has learned is thrown away. False where it is over."""
    open_ones = type(row)._default_manager.filter(pk=row.pk, state__in=Training.OPEN)
    return open_ones.update(state=State.CANCELLED, finished=timezone.now(), **row.EMPTIED) > 0


def training_work(
    rows: QuerySet[RowT], *, pk: int, work: Callable[[RowT], TrainingWork[RowT]], error: type[PermanentError]
) -> bool:
    """Train one of these rows to the end, or to that of a slice, after which a worker is called to the rest.

    False where another worker has it, or it is over.
    """
    free = rows.filter(is_free(), state__in=Training.OPEN)
    row = claim(free, pk=pk, state=State.TRAINING, leased_until=timezone.now() + LEASE)
    if row is None:
        return False
    try:
        if row.starts - row.slices > MOST_STARTS:
            raise error("lost")
        work(row).run()
    except StoppedError:
        return True
    except SliceOverError:
        _give_back(row)
    except Exception as problem:
        known = known_fault(problem)
        if isinstance(known, TransientError) or isinstance(problem, DatabaseError):
            logger.exception("a training is broken off; another worker goes on with it")
        else:
            logger.log(logging.ERROR if known is None else logging.INFO, "a training failed", exc_info=problem)
            _fail(row, known or error("internal"))
    return True


@transaction.atomic
def _give_back(row: RowT) -> None:
    """Another worker may take it up, and is called; nothing where it was cancelled meanwhile."""
    task, name = next((task, name) for task, (kind, name) in SLICED.items() if isinstance(row, kind))
    if _held(row).update(leased_until=None, slices=F("slices") + 1):
        worker_call(task, **{name: row.pk})


def _held(row: RowT) -> QuerySet[RowT]:
    """The row while it is trained by the worker that read it: every start has a number of its own."""
    return fenced(row).filter(state=State.TRAINING)


def _fail(row: Training, error: RagError) -> None:
    _held(row).update(
        state=State.FAILED,
        error_code=error.code,
        error_message=error.message[:512],
        error_data=error.message_data(),
        finished=timezone.now(),
        **row.EMPTIED,
    )


def trainings_lost(rows: QuerySet[Any]) -> list[int]:
    """Ids of those that nobody holds and that are not over."""
    return list(rows.filter(is_free(), state__in=Training.OPEN).values_list("pk", flat=True))


def worker_call(task: str, **ids: int) -> None:
    """Call a worker as soon as the row is stored.

    A call to what is trained in slices says after how many starts it was made: while a training waits for a worker it
    is called again every minute, and all of these calls together begin one slice (`worker_calls.call_stands`).
    """
    if task in SLICED:
        kind, name = SLICED[task]
        rows = kind._default_manager.filter(pk=ids[name])
        ids["starts"] = rows.values_list("starts", flat=True).get()
    enqueue_on_commit(task, queue=QUEUES[task], **ids)


# ── judging ──────────────────────────────────────────────────────────────────────────────────────


def difference_shown(one: PairedDifference) -> dict[str, float]:
    """As a row keeps it."""
    return {
        "before": round(one.first, 4),
        "after": round(one.second, 4),
        "difference": round(one.difference, 4),
        "low": round(one.low, 4),
        "high": round(one.high, 4),
    }


def groups_of(documents: Iterable[int]) -> dict[int, Hashable]:
    """Document → what it is split by."""
    titles = Document.objects.filter(pk__in=set(documents)).values_list("pk", "title")
    return {pk: document_group(title, pk) for pk, title in titles}
