"""Change the state of items: hand them to another queue, retry them later, or end them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from knowledge.errors import error_columns
from knowledge.models import Document, IngestItem
from knowledge.queue import advance_enqueue
from knowledge.services.ingestion.item_claims import items_held
from ragcore.errors import RagError, TransientError

RETRY_PERIOD = timedelta(hours=24)  # from the first of the faults in a row
BACKOFF_SECONDS = 2.0  # doubled with every fault in a row, with jitter
LONGEST_PAUSE_SECONDS = 300.0
JITTER = (0.75, 1.25)


class StoreUnavailableError(TransientError):
    """Postgres or Redis did not answer, or Postgres chose this worker as the victim of a deadlock."""

    code = "store_unavailable"
    default_message = "The service is not available at the moment. Please try again shortly."


class IngestionFaultError(RagError):
    """A fault of ours while reading a document; the log has the details."""

    code = "ingestion_fault"
    default_message = "Reading this document failed because of a fault in this software. It has been logged."


# ── going on ────────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def item_hand_over(item: IngestItem, *, queue: str, stage: str) -> None:
    """Hand an item to another queue, whose workers start from its stored data."""
    moved = items_held([item]).update(
        queue=queue, stage=stage, lease_until=None, progress_done=0, progress_total=0, **_without_faults()
    )
    if moved:
        advance_enqueue(job_id=item.job_id, queue=queue)


def _without_faults() -> dict[str, object]:
    return {"faults": 0, "waiting_since": None, "not_before": None, **error_columns(None)}


# ── waiting and ending ──────────────────────────────────────────────────────────────────────────


@transaction.atomic
def items_put_off_or_fail(items: Sequence[IngestItem], error: RagError) -> None:
    """Passing faults are tried again later, with growing pauses, for as long as RETRY_PERIOD; others end the items."""
    now = timezone.now()
    retriable = [item for item in items if item.waiting_since is None or now - item.waiting_since < RETRY_PERIOD]
    waiting = retriable if isinstance(error, TransientError) else []
    if waiting:
        _put_off(waiting, error)
    _fail([item for item in items if item not in waiting], error)


def _put_off(items: Sequence[IngestItem], error: RagError) -> None:
    """One pause, and one message to the workers, for items that failed together with the same error."""
    now, faults = timezone.now(), max(item.faults for item in items)
    pause = min(BACKOFF_SECONDS * 2 ** min(faults, 16), LONGEST_PAUSE_SECONDS)
    pause *= random.uniform(*JITTER)  # noqa: S311 (so that workers do not return together)
    mine = items_held(items)
    mine.filter(waiting_since=None).update(waiting_since=now)
    mine.update(
        not_before=now + timedelta(seconds=pause),
        faults=faults + 1,
        lease_until=None,
        **error_columns(error),
    )
    for job_id, queue in {(item.job_id, item.queue) for item in items}:
        advance_enqueue(job_id=job_id, queue=queue, countdown_seconds=pause + 0.1)


def _fail(items: Sequence[IngestItem], error: RagError) -> None:
    """End items with an error, which is also stored on their documents if it concerns their newest versions.

    Items that another worker has claimed or ended meanwhile are not changed. Documents are locked before items, as
    publishing and cancelling do.
    """
    reason = error_columns(error)
    documents = Document.objects.select_for_update().filter(pk__in={item.version.document_id for item in items})
    list(documents.order_by("pk").values_list("pk", flat=True))
    for item in items:
        if items_held([item]).update(
            stage=IngestItem.Stage.FAILED, finished=timezone.now(), lease_until=None, **reason
        ):
            document_error_set(item, error)


def document_error_set(item: IngestItem, error: RagError) -> None:
    """Store on the document why its newest version will not go live. An older live version stays live."""
    document = Document.objects.select_for_update().get(pk=item.version.document_id)
    newest = document.versions.order_by("-number").values_list("pk", flat=True).first()
    is_newest = item.version_id == newest != document.live_version_id
    if is_newest and document.state != Document.State.DELETED:
        Document.objects.filter(pk=document.pk).update(
            state=Document.State.LIVE if document.live_version_id else Document.State.FAILED,
            **error_columns(error),
            updated=timezone.now(),
        )
