"""Freezes loaded modules and models, so that the garbage collector does not scan them."""

from __future__ import annotations

import gc

COLLECT_AFTER = (20_000, 20, 20)  # objects, then collections of the younger generation


def freeze_loaded() -> None:
    """Call once when modules and models are loaded.

    A search makes thousands of tuples; without this every few of them the collector would walk over all that is loaded.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
