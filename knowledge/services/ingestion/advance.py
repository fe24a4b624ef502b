"""Process one batch of an ingestion job: parse, OCR, chunk, represent, embed, publish (architecture.md).

An item passes through up to three queues. `ingest` reads. Scans and pictures go on in `ocr`, long documents in
`embed`; everything else stays with the worker that read it, because handing over a short text costs more than embedding
it. Each stage starts from stored data, so it may be interrupted and repeated. Small files do not wait for long work: a
thread beside it reads them (`short_lane`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from knowledge.disk_space import has_space
from knowledge.errors import StageTooLongError
from knowledge.model_registry import embedder
from knowledge.models import IngestItem, IngestJob
from knowledge.queue import advance_enqueue
from knowledge.selectors.options import PipelineOptions, pipeline_options
from knowledge.services.ingestion.chunk_and_represent import (
    PreparedVersion,
    item_represent,
    texts_embed,
    with_sentences,
)
from knowledge.services.ingestion.item_state import (
    IngestionFaultError,
    ItemLease,
    has_free_items,
    item_hand_over,
    items_claim,
    items_put_off_or_fail,
)
from knowledge.services.ingestion.parse_and_ocr import ReadDocument, item_ocr, item_read
from knowledge.services.ingestion.publish import versions_publish
from knowledge.services.ingestion.shares import job_in_turn
from knowledge.services.ingestion.short_lane import SHORT, short_lane
from knowledge.services.open_items import items_free
from knowledge.services.upkeep import ingestion_ended
from ragcore.deadline import DeadlinePassedError, deadline
from ragcore.errors import RagError, TransientError
from work.errors import LeaseLostError
from work.faults import StoreUnavailableError, known_fault
from work.signs_of_life import signs_of_life

T = TypeVar("T")
logger = logging.getLogger(__name__)
Stage = IngestItem.Stage
Queue = IngestItem.Queue

LONG_CHARACTERS = 200_000  # from which reading and embedding are two tasks

RETURN_SECONDS = 60.0  # that a worker waits for the database before it lets its lease lapse
RETURN_PAUSE_SECONDS = 1.0  # between two attempts
STAGE_SECONDS = 600.0  # that a worker may compute between two checkpoints, and
STAGE_SECONDS_A_MB = 60.0  # so much more for large originals: far more than any honest document takes
FORGOTTEN_SECONDS = 30  # the message of an item that no worker has claimed by then may be lost
REPEAT_SECONDS = 60  # between two messages for the same job: it may only be waiting in a long queue


def ingestion_advance(*, job_id: int, queue: str = "") -> int:
    """Process one batch of each queue of a job, or only of `queue`; returns how many items went live.

    Remaining work becomes a new task behind those of other jobs, so that a large job delays nobody. Where tenants have
    shares of the queue, the batch may be one of another tenant's job; that job keeps its own tasks.
    """
    return sum(_advance(job_id, name) for name in ([queue] if queue else Queue.values))


def _advance(job_id: int, queue: str) -> int:
    if not has_space():
        logger.warning("job %s waits for space on the disk", job_id)  # the sweeper queues it again
        return 0
    served = job_in_turn(job_id=job_id, queue=queue)
    lease = ItemLease(items_claim(job_id=served, queue=queue))
    beside = nullcontext() if queue == Queue.OCR or not lease.rows else short_lane(_advance_short)
    with beside:
        live = _work(lease, queue)
    if (lease.rows or served != job_id) and has_free_items(job_id=job_id, queue=queue):
        with transaction.atomic():
            advance_enqueue(job_id=job_id, queue=queue)
    elif lease.rows:
        ingestion_ended()
    return live


def _advance_short(job_id: int, queue: str) -> None:
    """One batch of small files beside long work; the job keeps its own tasks for everything else."""
    if not has_space():
        return
    served = job_in_turn(job_id=job_id, queue=queue, which=SHORT)
    lease = ItemLease(items_claim(job_id=served, queue=queue, which=SHORT))
    _work(lease, queue)
    if lease.rows:
        ingestion_ended()


def _work(lease: ItemLease, queue: str) -> int:
    """Take a batch as far as this queue takes it; returns how many items went live."""
    if not lease.rows:
        return 0
    try:
        with signs_of_life(lease.extend, limit_seconds=_stage_seconds(lease.rows)) as pulse:
            lease.checkpoint = pulse.checkpoint
            return _recognise(lease) if queue == Queue.OCR else _to_live(lease, queue)
    except LeaseLostError:
        logger.info("jobs %s were stopped", sorted({item.job_id for item in lease.rows}))
        lease.release()
        return 0
    except (OperationalError, InterfaceError) as error:
        _give_back(lease.rows, error)
        return 0


def _give_back(items: Sequence[IngestItem], error: Exception) -> None:
    """Put a batch off once the database can be reached again: a lease that lapses counts as a worker that died.

    Raises `error` where that takes longer than RETURN_SECONDS.
    """
    logger.warning("the database failed while a batch was read: %s", error)
    until = time.monotonic() + RETURN_SECONDS
    while True:
        try:
            items_put_off_or_fail(items, StoreUnavailableError())
            return
        except (OperationalError, InterfaceError):
            if time.monotonic() >= until:
                raise error from None
        if not connection.in_atomic_block:
            connection.close()  # it may be a dead one
        time.sleep(RETURN_PAUSE_SECONDS)


# ── the queues ──────────────────────────────────────────────────────────────────────────────────


def _to_live(lease: ItemLease, queue: str) -> int:
    """Read a batch and publish it, except items that continue in other queues."""
    options = _options(lease.rows)
    prepared = []
    for item in lease.rows:
        lease.alive()
        described = _each(item, lease, lambda item: _prepare(item, options[item.version.document_id], lease, queue))
        prepared += [described] if described else []
    return _finish(prepared, lease)


def _prepare(item: IngestItem, options: PipelineOptions, lease: ItemLease, queue: str) -> PreparedVersion | None:
    """Read and represent one item; None if another queue continues with it."""
    read = item_read(item, options, lease)
    return None if _handed_over(read, queue) else item_represent(read, lease)


def _handed_over(read: ReadDocument, queue: str) -> bool:
    """Hand the item over if another queue continues with it; returns whether one does."""
    if not read.stored.recognised:
        item_hand_over(read.item, queue=Queue.OCR, stage=Stage.PARSED)
    elif queue == Queue.INGEST and read.characters > LONG_CHARACTERS:
        item_hand_over(read.item, queue=Queue.EMBED, stage=Stage.CLEANED)
    else:
        return False
    return True


def _recognise(lease: ItemLease) -> int:
    options = _options(lease.rows)
    for item in lease.rows:
        _each(item, lease, lambda item: _recognise_item(item, options[item.version.document_id], lease))
    return 0


def _recognise_item(item: IngestItem, options: PipelineOptions, lease: ItemLease) -> None:
    read = item_read(item, options, lease)
    if not read.stored.recognised:
        item_ocr(read, lease)
    item_hand_over(item, queue=Queue.EMBED, stage=Stage.RECOGNISED)


def _options(items: Sequence[IngestItem]) -> dict[int, PipelineOptions]:
    return pipeline_options(documents=[item.version.document for item in items])


# ── the end ─────────────────────────────────────────────────────────────────────────────────────


def _finish(prepared: list[PreparedVersion], lease: ItemLease) -> int:
    """Embed and publish all at once; if that fails, one by one, so that a bad document fails alone."""
    if not prepared:
        return 0
    items = [item_version.item for item_version in prepared]
    try:
        with _limited(items, lease):
            return _embed_and_publish(prepared, lease)
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 (as in _each)
        fault = _expected(error)
        if len(prepared) > 1 and not isinstance(fault, TransientError):
            return sum(_finish([version], lease) for version in prepared)
        items_put_off_or_fail(items, fault)
        return 0


def _embed_and_publish(prepared: list[PreparedVersion], lease: ItemLease) -> int:
    own_lease = ItemLease([item_version.item for item_version in prepared], checkpoint=lease.checkpoint)
    own_lease.alive(stage=Stage.REPRESENTED)
    vectors = texts_embed(prepared, own_lease)
    prepared = with_sentences(prepared, own_lease)
    own_lease.alive(stage=Stage.EMBEDDED, progress_done=0, progress_total=0)
    return versions_publish(prepared, vectors, model=embedder().model)


def _each(item: IngestItem, lease: ItemLease, step: Callable[[IngestItem], T]) -> T | None:
    """Run one step for one item; a failure ends or postpones only that item."""
    try:
        with _limited([item], lease):
            return step(item)
    except LeaseLostError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever a document provokes must not take its neighbours along)
        items_put_off_or_fail([item], _expected(error))
        return None


def _stage_seconds(items: Sequence[IngestItem]) -> float:
    """How long a step may take; beyond it, it is ended, or counts as hung where that is not possible."""
    return STAGE_SECONDS + STAGE_SECONDS_A_MB * sum(item.version.size_bytes for item in items) / 2**20


@contextmanager
def _limited(items: Sequence[IngestItem], lease: ItemLease) -> Iterator[None]:
    """Ends what takes too long between two checkpoints. Raises StageTooLongError."""
    seconds, heard = _stage_seconds(items), lease.checkpoint
    try:
        with deadline(seconds) as restart:

            def checkpoint() -> None:
                heard()
                restart()

            lease.checkpoint = checkpoint
            yield
    except DeadlinePassedError as passed:
        raise StageTooLongError(minutes=round(seconds / 60)) from passed
    finally:
        lease.checkpoint = heard


def _expected(error: Exception) -> RagError:
    """The error to be shown; unexpected errors are logged."""
    fault = known_fault(error)
    if fault is not None:
        logger.info("%s: %s", fault.code, fault.message)
        return fault
    logger.exception("unexpected fault", exc_info=error)
    return IngestionFaultError()


# ── items without a worker ────────────────────────────────────────────────────────────────────────


@transaction.atomic
def leases_sweep() -> list[int]:
    """Call workers to every job that has items with an expired lease, or without one; returns the job ids.

    A queue in which a job shows signs of life is skipped: its worker continues with the other items, and more messages
    would give the job more than its share of the workers.
    """
    now = timezone.now()
    silent_since = now - timedelta(seconds=FORGOTTEN_SECONDS)
    forgotten = Q(lease_until__isnull=False) | Q(job__created__lt=silent_since)
    recently = Q(job__swept__gte=now - timedelta(seconds=REPEAT_SECONDS))
    at_work = IngestItem.objects.filter(
        job=OuterRef("job"), queue=OuterRef("queue"), finished=None, lease_until__gt=now, heartbeat__gt=silent_since
    )
    rows = IngestItem.objects.filter(items_free(now), forgotten, ~recently, ~Exists(at_work))
    pairs = sorted(set(rows.order_by().values_list("job_id", "queue").distinct()))
    jobs = sorted({job_id for job_id, _ in pairs})
    IngestJob.objects.filter(pk__in=jobs).update(swept=now)
    for job_id, queue in pairs:
        advance_enqueue(job_id=job_id, queue=queue)
    return jobs
