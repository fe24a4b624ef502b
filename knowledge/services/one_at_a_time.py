"""An advisory lock over several transactions: one process at a time does named work."""

from __future__ import annotations

from contextlib import AbstractContextManager

from knowledge.indexes.statements import work_lock


def one_at_a_time(name: str) -> AbstractContextManager[None]:
    """Only one connection at a time does the work of this name; others wait. Call outside of transactions.

    Unlike the lock of a row it keeps nobody from the rows that the work is about.
    """
    return work_lock(name=name)
