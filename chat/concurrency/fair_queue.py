"""Shares the threads of a web process fairly between people who ask (decision 019).

Each step of a question that needs a thread passes through a queue. While somebody waits, the person who was served
least comes first, and steps of people who were served much more do not start beside theirs; who is alone may use
everything. Of one person's steps the oldest question comes first, so that answers begin one after the other instead of
all at the end; a question whose reader already has words may wait a little for one whose reader has none.
Waiting for a model or a reader takes no place here.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from chat.concurrency.loop_local import LoopLocal

T = TypeVar("T")

PLACES = 6  # steps at a time; the threads beside them serve pages and checks of rights
HALF_LIFE_SECONDS = 10.0  # in which half of what a person got is forgotten
CREDIT_SECONDS = 2.0  # of thread time: so much less than the others has, at most, who comes back
SAME_SECONDS = 0.5  # people whose times differ by less are treated alike
LATER_SECONDS = 1.0  # what a question with words on the screen lets pass before it
FORGOTTEN_SECONDS = 0.01
PAUSE_SECONDS = 0.02  # for each step that waits, between two readings of a stream that has words
STREAM_PAUSE_SECONDS = 0.004  # for each other stream, as readers are sent fewer updates while many are written
FREE_STREAMS = 4  # that are read as they come
LONGEST_PAUSE_SECONDS = 0.7  # while steps wait
LONGEST_UNHURRIED_SECONDS = 0.25  # while none does

current: ContextVar[Question | None] = ContextVar("question", default=None)  # of this task; None: no question


@dataclass(eq=False, slots=True)
class Question:
    """A question that is being answered, and who asked."""

    person: int
    started: float = field(default_factory=time.monotonic)
    has_words: bool = False  # its reader sees the beginning of the answer

    def due(self) -> float:
        """Its place among the steps of one person: lower comes first."""
        return time.monotonic() + LATER_SECONDS if self.has_words else self.started


@dataclass(order=True, slots=True)
class _Waiting:
    due: float
    number: int
    question: Question = field(compare=False)
    turn: asyncio.Future[None] = field(compare=False)


class FairQueue:
    """Places for steps of questions. Belongs to one event loop. `now` in seconds."""

    def __init__(self, places: int = PLACES, now: Callable[[], float] = time.monotonic) -> None:
        self._places = places
        self._now = now
        self._running: list[Question] = []
        self._waiting: dict[int, list[_Waiting]] = {}  # heaps, by person
        self._served: dict[int, tuple[float, float]] = {}  # person -> (seconds, when that was so)
        self._numbers = count()
        self._streams = 0  # of models, that are read

    async def run(self, question: Question, step: Callable[[], Awaitable[T]]) -> T:
        """The result of a step, run when it is its turn."""
        await self._enter(question)
        started = self._now()
        try:
            return await step()
        finally:
            self._leave(question, self._now() - started)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While a stream of a model is read."""
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    def pause_seconds(self) -> float:
        """How long a stream with words should wait before it reads on, so that others come to their first ones.

        0 while no step waits and few streams are read. What a model writes meanwhile is read at once: a reading costs
        as much for one token as for twenty.
        """
        waiting, further = sum(map(len, self._waiting.values())), max(self._streams - FREE_STREAMS, 0)
        longest = LONGEST_PAUSE_SECONDS if waiting else LONGEST_UNHURRIED_SECONDS
        return min(PAUSE_SECONDS * waiting + STREAM_PAUSE_SECONDS * further, longest)

    def served(self, person: int) -> float:
        """Seconds of threads that a person got lately."""
        seconds, at = self._served.get(person, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self._now() - at) / HALF_LIFE_SECONDS))

    async def _enter(self, question: Question) -> None:
        if not self._is_active(question.person):
            self._welcome(question.person)
        if not self._waiting and self._may_start(question.person):
            self._running.append(question)
            return
        waiting = _Waiting(question.due(), next(self._numbers), question, asyncio.get_running_loop().create_future())
        heapq.heappush(self._waiting.setdefault(question.person, []), waiting)
        self._start_next()
        try:
            await waiting.turn
        except asyncio.CancelledError:
            if waiting.turn.done() and not waiting.turn.cancelled():  # it had just got its turn
                self._leave(question, 0.0)
            else:
                self._forget(waiting)
            raise

    def _leave(self, question: Question, seconds: float) -> None:
        self._running.remove(question)
        self._served[question.person] = (self.served(question.person) + seconds, self._now())
        self._start_next()

    def _start_next(self) -> None:
        """Start what may start, the person first who was served least, then the step that is due first."""
        while self._waiting and len(self._running) < self._places:
            people = [person for person in self._waiting if self._may_start(person)]
            if not people:
                return
            person = min(people, key=lambda each: (self.served(each) // SAME_SECONDS, self._waiting[each][0].due))
            waiting = heapq.heappop(self._waiting[person])
            if not self._waiting[person]:
                del self._waiting[person]
            if not waiting.turn.done():
                self._running.append(waiting.question)
                waiting.turn.set_result(None)

    def _may_start(self, person: int) -> bool:
        """There is a place, and nobody is at work who was served much less: threads share one interpreter."""
        if len(self._running) >= self._places:
            return False
        limit = self.served(person) - SAME_SECONDS
        return limit <= 0 or all(self.served(other) >= limit for other in {each.person for each in self._running})

    def _welcome(self, person: int) -> None:
        """Who was away does not have the time of the absence in hand."""
        active = {each.person for each in self._running} | self._waiting.keys()
        least = min((self.served(each) for each in active), default=0.0) - CREDIT_SECONDS
        if least > self.served(person):
            self._served[person] = (least, self._now())
        for other in [each for each in self._served if self.served(each) < FORGOTTEN_SECONDS and each not in active]:
            del self._served[other]

    def _is_active(self, person: int) -> bool:
        return person in self._waiting or any(each.person == person for each in self._running)

    def _forget(self, waiting: _Waiting) -> None:
        heap = self._waiting.get(waiting.question.person, [])
        if waiting in heap:
            heap.remove(waiting)
            heapq.heapify(heap)
            if not heap:
                del self._waiting[waiting.question.person]


_queues = LoopLocal(FairQueue)


def fair_queue() -> FairQueue:
    """The queue of the running event loop."""
    return _queues.get()
