"""The weekly hour: purge, then build the indexes anew while people search, then check (D28)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings

from knowledge.errors import MaintenanceRunningError
from knowledge.indexes.maintenance import (
    index_rebuild,
    index_size,
    indexes_rebuilt,
    leftover_drop,
    leftovers_found,
    maintenance_alone,
)
from knowledge.services.checking import index_check
from knowledge.services.purging import purge

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """One index, and what building it anew took and brought."""

    name: str
    seconds: float
    bytes_before: int
    bytes_after: int


def indexes_rebuild() -> Iterator[Rebuilt]:
    """Build the vector and word indexes anew, one after another, while readers and writers go on.

    What an interrupted run has left is dropped first. Call outside a transaction.
    Raises MaintenanceRunningError while another process does the same.
    """
    with maintenance_alone() as alone:
        if not alone:
            raise MaintenanceRunningError
        for name in leftovers_found():
            logger.warning("index %s was left by an interrupted rebuild and is dropped", name)
            leftover_drop(name)
        for name in indexes_rebuilt():
            yield _rebuilt(name)


def _rebuilt(name: str) -> Rebuilt:
    before, start = index_size(name), time.monotonic()
    index_rebuild(name)
    return Rebuilt(name=name, seconds=time.monotonic() - start, bytes_before=before, bytes_after=index_size(name))


def maintenance_run() -> None:
    """Everything, with a line in the log for each step. Ends at once where another process is at it."""
    try:
        purged = purge(days=settings.PURGE_AFTER_DAYS)
        logger.info("purged: %s", purged)
        for done in indexes_rebuild():
            logger.info("index %s was built anew in %.1f s", done.name, done.seconds)
    except MaintenanceRunningError:
        logger.info("another process does the maintenance")
        return
    for drift in index_check():
        logger.error("the index does not say what its entries say: %s", drift)
