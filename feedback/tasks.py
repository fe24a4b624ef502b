"""Celery tasks: services called."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from feedback import services
from feedback.queue import MAINTAIN, RATE_DOCUMENTS


@shared_task(name=RATE_DOCUMENTS)
def rate_documents(*, message_id: str) -> None:
    """Rate the documents of an answer anew."""
    services.cited_documents_rate(message_id=UUID(message_id))


@shared_task(name=MAINTAIN)
def maintain() -> None:
    """Remove signals that are older than the settings keep."""
    services.signals_expire()
