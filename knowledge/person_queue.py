"""Turns of persons whose pages are drawn or whose files are exported: bounded, and fair between persons.

A web process does a few at a time, at most one of one person, so that whoever asks for many slow ones waits for
himself. Freed places go round the persons who wait, not round what they have asked for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from knowledge.file_errors import FileBusyError, PicturesBusyError

AT_ONCE = 3  # children of one web process that draw
WAITING_A_PERSON = 12  # pages of one person that wait; the panel of a source has three
WAIT_SECONDS = 8.0  # for a turn; then the page of the reader asks again by itself
RETRY_SECONDS = 3


@dataclass(eq=False, slots=True)
class _Ticket:
    has_turn: bool = False


@dataclass
class PersonQueue:
    """`turn(person)` is a context in which one file is made.

    Raises `busy_error` after `wait_seconds`, and at once where `waiting_a_person` are waiting already.
    """

    at_once: int = AT_ONCE
    waiting_a_person: int = WAITING_A_PERSON
    wait_seconds: float = WAIT_SECONDS
    busy_error: type[FileBusyError] = PicturesBusyError
    _served: set[object] = field(default_factory=set)
    _waiting: OrderedDict[object, deque[_Ticket]] = field(default_factory=OrderedDict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def turn(self, person: object) -> Iterator[None]:
        """`person`: whatever tells readers apart."""
        self._take(person)
        try:
            yield
        finally:
            with self._changed:
                self._served.discard(person)
                self._give_turns()

    def _take(self, person: object) -> None:
        ticket = _Ticket()
        with self._changed:
            tickets = self._waiting.setdefault(person, deque())
            if len(tickets) >= self.waiting_a_person:
                raise self.busy_error(retry_after_seconds=RETRY_SECONDS)
            tickets.append(ticket)
            self._give_turns()
            until = monotonic() + self.wait_seconds
            while not ticket.has_turn and (seconds := until - monotonic()) > 0:
                self._changed.wait(seconds)
            if not ticket.has_turn:
                tickets.remove(ticket)
                self._forget_if_idle(person)
                raise self.busy_error(retry_after_seconds=RETRY_SECONDS)

    def _give_turns(self) -> None:
        """Call with the condition held."""
        for person in list(self._waiting):
            if len(self._served) >= self.at_once:
                break
            if person in self._served or not self._waiting[person]:
                continue
            self._waiting[person].popleft().has_turn = True
            self._served.add(person)
            self._waiting.move_to_end(person)  # who had a turn is the last to get another
            self._forget_if_idle(person)
        self._changed.notify_all()

    def _forget_if_idle(self, person: object) -> None:
        if not self._waiting.get(person):
            self._waiting.pop(person, None)
