"""Worker processes that are replaced once they have grown, counted from when their models were loaded.

Celery's `--max-memory-per-child` compares the most memory that a process ever had with a fixed number: a process with a
model of that size would be replaced after each task, and load the model again for the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ClassVar

from billiard.pool import EX_RECYCLE
from celery.concurrency import asynpool, prefork

from ragcore.model_memory import models_kb, resident_kb

logger = logging.getLogger(__name__)

GROWTH_KB = 1_000_000  # beside its models; a process that has grown beyond it is replaced after its task


class MeasuredWorker(asynpool.Worker):  # type: ignore[misc]
    """A Celery worker process that exits between two tasks once its memory exceeds the limit."""

    growth_kb: ClassVar[int] = GROWTH_KB

    def _make_child_methods(self, *args: Any, **kwargs: Any) -> None:
        super()._make_child_methods(*args, **kwargs)
        self.wait_for_job: Callable[..., Any] = self._measured(self.wait_for_job)

    def _measured(self, wait: Callable[..., Any]) -> Callable[..., Any]:
        def wait_for_job(*args: Any, **kwargs: Any) -> Any:
            used, models = resident_kb(), models_kb()
            if used > models + self.growth_kb:
                logger.warning("a worker process is replaced: %d MB, of these models %d MB", used >> 10, models >> 10)
                raise SystemExit(EX_RECYCLE)
            return wait(*args, **kwargs)

        return wait_for_job


class MeasuredPool(asynpool.AsynPool):  # type: ignore[misc]
    """Celery's pool of processes with such workers."""

    Worker = MeasuredWorker


class TaskPool(prefork.TaskPool):  # type: ignore[misc]
    """The pool of all workers that have processes (CELERY_WORKER_POOL)."""

    Pool = MeasuredPool
