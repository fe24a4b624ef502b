"""How an item ends, or why it waits."""

from __future__ import annotations

import random
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from knowledge.models import Document, IngestItem
from knowledge.queue import ADVANCE_INGESTION, enqueue_on_commit
from knowledge.services.ingestion.leases import held
from ragcore.errors import RagError, TransientError

MAX_ATTEMPTS = 6
BACKOFF_SECONDS = 2.0  # doubled with every attempt, with jitter


class StoreUnavailableError(TransientError):
    """Postgres did not answer, or chose this worker as the victim of a deadlock."""

    code = "store_unavailable"
    default_message = "The service is not available at the moment. Please try again shortly."


class IngestionFaultError(RagError):
    """A fault of ours while reading a document; the log has the details."""

    code = "ingestion_fault"
    default_message = "Reading this document failed because of a fault in this software. It has been logged."


@transaction.atomic
def item_put_off_or_fail(item: IngestItem, error: RagError) -> None:
    """Passing faults are tried again later, with growing pauses; others and the last attempt end the item."""
    if isinstance(error, TransientError) and item.attempt < MAX_ATTEMPTS:
        pause = BACKOFF_SECONDS * 2 ** (item.attempt - 1) * random.uniform(0.75, 1.25)  # noqa: S311 (jitter)
        held([item]).update(
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
    """End an item with a reason, which its document takes over if this is its newest version.

    Changes nothing where another worker has claimed or ended the item meanwhile.
    """
    reason = {"error_code": error.code, "error_message": error.message[:512]}
    if not held([item]).update(stage=IngestItem.Stage.FAILED, finished=timezone.now(), lease_until=None, **reason):
        return
    document = Document.objects.select_for_update().get(pk=item.version.document_id)
    newest = document.versions.order_by("-number").values_list("pk", flat=True).first()
    is_newest = item.version_id == newest != document.live_version_id
    if is_newest and document.state != Document.State.DELETED:
        state = Document.State.LIVE if document.live_version_id else Document.State.FAILED
        Document.objects.filter(pk=document.pk).update(state=state, updated=timezone.now(), **reason)
