"""Celery tasks: ids in, services called."""

from __future__ import annotations

from celery import shared_task

from knowledge import services
from knowledge.queue import ADVANCE_INGESTION, REFRESH_INDEXES, SWEEP_INGEST_LEASES


@shared_task(name=ADVANCE_INGESTION)
def advance_ingestion(*, job_id: int) -> None:
    """Run the next batch of one ingestion job."""
    services.ingestion_advance(job_id=job_id)


@shared_task(name=SWEEP_INGEST_LEASES)
def sweep_ingest_leases() -> None:
    """Queue jobs whose worker or message was lost."""
    services.leases_sweep()


@shared_task(name=REFRESH_INDEXES)
def refresh_indexes() -> None:
    """Keep statistics, vector indexes and dead rows in order."""
    services.indexes_refresh()
