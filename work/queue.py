"""Names of the tasks of background work, and how any task is sent. A message carries ids only.

Postgres rows are the truth; a lost message is found by the sweeper.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

RUN_SLICE = "work.run_slice"
SWEEP_JOBS = "work.sweep_jobs"
START_DUE = "work.start_due"
# Short, and not behind what they watch. Each kind of work has its own queue for its slices.
QUEUES = {SWEEP_JOBS: "chat", START_DUE: "chat"}


def send(name: str, kwargs: dict[str, Any], options: dict[str, Any]) -> None:
    """Send a task now; a broker that does not answer is logged only."""
    try:
        current_app.send_task(name, kwargs=kwargs, retry=False, **options)
    except OperationalError as error:
        logger.warning("the broker did not take %s %s; the sweeper will start it: %s", name, kwargs, error)


def slice_enqueue(*, job_id: int, attempt: int, queue: str, countdown_seconds: float = 0) -> None:
    """Call a worker to a job once the running transaction is committed. It comes only to this attempt."""
    kwargs = {"job_id": job_id, "attempt": attempt}
    options = {"queue": queue, "countdown": countdown_seconds or None}
    transaction.on_commit(lambda: send(RUN_SLICE, kwargs, options))


def due_enqueue(kind: str, *, countdown_seconds: float = 0) -> None:
    """Have what is due of a kind started once the running transaction is committed."""
    options = {"queue": QUEUES[START_DUE], "countdown": countdown_seconds or None}
    transaction.on_commit(lambda: send(START_DUE, {"kind": kind}, options))
