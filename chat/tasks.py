"""Celery tasks: services called."""

from __future__ import annotations

from celery import shared_task

from chat import services
from chat.queue import SWEEP_TURNS


@shared_task(name=SWEEP_TURNS)
def sweep_turns() -> None:
    """Mark turns whose web process has died."""
    services.turns_sweep()
