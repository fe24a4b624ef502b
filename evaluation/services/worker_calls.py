"""Runs that workers hold by a lease, a slice at a time, and the calls to the next worker.

A run that waits for the worker that was called is not lost: calling another one each minute would put ever more tasks
of one run into the queue, and all others would wait for them. `called` says when the last call was made; a worker that
takes the run clears it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from evaluation.queue import QUEUES
from knowledge.queue import enqueue_on_commit

CALL_LASTS = timedelta(minutes=5)  # a call that no worker has heard by then was lost with its broker


def worker_call(run: Any, task: str) -> None:
    """Call a worker to an EvaluationRun, DiagnosisRun or ProposalRun, once the transaction is committed."""
    type(run).objects.filter(pk=run.pk).update(called=timezone.now())
    enqueue_on_commit(task, queue=QUEUES[task], run_id=run.pk)


def is_free() -> Q:
    """Condition on runs: no worker holds them."""
    return Q(leased_until=None) | Q(leased_until__lt=timezone.now())


def is_lost() -> Q:
    """Condition on runs: no worker holds them, and none is on its way."""
    return is_free() & (Q(called=None) | Q(called__lt=timezone.now() - CALL_LASTS))
