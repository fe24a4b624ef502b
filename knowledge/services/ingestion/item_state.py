"""Items of an ingestion job: claim them in batches, hold them, hand them on, retry or end them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from knowledge.errors import error_columns
from knowledge.models import Document, IngestItem
from knowledge.queue import advance_enqueue
from knowledge.services.ingestion.failure_notices import failures_tell
from knowledge.services.open_items import items_free
from ragcore.errors import RagError, TransientError
from work.errors import LeaseLostError
from work.leases import lease_begin, lease_end, lease_extend, leased

RETRY_PERIOD = timedelta(hours=24)  # from the first of the faults in a row
BACKOFF_SECONDS = 2.0  # doubled with every fault in a row, with jitter
LONGEST_PAUSE_SECONDS = 300.0
JITTER = (0.75, 1.25)

LEASE_SECONDS = 45
RENEW_SECONDS = 2.0  # more frequent signs of life are not stored
BATCH_BYTES = 1024 * 1024  # of originals
Queue = IngestItem.Queue
BATCH_ITEMS = {Queue.INGEST: 32, Queue.EMBED: 32, Queue.OCR: 1}
SMALLEST_BATCH = 8  # below it, what a batch costs besides its items counts
ALL = Q()
SHARES = 4  # no worker takes more of what is left of a job than this part


class IngestionFaultError(RagError):
    """A fault of ours while reading a document; the log has the details."""

    code = "ingestion_fault"
    default_message = "Reading this document failed because of a fault in this software. It has been logged."


# ── going on ────────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def item_hand_over(item: IngestItem, *, queue: str, stage: str) -> None:
    """Hand an item to another queue, whose workers start from its stored data."""
    values = {"queue": queue, "stage": stage, "progress_done": 0, "progress_total": 0, **_without_faults()}
    if lease_end(items_held([item]), **values):
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
    rows = items_held(items)
    rows.filter(waiting_since=None).update(waiting_since=now)
    not_before = now + timedelta(seconds=pause)
    lease_end(rows, not_before=not_before, faults=faults + 1, **error_columns(error))
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
    failed = []
    for item in items:
        if lease_end(items_held([item]), stage=IngestItem.Stage.FAILED, finished=timezone.now(), **reason):
            document_error_set(item, error)
            failed.append(item)
    failures_tell(failed)


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


# ── taking ──────────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def items_claim(*, job_id: int, queue: str = Queue.INGEST, which: Q = ALL) -> list[IngestItem]:
    """Lease the next open items of a job's queue that nobody holds; others skip them. `which`: only those.

    A batch is bounded in number and bytes. An item whose worker was lost is claimed alone, so that a document that
    crashes its worker affects no other one.
    """
    now = timezone.now()
    rows = (
        IngestItem.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("version__document__source")
        .defer("version__markdown", "version__sketch")
        .filter(items_free(now), which, job_id=job_id, queue=queue)
        .order_by("id")
    )
    items = _batch(rows[: _batch_items(job_id, queue, now)])
    were_lost = any(item.lease_until for item in items)  # then it is one item
    values = {"heartbeat": now, "losses": F("losses") + int(were_lost)}
    lease_begin(IngestItem, items, duration=timedelta(seconds=LEASE_SECONDS), **values)
    for item in items:
        item.losses += int(were_lost)
    return items


def _batch_items(job_id: int, queue: str, now: datetime) -> int:
    """How many items to take: fewer towards the end of a job, so that its workers end at about the same time."""
    most = BATCH_ITEMS[Queue(queue)]
    count = IngestItem.objects.filter(items_free(now), job_id=job_id, queue=queue)[: SHARES * most].count()
    return min(most, max(SMALLEST_BATCH, count // SHARES))


def _batch(items: Iterable[IngestItem]) -> list[IngestItem]:
    """The first items that belong together: one that was lost, or several that were not, up to BATCH_BYTES."""
    batch: list[IngestItem] = []
    size = 0
    for item in items:
        was_lost = item.losses > 0 or item.lease_until is not None
        if batch and was_lost:
            continue
        size += item.version.size_bytes
        if batch and size > BATCH_BYTES:
            break
        batch.append(item)
        if was_lost:
            break
    return batch


def has_free_items(*, job_id: int, queue: str) -> bool:
    """Whether another batch could be claimed now."""
    return IngestItem.objects.filter(items_free(timezone.now()), job_id=job_id, queue=queue).exists()


# ── lease ─────────────────────────────────────────────────────────────────────────────────────


def items_held(items: Sequence[IngestItem]) -> QuerySet[IngestItem]:
    """Those of the items that are open, not put off, and that nobody else has claimed since."""
    return leased(IngestItem, items).filter(finished=None)


class ItemLease:
    """The items that a worker holds, and its signs of life. Only `extend` is for other threads."""

    def __init__(self, items: Sequence[IngestItem], checkpoint: Callable[[], None] = lambda: None) -> None:
        self.rows, self.checkpoint = items, checkpoint  # which hears every sign of life that the work itself gives
        self._renewed = time.monotonic()

    def alive(self, *, seconds: float = 0, **progress: int | str) -> None:
        """Give a sign of life, at least every LEASE_SECONDS; a checkpoint at which work may stop.

        `seconds`: how much longer the next one may take. `progress`: values of the items. Raises LeaseLostError.
        """
        self.checkpoint()
        if seconds or progress or time.monotonic() - self._renewed >= RENEW_SECONDS:
            self._renew(seconds, progress)

    def progress(self, count: int, total: int) -> None:
        """Store the progress of the present stage with the next sign of life. Raises LeaseLostError."""
        self.checkpoint()
        if count >= total or time.monotonic() - self._renewed >= RENEW_SECONDS:
            self._renew(0, {"progress_done": count, "progress_total": total})

    def extend(self) -> None:
        """Give a sign of life from another thread: the lease lasts on, where it is still held."""
        duration = timedelta(seconds=LEASE_SECONDS)
        lease_extend(items_held(self.rows), duration=duration, heartbeat=timezone.now())

    def release(self) -> None:
        """Give the items back that are still held."""
        lease_end(items_held(self.rows))

    def _renew(self, more_seconds: float, values: Mapping[str, int | str]) -> None:
        self._renewed, now = time.monotonic(), timezone.now()
        until = now + timedelta(seconds=LEASE_SECONDS + more_seconds)
        going_on = items_held(self.rows).filter(job__paused=None, job__cancelled=None)
        if not going_on.update(heartbeat=now, lease_until=until, **values):
            raise LeaseLostError
