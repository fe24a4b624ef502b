"""Tasks end although they swallow a cancellation."""

import asyncio

from chat.concurrency import task_end as module
from chat.concurrency.task_end import task_end


async def test_a_task_that_swallows_a_cancellation_is_cancelled_again(monkeypatch):
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.01)
    swallowed = []

    async def goes_on():
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if len(swallowed) == 2:
                    raise
                swallowed.append(1)

    task = asyncio.create_task(goes_on())
    await asyncio.sleep(0)

    async with asyncio.timeout(10):
        await task_end(task)

    assert task.cancelled()
    assert len(swallowed) == 2


async def test_what_has_failed_or_ended_is_no_error_here():
    async def fails():
        raise ValueError

    task = asyncio.create_task(fails())
    await asyncio.wait({task})

    await task_end(task)

    assert isinstance(task.exception(), ValueError)
