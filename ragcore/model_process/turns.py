"""Who computes next: one slice of work at a time, questions before everything else, the others in turn."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import numpy as np

from ragcore.ports import FloatArray

SLICE_SECONDS = 0.1  # of a long batch, so that a question waits no longer
SLICE_TEXTS = 64
FIRST_BYTES = 1000  # of a slice of a model whose speed is not known yet
TEXT_BYTES = 20  # that a text costs beside its own: marks of beginning and end
WEIGHT = 0.3  # of the newest slice in what is known of the speed
MOST_GROWTH = 4.0  # from one slice to the next

Compute = Callable[[Sequence[str]], FloatArray]  # float32[n, d] of n texts


class Pace:
    """How much text a model reads in SLICE_SECONDS, learnt from its slices. Bytes: a token has about four of them."""

    def __init__(self) -> None:
        self._bytes = float(FIRST_BYTES)

    def count(self, sizes: Sequence[int]) -> int:
        """How many of the next texts make a slice, of their sizes in bytes, shortest first; at least one."""
        most = min(len(sizes), SLICE_TEXTS)
        fits = (number for number in range(most, 0, -1) if number * sizes[number - 1] <= self._bytes)
        return next(fits, 1)

    def learn(self, size: int, seconds: float) -> None:
        """A slice of `size` bytes, counted as its longest text for each, took so long.

        One that was quick because it was small says nothing.
        """
        reached = min(size * SLICE_SECONDS / max(seconds, 1e-6), self._bytes * MOST_GROWTH)
        if seconds > SLICE_SECONDS or reached > self._bytes:
            self._bytes += WEIGHT * (reached - self._bytes)


class Job:
    """Texts of one request. `result`: float32[n, d], row i for text i, when all slices are computed."""

    def __init__(self, texts: Sequence[str], compute: Compute, pace: Pace, *, is_urgent: bool) -> None:
        self.is_urgent = is_urgent
        self.result: Future[FloatArray] = Future()
        self._texts, self._compute, self._pace = texts, compute, pace
        self._order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        self._sizes = [len(texts[at].encode("utf-8", "replace")) + TEXT_BYTES for at in self._order]
        self._rows: list[FloatArray] = []
        self._done = 0

    def compute_slice(self) -> bool:
        """Whether there is more to compute. What computing raises is the job's result."""
        if self.result.cancelled():
            return False
        try:
            self._next_slice()
            if self._done < len(self._order):
                return True
            rows = self._in_order()
        except Exception as error:  # noqa: BLE001 (whoever waits for the result gets it)
            if self.result.set_running_or_notify_cancel():
                self.result.set_exception(error)
        else:
            if self.result.set_running_or_notify_cancel():
                self.result.set_result(rows)
        return False

    def _next_slice(self) -> None:
        sizes = self._sizes[self._done :]
        count = self._pace.count(sizes)
        places = self._order[self._done : self._done + count]
        start = time.monotonic()
        self._rows.append(self._compute([self._texts[at] for at in places]))
        self._pace.learn(count * sizes[count - 1], time.monotonic() - start)
        self._done += count

    def _in_order(self) -> FloatArray:
        rows = np.vstack(self._rows)
        ordered = np.empty_like(rows)
        ordered[self._order] = rows
        return ordered


class Turns:
    """Jobs that wait. Thread-safe; each lane has a thread, and one slice is computed at a time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[bool, deque[Job]] = {True: deque(), False: deque()}
        self._is_busy = self._is_closed = False

    def add(self, job: Job) -> None:
        with self._changed:
            self._waiting[job.is_urgent].append(job)
            self._changed.notify_all()

    def run(self, *, is_urgent: bool) -> None:
        """The loop of a lane, until `close`."""
        while (job := self._take(is_urgent)) is not None:
            has_more = job.compute_slice()
            with self._changed:
                self._is_busy = False
                if has_more:
                    self._waiting[is_urgent].append(job)  # at the end: the others have their slice first
                self._changed.notify_all()

    def close(self) -> None:
        """End the lanes after the slice that is being computed."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _take(self, is_urgent: bool) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._is_turn(is_urgent))
            if self._is_closed:
                return None
            self._is_busy = True
            return self._waiting[is_urgent].popleft()

    def _is_turn(self, is_urgent: bool) -> bool:
        if self._is_busy or not self._waiting[is_urgent]:
            return False
        return is_urgent or not self._waiting[True]
