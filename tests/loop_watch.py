"""How long an event loop is held: between two ticks, the processor time that this process used.

Processor time, not time by the clock: other programs of a busy machine change nothing. Of the whole process, not of
the thread of the loop alone: a thread that keeps the interpreter, as one match of an expression does, holds the loop,
too.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

TICK_SECONDS = 0.002


@dataclass
class LoopWatch:
    """The longest pause so far, in seconds."""

    longest: float = 0.0

    async def tick(self) -> None:
        while True:
            wall, processor = time.perf_counter(), time.process_time()
            await asyncio.sleep(TICK_SECONDS)
            pause = min(time.perf_counter() - wall - TICK_SECONDS, time.process_time() - processor)
            self.longest = max(self.longest, pause)


@asynccontextmanager
async def loop_watch() -> AsyncIterator[LoopWatch]:
    """Watches the running loop. The collector of garbage waits: the tests' own objects would take it long."""
    gc.collect()
    gc.disable()
    watch = LoopWatch()
    task = asyncio.create_task(watch.tick())
    try:
        yield watch
        await asyncio.sleep(2 * TICK_SECONDS)  # the last pause counts, too
    finally:
        gc.enable()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
