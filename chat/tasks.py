"""Celery tasks: services called."""

from __future__ import annotations

from celery import shared_task

from chat.queue import SWEEP_TURNS
from chat.turns.message_store import turns_sweep


@shared_task(name=SWEEP_TURNS)
def sweep_turns() -> None:
    """Mark turns whose web process has died."""
    turns_sweep()
