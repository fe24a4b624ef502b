"""Database and CPU work of asynchronous code.

Turns outlive the request that started them, so Django's thread-sensitive executors cannot be used for them. Each call
gives its connection back to the pool, so that none is held while a model writes. Steps of questions take turns
(`chat.concurrency.fair_queue`); what belongs to no question is run at once.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import connections
from django.utils import translation

from chat.concurrency.fair_queue import current, fair_queue

P = ParamSpec("P")
T = TypeVar("T")

MAX_CPU_THREADS = 4
START_SECONDS = 20.0  # for all connections of `run_in_every_thread`

_database = ThreadPoolExecutor(settings.DATABASE_THREADS, thread_name_prefix="chat-db")
_cpu = ThreadPoolExecutor(MAX_CPU_THREADS, thread_name_prefix="chat-cpu")


async def run_db(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the ORM, in a thread; its connection is given back afterwards."""
    return await _run(_database, partial(_closing, function, *args, **kwargs))


async def run_cpu(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that computes, in a thread; it must not use the ORM."""
    return await _run(_cpu, partial(function, *args, **kwargs))


def run_in_every_thread(function: Callable[[], object]) -> None:
    """Run a function that uses the ORM once in each thread of `run_db`, all at the same time, and wait for them.

    Each has a connection of its own meanwhile. Call it before the first question. Raises what the function raises.
    """
    start = threading.Barrier(settings.DATABASE_THREADS)

    def run() -> None:
        connections["default"].ensure_connection()
        start.wait(START_SECONDS)
        function()

    for future in [_database.submit(_closing, run) for _ in range(settings.DATABASE_THREADS)]:
        future.result()


async def _run(pool: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    context = contextvars.copy_context()  # the log fields of the request
    in_language = partial(_in_language, translation.get_language(), call)
    loop = asyncio.get_running_loop()
    if (question := current.get()) is None:
        return await loop.run_in_executor(pool, context.run, in_language)
    return await fair_queue().run(question, lambda: loop.run_in_executor(pool, context.run, in_language))


def _in_language(language: str | None, call: Callable[[], T]) -> T:
    """Django's own language of a thread does not come with the context: it belongs to the thread that set it."""
    with translation.override(language):
        return call()


def _closing(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return function(*args, **kwargs)
    finally:
        connections.close_all()
