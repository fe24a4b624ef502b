"""A narrow row of figures for each question, stored within a minute of its answer; answers do not wait for it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.utils import timezone

from chat.models import Experiment, Message, MessageCitation, TurnFigures
from knowledge.models import Document

logger = logging.getLogger(__name__)

LOOKED_BACK = timedelta(minutes=30)  # every minute, at when a question was asked
LOOKED_BACK_AT_NIGHT = timedelta(days=3)
MOST_STORED = 10_000  # of one look
WORTH = {"supported": 1.0, "weak": 0.5}


def question_key(question: str) -> int:
    """The same for questions that differ in case and spaces only; signed, 64 bits."""
    folded = " ".join(question.lower().split())
    digest = hashlib.md5(folded.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def turn_figures_store(*, message_id: UUID) -> None:
    """Store the figures of a question that is over; twice changes nothing.

    Figures are never worth an answer: where the database refuses them it is logged.
    """
    try:
        with transaction.atomic():
            message = Message.objects.select_related("conversation").filter(pk=message_id).first()
            if message is not None and message.state != Message.State.RUNNING:
                TurnFigures.objects.bulk_create([_figures(message)], ignore_conflicts=True)
    except DatabaseError:
        logger.exception("an answer is missing in the statistics")


def turn_figures_catch_up(*, back: timedelta = LOOKED_BACK) -> int:
    """Store the figures of questions that were asked since then, are over and have none; returns how many."""
    rows = Message.objects.filter(created__gte=timezone.now() - back, figures=None)
    rows = rows.exclude(state=Message.State.RUNNING).order_by("created")
    missing = list(rows.values_list("pk", flat=True)[:MOST_STORED])
    for pk in missing:
        turn_figures_store(message_id=pk)
    return len(missing)


def _figures(message: Message) -> TurnFigures:
    data = message.metadata
    experiment, _, arm = str(data.get("experiment") or "").partition(":")
    cost, seconds = data.get("cost"), data.get("total_time")
    return TurnFigures(
        message=message,
        tenant_id=message.conversation.tenant_id,
        user_id=message.conversation.user_id,
        asked=message.created,
        status=message.status or message.state,
        cache=data.get("cache") or "none",
        seconds=None if seconds is None else float(seconds),
        cost=None if cost is None else float(cost),
        tokens=int((data.get("usage") or {}).get("total_tokens") or 0),
        model=str(data.get("model") or "")[:100],
        supported=_supported(message.sentences),
        question_key=question_key(message.question),
        sets=sorted(_sets(message)),
        experiment_id=_existing(experiment),
        arm=arm if arm in TurnFigures.Arm.values else "",
    )


def _supported(sentences: Iterable[dict[str, Any]]) -> float | None:
    worth = [WORTH.get(sentence.get("support", ""), 0.0) for sentence in sentences]
    return sum(worth) / len(worth) if worth else None


def _sets(message: Message) -> set[int]:
    """Knowledge sets that the question named, and those of the documents that the answer cites."""
    cited = MessageCitation.objects.filter(message=message, cited=True).values("document")
    rows = Document.sets.through.objects.filter(document__in=cited)
    return {*(message.request.get("sets") or ()), *rows.values_list("knowledgeset_id", flat=True)}


def _existing(experiment: str) -> int | None:
    if not experiment.isdecimal():
        return None
    return Experiment.objects.filter(pk=int(experiment)).values_list("pk", flat=True).first()
