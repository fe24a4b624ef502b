"""One batch of an ingestion job: read, recognise, cut, describe, embed, publish (architecture.md).

An item passes through up to three queues (D31). `ingest` reads. Scans and pictures go on in `ocr`, long documents in
`embed`; everything else stays in the hands of the worker that read it, because handing a short text over costs more
than embedding it. Each stage starts from what is stored, so any of them may be interrupted and repeated.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.db import OperationalError, transaction
from redis import RedisError

from knowledge.engines import embedder
from knowledge.models import IngestItem
from knowledge.queue import advance_enqueue
from knowledge.selectors.options import PipelineOptions, pipeline_options
from knowledge.services.ingestion.describing import Prepared, item_describe
from knowledge.services.ingestion.embedding import texts_embed
from knowledge.services.ingestion.leases import Holding, WorkStoppedError, has_free_items, items_claim
from knowledge.services.ingestion.outcomes import (
    IngestionFaultError,
    StoreUnavailableError,
    item_hand_over,
    items_put_off_or_fail,
)
from knowledge.services.ingestion.publish import versions_publish
from knowledge.services.ingestion.reading import Read, item_read
from knowledge.services.ingestion.recognising import item_recognise
from ragcore.errors import RagError, TransientError

T = TypeVar("T")
logger = logging.getLogger(__name__)
Stage = IngestItem.Stage
Queue = IngestItem.Queue

LONG_CHARACTERS = 200_000  # from which reading and embedding are two tasks


def ingestion_advance(*, job_id: int, queue: str = "") -> int:
    """Take one batch of each queue of a job (or only of this one) as far as it goes; returns how many became live.

    More work is queued as a new task, behind what other jobs have queued, so that a large job delays nobody.
    """
    return sum(_advance(job_id, name) for name in ([queue] if queue else Queue.values))


def _advance(job_id: int, queue: str) -> int:
    holding = Holding(items_claim(job_id=job_id, queue=queue))
    live = 0
    try:
        if holding.items:
            live = _recognise(holding) if queue == Queue.OCR else _to_live(holding, queue)
    except WorkStoppedError:
        logger.info("job %s was stopped", job_id)
        holding.release()
    if holding.items and has_free_items(job_id=job_id, queue=queue):
        with transaction.atomic():
            advance_enqueue(job_id=job_id, queue=queue)
    return live


# ── the queues ──────────────────────────────────────────────────────────────────────────────────


def _to_live(holding: Holding, queue: str) -> int:
    """Read a batch and take it live, but for what other queues go on with."""
    options = _options(holding.items)
    prepared = []
    for item in holding.items:
        holding.alive()
        described = _each(item, lambda item: _prepare(item, options[item.version.document_id], holding, queue))
        prepared += [described] if described else []
    return _finish(prepared)


def _prepare(item: IngestItem, options: PipelineOptions, holding: Holding, queue: str) -> Prepared | None:
    """Read and describe one item; None where another queue goes on with it."""
    read = item_read(item, options, holding)
    return None if _handed_over(read, queue) else item_describe(read, holding)


def _handed_over(read: Read, queue: str) -> bool:
    """Whether another queue goes on with the item."""
    if not read.stored.recognised:
        item_hand_over(read.item, queue=Queue.OCR, stage=Stage.PARSED)
    elif queue == Queue.INGEST and read.characters > LONG_CHARACTERS:
        item_hand_over(read.item, queue=Queue.EMBED, stage=Stage.CLEANED)
    else:
        return False
    return True


def _recognise(holding: Holding) -> int:
    options = _options(holding.items)
    for item in holding.items:
        _each(item, lambda item: _recognise_item(item, options[item.version.document_id], holding))
    return 0


def _recognise_item(item: IngestItem, options: PipelineOptions, holding: Holding) -> None:
    read = item_read(item, options, holding)
    if not read.stored.recognised:
        item_recognise(read, holding)
    item_hand_over(item, queue=Queue.EMBED, stage=Stage.RECOGNISED)


def _options(items: Sequence[IngestItem]) -> dict[int, PipelineOptions]:
    return pipeline_options(documents=[item.version.document for item in items])


# ── the end ─────────────────────────────────────────────────────────────────────────────────────


def _finish(prepared: list[Prepared]) -> int:
    """Embed and publish all at once; where that fails, one by one, so that a bad document fails alone."""
    if not prepared:
        return 0
    try:
        return _embed_and_publish(prepared)
    except WorkStoppedError:
        raise
    except Exception as error:  # noqa: BLE001 (as in _each)
        if len(prepared) > 1 and not isinstance(error, (TransientError, OperationalError, RedisError)):
            return sum(_finish([one]) for one in prepared)
        items_put_off_or_fail([one.item for one in prepared], _expected(error))
        return 0


def _embed_and_publish(prepared: list[Prepared]) -> int:
    mine = Holding([one.item for one in prepared])
    mine.alive(stage=Stage.REPRESENTED)
    vectors = texts_embed(prepared, mine)
    mine.alive(stage=Stage.EMBEDDED, progress_done=0, progress_total=0)
    return versions_publish(prepared, vectors, model=embedder().model)


def _each(item: IngestItem, step: Callable[[IngestItem], T]) -> T | None:
    """One step with one item; a failure ends or postpones that item only."""
    try:
        return step(item)
    except WorkStoppedError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever a document provokes must not take its neighbours along)
        items_put_off_or_fail([item], _expected(error))
        return None


def _expected(error: Exception) -> RagError:
    """The error as people are told it; what is not expected is logged."""
    if isinstance(error, RagError):
        logger.info("%s: %s", error.code, error.message)
        return error
    if isinstance(error, (OperationalError, RedisError)):
        logger.warning("tried again: %s", error)
        return StoreUnavailableError()
    logger.exception("unexpected fault", exc_info=error)
    return IngestionFaultError()
