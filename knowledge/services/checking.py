"""Whether the index says what its entries say, and putting right what can be counted again."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from knowledge.indexes.checks import (
    Drift,
    frequencies_drift,
    halves_found,
    passages_drift,
    statistics_recount,
    totals_drift,
)
from knowledge.indexes.epoch import epoch_advance
from knowledge.indexes.statistics import statistics_lock

COUNTABLE = frozenset(
    {"entries", "length", "frequencies", "passages"}
)  # the others need their documents ingested again


def index_check() -> list[Drift]:
    """Every difference between the stored statistics and a recount, and every document that is only half there."""
    return [*totals_drift(), *frequencies_drift(), *passages_drift(), *halves_found()]


def index_repair(found: Sequence[Drift]) -> list[Drift]:
    """Count again for every tenant that needs it; returns what is still wrong."""
    for tenant_id in sorted({d.tenant_id for d in found if d.kind in COUNTABLE and d.tenant_id is not None}):
        with transaction.atomic():
            statistics_lock(tenant_id=tenant_id)
            statistics_recount(tenant_id=tenant_id)
            epoch_advance(tenant_id=tenant_id)
    return index_check()
