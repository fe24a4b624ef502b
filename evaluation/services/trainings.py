"""What trainings of every kind do alike: each is a numbered version with a job of its own that learns it.

The version (`knowledge.models.trainings`) has what was learnt; the job says how far it is. What a worker has reached
stands in the version, because it is large and has people's words, and goes with the end of the job.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet

from accounts.selectors import scope_for
from knowledge.models import Document
from knowledge.models.trainings import Training
from ragcore.errors import PermanentError
from ragcore.metrics.comparison import PairedDifference
from ragcore.text.question_pairs import document_group
from work.kinds import Checkpoint, JobKind
from work.models import OPEN, Job
from work.services import job_cancel_now, work_start
from work.versions import version_follow, version_words

RowT = TypeVar("RowT", bound=Training)
State, Reason = Training.State, Training.Reason
STORED_SECONDS = 10.0  # between two checkpoints
clock = time.monotonic


class TrainingWork(ABC, Generic[RowT]):
    """One slice's part of a training."""

    def __init__(self, job: Job, row: RowT) -> None:
        assert job.author is not None
        self.job, self.row, self.author, self.scope = job, row, job.author, scope_for(job.author)
        self.stored_at = self.counted_at = clock()

    @abstractmethod
    def checkpoints(self) -> Iterator[Checkpoint]:
        """Go on from what the version has; the last checkpoint is `finished`. Raises RagError."""

    def is_due(self) -> bool:
        """Whether it is time for another checkpoint; then the time counts anew."""
        if clock() - self.stored_at < STORED_SECONDS:
            return False
        self.stored_at = clock()
        return True

    def checkpoint(
        self,
        data: Mapping[str, Any],
        *,
        figures: Mapping[str, Any] | None = None,
        values: Mapping[str, Any],
        **more: Any,
    ) -> Checkpoint:
        """What was reached. `values`: columns of the version; `figures`: of the job, which counts its seconds, too."""
        now = clock()
        seconds = self.job.figures.get("seconds", 0.0) + now - self.counted_at
        self.counted_at = now
        write = partial(_write, self.row, values)
        return Checkpoint(data=data, figures={**(figures or {}), "seconds": seconds}, write=write, **more)

    def finished(self, *, is_gain: bool, place: int | None = None, **values: Any) -> Checkpoint:
        """What came of it."""
        outcome = {"state": State.READY} if is_gain else {"state": State.DROPPED, "reason": Reason.NO_GAIN}
        return self.checkpoint({}, values={**values, **self.row.EMPTIED, **outcome}, done=place, is_last=True)


def _write(row: Training, values: Mapping[str, Any]) -> None:
    type(row)._default_manager.filter(pk=row.pk).update(**values)


class TrainingKind(JobKind, Generic[RowT]):
    """A kind of training. Others of the queue come between two slices."""

    queue = "diagnosis"
    counts_loading = False  # what is read before the first checkpoint is read again in the next slice
    needs_author = True
    model: ClassVar[type[Training]]
    version_kind: ClassVar[str]
    work: ClassVar[type[TrainingWork[Any]]]

    def run(self, job: Job) -> Iterator[Checkpoint]:
        row = self._rows(job).filter(state=State.BUILDING).first()
        if row is not None:
            yield from self.work(job, row).checkpoints()

    def state_changed(self, job: Job) -> None:
        version_follow(self._rows(job), job, **self.model.EMPTIED)

    def subject_words(self, job: Job) -> str:
        row = self._rows(job).first()
        return version_words(self.version_kind, row) if row is not None else ""

    def _rows(self, job: Job) -> QuerySet[Any]:
        return self.model._default_manager.filter(pk=job.arguments["version_id"])


@transaction.atomic
def training_create(rows: QuerySet[RowT], *, kind: str, error: PermanentError, **values: Any) -> RowT:
    """The next version of these, with its job. Raises `error` where one is being trained already."""
    number = (rows.order_by().aggregate(last=Max("number"))["last"] or 0) + 1
    try:
        with transaction.atomic():
            row = rows.model._default_manager.create(number=number, **values)
    except IntegrityError as problem:  # of two at the same moment one gets here
        raise error from problem
    arguments = {"version_id": row.pk}
    work_start(
        kind=kind, tenant_id=row.tenant_id, author=row.author, subject=training_subject(row), arguments=arguments
    )
    return row


def training_end(row: Training, *, kind: str) -> bool:
    """Cancel; what it has learned is thrown away. False where it is over."""
    job = training_jobs([row], kind=kind).get(row.pk)
    return job is not None and job.state in OPEN and job_cancel_now(job)


def training_jobs(rows: Sequence[Training], *, kind: str) -> dict[int, Job]:
    """Id of a version → its latest job. Callers check rights."""
    tenants, subjects = {row.tenant_id for row in rows}, [training_subject(row) for row in rows]
    jobs = Job.objects.filter(tenant_id__in=tenants, kind=kind, subject__in=subjects)
    return {job.arguments["version_id"]: job for job in jobs.order_by("pk")}


def training_subject(row: Training) -> str:
    return f"version:{row.pk}"


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
