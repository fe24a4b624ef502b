"""One batch of an ingestion job: read, clean, cut, embed, publish."""

from __future__ import annotations

import logging

from django.db import DatabaseError, OperationalError, transaction

from knowledge.engines import embedder
from knowledge.models import IngestItem
from knowledge.queue import ADVANCE_INGESTION, enqueue_on_commit
from knowledge.services.ingestion.leases import has_free_items, items_claim, leases_renew, stage_set
from knowledge.services.ingestion.outcomes import IngestionFaultError, StoreUnavailableError, item_put_off_or_fail
from knowledge.services.ingestion.publish import versions_publish
from knowledge.services.ingestion.read import Prepared, item_prepare, texts_embed
from ragcore.errors import RagError, TransientError

logger = logging.getLogger(__name__)
Stage = IngestItem.Stage


def ingestion_advance(*, job_id: int) -> int:
    """Take one batch of a job as far as it goes; returns how many items became live.

    More work is queued as a new task, behind what other jobs have queued, so that a large job delays nobody.
    """
    items = items_claim(job_id=job_id)
    prepared = []
    for item in items:
        if (one := _prepared(item)) is not None:
            prepared.append(one)
        leases_renew(items)
    stage_set([p.item for p in prepared], Stage.CHUNKED)
    live = _finish(prepared)
    if has_free_items(job_id=job_id):
        with transaction.atomic():
            enqueue_on_commit(ADVANCE_INGESTION, job_id=job_id)
    return live


def _finish(prepared: list[Prepared]) -> int:
    """Embed and publish all at once; where that fails, one by one, so that a bad document fails alone."""
    if not prepared:
        return 0
    try:
        return _embed_and_publish(prepared)
    except (RagError, DatabaseError, ValueError) as error:
        if len(prepared) > 1 and not isinstance(error, (TransientError, OperationalError)):
            return sum(_finish([one]) for one in prepared)
        _give_up(prepared, error)
        return 0


def _embed_and_publish(prepared: list[Prepared]) -> int:
    items = [p.item for p in prepared]
    vectors = texts_embed(prepared, alive=lambda: leases_renew(items))
    stage_set(items, Stage.EMBEDDED)
    return versions_publish(prepared, vectors, model=embedder().model)


def _give_up(prepared: list[Prepared], error: Exception) -> None:
    if isinstance(error, OperationalError):
        logger.warning("publishing is tried again: %s", error)
        error = StoreUnavailableError()
    elif not isinstance(error, RagError):
        logger.exception("publishing failed", exc_info=error)
        error = IngestionFaultError()
    for one in prepared:
        item_put_off_or_fail(one.item, error)


def _prepared(item: IngestItem) -> Prepared | None:
    """Read one item; a failure ends or postpones that item only."""
    try:
        return item_prepare(item)
    except RagError as error:
        logger.info("item %s: %s: %s", item.pk, error.code, error.message)
        item_put_off_or_fail(item, error)
    except OperationalError as error:
        logger.warning("item %s is tried again: %s", item.pk, error)
        item_put_off_or_fail(item, StoreUnavailableError())
    except Exception:  # noqa: BLE001 (whatever a document provokes must not take its neighbours along)
        logger.exception("item %s: unexpected fault", item.pk)
        item_put_off_or_fail(item, IngestionFaultError())
    return None
