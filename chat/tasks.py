"""Celery tasks: services called."""

from __future__ import annotations

from celery import shared_task

from chat.conversations.retention import retention_run
from chat.queue import MAINTAIN, SWEEP_TURNS
from chat.turns.message_store import turns_sweep


@shared_task(name=SWEEP_TURNS)
def sweep_turns() -> None:
    """Mark turns whose web process has died."""
    turns_sweep()


@shared_task(name=MAINTAIN)
def maintain() -> None:
    """Remove what is older than the settings keep."""
    retention_run()
