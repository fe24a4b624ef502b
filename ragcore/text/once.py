"""Work on texts that is done once an answer: the gate, the writer and the check read the same sentences (D33)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_kept: ContextVar[dict[Hashable, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def computed_once() -> Iterator[None]:
    """What `once` is asked for inside is computed once, in this context and in threads and tasks started from it.

    Nothing is kept beyond the end. Within another one the outer one goes on.
    """
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def once(key: Hashable, make: Callable[[], T]) -> T:
    """The value of the key; made anew each time outside of `computed_once`. Callers must not change it.

    Two threads that ask for the same at the same time may both make it.
    """
    kept = _kept.get()
    if kept is None:
        return make()
    if key not in kept:
        kept[key] = make()
    found: T = kept[key]
    return found
