"""Names of tasks, and how services start them. Postgres rows are the truth; a lost message is found by the sweeper."""

from __future__ import annotations

import logging
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

ADVANCE_INGESTION = "knowledge.advance_ingestion"
SWEEP_INGEST_LEASES = "knowledge.sweep_ingest_leases"
REFRESH_INDEXES = "knowledge.refresh_indexes"

QUEUES = {ADVANCE_INGESTION: "ingest", SWEEP_INGEST_LEASES: "ingest", REFRESH_INDEXES: "nightly"}


def enqueue_on_commit(name: str, *, countdown_seconds: float = 0, **kwargs: Any) -> None:
    """Send a task once the running transaction is committed; at once where there is none."""
    transaction.on_commit(lambda: _send(name, countdown_seconds, kwargs))


def _send(name: str, countdown_seconds: float, kwargs: dict[str, Any]) -> None:
    try:
        current_app.send_task(name, kwargs=kwargs, queue=QUEUES[name], countdown=countdown_seconds or None, retry=False)
    except OperationalError as error:
        logger.warning("the broker did not take %s %s; the sweeper will start it: %s", name, kwargs, error)
