"""Limits that Postgres keeps for us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from knowledge.indexes.rows import fetch

LIMIT = "SELECT set_config('statement_timeout', %(milliseconds)s, true)"


@contextmanager
def statements_limited(*, seconds: float) -> Iterator[None]:
    """A transaction in which no statement runs longer: one that nobody waits for any more must not keep a connection.

    A statement over the limit raises OperationalError.
    """
    with transaction.atomic():
        fetch(LIMIT, {"milliseconds": str(int(1000 * seconds))})
        yield
