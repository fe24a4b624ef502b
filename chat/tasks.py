"""Celery tasks: services called."""

from __future__ import annotations

import uuid

from celery import shared_task

from chat.answers.approval import approved_check
from chat.attachments.reading import attachments_expire
from chat.conversations.retention import retention_run
from chat.conversations.summaries import summary_refresh
from chat.queue import MAINTAIN, SUMMARISE, SWEEP_TURNS
from chat.turns.message_store import turns_sweep
from chat.turns.turn_figures import LOOKED_BACK_AT_NIGHT, turn_figures_catch_up


@shared_task(name=SWEEP_TURNS)
def sweep_turns() -> None:
    """Mark turns whose web process has died; store the figures of those that are over."""
    turns_sweep()
    turn_figures_catch_up()


@shared_task(name=MAINTAIN)
def maintain() -> None:
    """Remove what is old or over, withdraw approved answers that are wrong, complete statistics."""
    retention_run()
    attachments_expire()
    approved_check()
    turn_figures_catch_up(back=LOOKED_BACK_AT_NIGHT)


@shared_task(name=SUMMARISE)
def summarise_conversation(*, conversation_id: str, budget_tokens: int) -> None:
    """Put the turns of a conversation that a prompt has no room for into its summary."""
    summary_refresh(conversation_id=uuid.UUID(conversation_id), budget_tokens=budget_tokens)
