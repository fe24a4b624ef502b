"""Celery tasks: services called."""

from __future__ import annotations

import uuid

from celery import shared_task

from chat.conversations.retention import retention_run
from chat.conversations.summaries import summary_refresh
from chat.queue import MAINTAIN, SUMMARISE, SWEEP_TURNS
from chat.turns.message_store import turns_sweep


@shared_task(name=SWEEP_TURNS)
def sweep_turns() -> None:
    """Mark turns whose web process has died."""
    turns_sweep()


@shared_task(name=MAINTAIN)
def maintain() -> None:
    """Remove what is older than the settings keep."""
    retention_run()


@shared_task(name=SUMMARISE)
def summarise_conversation(*, conversation_id: str, budget_tokens: int) -> None:
    """Put the turns of a conversation that a prompt has no room for into its summary."""
    summary_refresh(conversation_id=uuid.UUID(conversation_id), budget_tokens=budget_tokens)
