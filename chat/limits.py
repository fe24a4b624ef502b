"""How many questions one process answers at a time (V13)."""

from __future__ import annotations

from types import TracebackType

from django.conf import settings

from chat import metrics
from chat.errors import BusyError

RETRY_AFTER_SECONDS = 2


class Slot:
    """One of the places for running questions; free again at the end of its context.

    Raises BusyError when made while all are taken: a question is refused at the door, it does not wait unseen.
    """

    _taken = 0

    def __init__(self) -> None:
        if Slot._taken >= settings.MAX_IN_FLIGHT:
            raise BusyError(retry_after_seconds=RETRY_AFTER_SECONDS)
        Slot._taken += 1
        metrics.IN_FLIGHT.set(Slot._taken)

    def __enter__(self) -> Slot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        Slot._taken -= 1
        metrics.IN_FLIGHT.set(Slot._taken)
