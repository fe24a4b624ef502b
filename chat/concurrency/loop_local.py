"""One value for each event loop: connections, queues and tasks belong to the loop that made them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class LoopLocal(Generic[T]):
    """Made with the first use in a loop, and gone with the loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """The value of the running event loop."""
        loop = asyncio.get_running_loop()
        if (value := self._values.get(loop)) is None:
            value = self._values[loop] = self._make()
        return value

    def pop(self) -> T | None:
        """Take the value away from the running event loop; None where there was none."""
        return self._values.pop(asyncio.get_running_loop(), None)
