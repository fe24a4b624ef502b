"""Celery tasks: services called."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from feedback import services
from feedback.answer_checks import answers_check
from feedback.maintenance import feedback_maintain
from feedback.queue import CHECK_ANSWERS, LEARN_FROM_USE, LEARN_SET_USE, MAINTAIN, RATE_DOCUMENTS
from feedback.ranking_from_use import set_use_learn, use_learn


@shared_task(name=RATE_DOCUMENTS)
def rate_documents(*, message_id: str) -> None:
    """Rate the documents of an answer anew, and measure the answer that was judged."""
    services.cited_documents_rate(message_id=UUID(message_id))
    services.judged_answer_measure(message_id=UUID(message_id))


@shared_task(name=CHECK_ANSWERS)
def check_answers() -> None:
    """Open the cases of answers that ended lately."""
    answers_check()


@shared_task(name=MAINTAIN)
def maintain() -> None:
    """Months of signals are made ahead, old ones removed; the answers of the last days are looked at once more."""
    feedback_maintain()


@shared_task(name=LEARN_FROM_USE)
def learn_from_use() -> None:
    """Learn from the use of every set."""
    use_learn()


@shared_task(name=LEARN_SET_USE)
def learn_set_use(*, set_id: int) -> None:
    """Learn from the use of one set."""
    set_use_learn(set_id=set_id)
