"""What else concerns vectors by the embedding models of sets: a model that is silent, and deleting (decision 041).

`knowledge/jobs/embed_set.py` makes them in the background.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.db import transaction

from knowledge.indexes.set_vectors_fill import Dropped, set_vectors_drop
from knowledge.models import SetEmbedder
from knowledge.queue import FILL_SET_VECTORS, SWEEP_SET_VECTORS, enqueue_on_commit, set_embedder_subject
from work.models import Job
from work.upkeep import due_start

logger = logging.getLogger(__name__)

State = SetEmbedder.State
DROP_BATCH = 5_000
PROBE = "Does this model answer?"


def set_embedder_of(*, subject: str, states: Sequence[str] = State.values) -> SetEmbedder | None:
    """The row that a job names, in one of the states."""
    rows = SetEmbedder.objects.filter(pk=subject.removeprefix(set_embedder_subject("")), state__in=states)
    return rows.select_related("target", "knowledge_set").first()


def set_embedder_follow(*, subject: str, state: str) -> None:
    """A person has paused, resumed or cancelled the job of a model: one that is on its way follows."""
    row = set_embedder_of(subject=subject, states=(State.BUILDING, State.PAUSED))
    if row is None:
        return
    states = {Job.State.PAUSED: State.PAUSED, Job.State.QUEUED: State.BUILDING, Job.State.CANCELLED: State.CANCELLED}
    if state in states:
        SetEmbedder.objects.filter(pk=row.pk, state=row.state).update(state=states[Job.State(state)])
    if state == Job.State.CANCELLED:
        enqueue_on_commit(SWEEP_SET_VECTORS, tenant_id=row.tenant_id, model=row.model)


@transaction.atomic
def set_model_note(*, row_id: int, code: str, message: str) -> None:
    """Note that a model has not answered a question: its job asks it, and shows the error until it answers."""
    logger.info("the model of row %d has not answered a question: %s", row_id, message)
    for job in due_start(kind=FILL_SET_VECTORS, subject=set_embedder_subject(row_id)):
        noted = {"checkpoint": {**job.checkpoint, "probe": True}, "error_code": code}
        Job.objects.filter(pk=job.pk).update(**noted)


def set_vectors_sweep(*, tenant_id: int = 0, model: str = "") -> int:
    """Delete vectors that no set needs, of a model of a tenant or of all, in batches; returns how many.

    A process that dies leaves some, which the next maintenance takes. Call outside of transactions.
    """
    dropped, page = 0, Dropped(0, 0, is_last=False)
    while not page.is_last:
        with transaction.atomic():
            page = set_vectors_drop(tenant_id=tenant_id, model=model, after=page.after, limit=DROP_BATCH)
        dropped += page.count
    return dropped
