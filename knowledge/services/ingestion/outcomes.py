"""How an item ends, or why it waits."""

from __future__ import annotations

import random
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from knowledge.models import Document, IngestItem
from knowledge.queue import ADVANCE_INGESTION, enqueue_on_commit
from ragcore.errors import RagError, TransientError

MAX_ATTEMPTS = 6
BACKOFF_SECONDS = 2.0  # doubled with every attempt, with jitter


class IngestionFaultError(RagError):
    """A fault of ours while reading a document; the log has the details."""

    code = "ingestion_fault"
    default_message = "Reading this document failed because of a fault in this software. It has been logged."


@transaction.atomic
def item_put_off_or_fail(item: IngestItem, error: RagError) -> None:
    """Passing faults are tried again later, with growing pauses; others and the last attempt end the item."""
    if isinstance(error, TransientError) and item.attempt < MAX_ATTEMPTS:
        pause = BACKOFF_SECONDS * 2 ** (item.attempt - 1) * random.uniform(0.75, 1.25)  # noqa: S311 (jitter)
        IngestItem.objects.filter(pk=item.pk).update(
            not_before=timezone.now() + timedelta(seconds=pause),
            lease_until=None,
            error_code=error.code,
            error_message=error.message[:512],
        )
        enqueue_on_commit(ADVANCE_INGESTION, countdown_seconds=pause + 0.1, job_id=item.job_id)
    else:
        item_fail(item, error)


@transaction.atomic
def item_fail(item: IngestItem, error: RagError) -> None:
    """End an item with a reason; a document that has no live version is failed with the same reason."""
    reason = {"error_code": error.code, "error_message": error.message[:512]}
    IngestItem.objects.filter(pk=item.pk).update(
        stage=IngestItem.Stage.FAILED, finished=timezone.now(), lease_until=None, **reason
    )
    document = Document.objects.select_for_update().get(pk=item.version.document_id)
    if document.state != Document.State.DELETED:
        state = Document.State.LIVE if document.live_version_id else Document.State.FAILED
        Document.objects.filter(pk=document.pk).update(state=state, updated=timezone.now(), **reason)
