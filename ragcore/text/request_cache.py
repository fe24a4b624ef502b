"""A cache that lives as long as one answer: several steps split and tokenise the same texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_kept: ContextVar[dict[Hashable, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def request_cache() -> Iterator[None]:
    """Open a cache for `cached`, for this context and for threads and tasks that are started from it.

    The cache is dropped at the end. Inside another one the outer cache stays in use.
    """
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def cached(key: Hashable, make: Callable[[], T]) -> T:
    """The value of the key; made anew each time outside of `computed_once`. Callers must not change it.

    Two threads that ask for the same at the same time may both make it.
    """
    values = _kept.get()
    if values is None:
        return make()
    if key not in values:
        values[key] = make()
    value: T = values[key]
    return value
