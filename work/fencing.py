"""Fencing: what a worker writes on a row counts only while the row is still that of its claim.

Every claim counts in the column that the model names as `FENCE`. A worker that has lost its row still has the old
number, so that its writing changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.db import models, transaction
from django.db.models import F, Q, QuerySet

from work.errors import JobLostError
from work.models import Job, State

Row = TypeVar("Row", bound=models.Model)


@transaction.atomic
def claim(rows: QuerySet[Row], *, pk: int, **values: Any) -> Row | None:
    """Claim a row and write `values` on it; it is read anew. None where it is not among `rows`, which are free."""
    fence = fence_of(rows.model)
    if not rows.filter(pk=pk).update(**{fence: F(fence) + 1}, **values):
        return None
    return rows.model._default_manager.get(pk=pk)


def fenced(row: Row) -> QuerySet[Row]:
    """The row, as long as nobody has claimed it since it was read; else nothing."""
    return fenced_rows(type(row), [row])


def fenced_rows(model: type[Row], rows: Sequence[Row]) -> QuerySet[Row]:
    """Those of the rows that nobody has claimed since they were read."""
    fence = fence_of(model)
    conditions = (Q(pk=row.pk, **{fence: getattr(row, fence)}) for row in rows)
    return model._default_manager.filter(reduce(or_, conditions, Q(pk__in=())))


def fence_of(model: type[models.Model]) -> str:
    """The column whose value changes with every claim."""
    return str(model.FENCE)  # type: ignore[attr-defined]


def job_held(job: Job) -> QuerySet[Job]:
    """The row of the job, as long as nobody has claimed, paused or cancelled it since; else nothing."""
    return fenced(job).filter(state=State.RUNNING)


@contextmanager
def job_writing(job: Job) -> Iterator[None]:
    """A transaction in which nobody else can claim the job.

    Raises JobLostError, before anything is written, where somebody already has.
    """
    with transaction.atomic():
        if job_held(job).select_for_update(no_key=True).first() is None:
            raise JobLostError
        yield
