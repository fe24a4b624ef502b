"""What is being done for an answer ends when the reader has stopped it (V13)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from ragcore.errors import RagError

T = TypeVar("T")


class StoppedError(RagError):
    """The reader wants no more of this answer. Never told: whoever makes the answer ends it with what there is."""

    code = "stopped"
    default_message = "The user has stopped this answer."


async def run_unless_stopped(stop: asyncio.Event | None, work: Coroutine[Any, Any, T]) -> T:
    """What the work returns. Cancels it, and waits for its end, when `stop` is set first; None: nobody can stop it.

    Work that has ended when both are noticed counts as done. Raises StoppedError, and what the work raises.
    """
    if stop is None:
        return await work
    task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise StoppedError
        return task.result()
    finally:
        for each in (task, stopped):
            each.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)
