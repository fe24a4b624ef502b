"""Freezes loaded modules and models, so that the garbage collector does not scan them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

COLLECT_AFTER = (20_000, 20, 20)  # objects, then collections of the younger generation


@contextmanager
def collector_waits() -> Iterator[None]:
    """Within it nothing is collected: what importing makes stays, and walking over it takes a sixth of a start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def freeze_loaded() -> None:
    """Call once when modules and models are loaded.

    A search makes thousands of tuples; without this every few of them the collector would walk over all that is loaded.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
