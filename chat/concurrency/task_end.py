"""Cancels asyncio tasks and waits until they have ended; tells a task that it was cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN_SECONDS = 0.5


async def task_end(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it is over, whatever it ends with.

    It is cancelled again while it goes on: `asyncio.wait_for` of Python 3.11, with which the client of Redis sends its
    commands, swallows a cancellation that comes in the moment in which what it waits for ends (python/cpython#86296).
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=AGAIN_SECONDS)


def is_cancelled() -> bool:
    """Whether the running task was cancelled, also where what it waited for swallowed that.

    A task that works in turns asks before each of them: the end of an event loop cancels it only once.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
