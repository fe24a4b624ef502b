"""Two searches of one question at the same time, on a connection each, while cores are free."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from threading import BoundedSemaphore
from typing import TypeVar

from django.db import connection

from knowledge.indexes.limits import statements_limited

A = TypeVar("A")
B = TypeVar("B")

CORES = os.cpu_count() or 1
SLOTS = BoundedSemaphore(max(1, CORES - 1))  # with more questions than that at once, nobody would be any faster


def together(first: Callable[[], A], second: Callable[[], B], *, seconds: float) -> tuple[A, B]:
    """Both results; `first` on a connection of its own, with `seconds` for each of its statements.

    One after the other while all slots are taken, so waiting for a connection never waits for another one that waits.
    What `first` reads must be committed. Errors of either are raised, when both are over.
    """
    if not SLOTS.acquire(blocking=False):
        return first(), second()
    try:
        running = _threads().submit(_apart, first, seconds)
        try:
            other = second()
        finally:
            wait([running])
        return running.result(), other
    finally:
        SLOTS.release()


def _apart(search: Callable[[], A], seconds: float) -> A:
    try:
        with statements_limited(seconds=seconds):
            return search()
    finally:
        connection.close()  # back to the pool


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=max(1, CORES - 1), thread_name_prefix="search")
