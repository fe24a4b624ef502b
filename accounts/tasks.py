"""Celery tasks: services called."""

from __future__ import annotations

from celery import shared_task

from accounts.audit.partitions import audit_maintain
from accounts.queue import MAINTAIN
from accounts.sign_in.sessions import sessions_purge


@shared_task(name=MAINTAIN)
def maintain() -> None:
    """Months of the audit log, and sessions that have expired."""
    audit_maintain()
    sessions_purge()
