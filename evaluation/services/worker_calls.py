"""Runs that workers hold by a lease, a slice at a time, and the calls to the next worker.

A run that waits for the worker that was called is not lost: calling another one each minute would put ever more tasks
of one run into the queue, and all others would wait for them. `called` says when the last call was made; a worker that
takes the run clears it. Where calls have piled up all the same, behind a long task, one of them begins a slice: each
says how often the run had been taken when it was made.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from evaluation.queue import QUEUES
from knowledge.queue import enqueue_on_commit

CALL_LASTS = timedelta(minutes=5)  # a call that no worker has heard by then was lost with its broker


def worker_call(run: Any, task: str) -> None:
    """Call a worker to an EvaluationRun, once the transaction is committed."""
    rows = type(run).objects.filter(pk=run.pk)
    rows.update(called=timezone.now())
    takes = rows.values_list("takes", flat=True).get()
    enqueue_on_commit(task, queue=QUEUES[task], run_id=run.pk, takes=takes)


def call_stands(rows: QuerySet[Any], **count: int | None) -> bool:
    """Whether nobody has taken up the run of `rows` since a call that said how often it had been: {field: times}.

    None: a call of an earlier release, which stands always.
    """
    return None in count.values() or rows.filter(**count).exists()


def is_free() -> Q:
    """Condition on runs and trainings: no worker holds them."""
    return Q(leased_until=None) | Q(leased_until__lt=timezone.now())


def is_lost() -> Q:
    """Condition on runs: no worker holds them, and none is on its way."""
    return is_free() & (Q(called=None) | Q(called__lt=timezone.now() - CALL_LASTS))
