"""Making vectors by the embedding models of sets in the background, beside questions and ingestion (D6, decision 041).

One worker at a time goes through the sets that have a model: those in use first. What is done is in the table itself,
so a worker that is killed loses the batch at hand, and whoever comes next goes on. A model that does not answer keeps
nothing else waiting: its error is noted at its row, and its passages count by the site's model meanwhile.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from functools import partial

from django.db import transaction
from django.utils import timezone

from knowledge.errors import error_columns
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.set_vectors_fill import (
    set_missing_count,
    set_missing_ids,
    set_vectors_drop,
    set_vectors_fill,
    texts_of_entries,
)
from knowledge.indexes.statements import set_vectors_try_lock
from knowledge.model_registry import embedder_of
from knowledge.model_setup import hosts_allowed, setup_refresh
from knowledge.models import SetEmbedder
from knowledge.queue import FILL_SET_VECTORS, enqueue_on_commit
from knowledge.search_model_setup import SearchModelSpec, spec_of
from knowledge.services.embedder_fill import BATCH, SLICE_SECONDS, StoppedError, entry_text, texts_embed
from knowledge.services.set_embedder_scale import scale_refresh
from ragcore.errors import RagError
from ragcore.ports import Embedder

logger = logging.getLogger(__name__)

State = SetEmbedder.State
PAGE = 5_000  # ids that are looked up at once
DROP_BATCH = 5_000


def set_vectors_tend(*, seconds: float = SLICE_SECONDS) -> int:
    """Make vectors for so long; returns how many. Nothing if another worker does it. Call outside of transactions."""
    setup_refresh(now=True)
    with set_vectors_try_lock() as alone:
        if not alone:
            return 0
        until, made, is_over = time.monotonic() + seconds, 0, True
        for row in _rows():
            before = made
            try:
                for count in _Filling(row, until).batches():
                    made += count
            except StoppedError:
                is_over = False
            except RagError as error:
                logger.warning("vectors of %s for set %d are not made: %s", row.model, row.knowledge_set_id, error)
                SetEmbedder.objects.filter(pk=row.pk).update(**error_columns(error))
            if made > before and row.state == State.LIVE:
                with transaction.atomic():
                    epoch_advance(tenant_id=row.tenant_id, sets=[row.knowledge_set_id])
    if not is_over and time.monotonic() >= until:
        enqueue_on_commit(FILL_SET_VECTORS)
    return made


def _rows() -> list[SetEmbedder]:
    """Of all sets, in the order of their states, the oldest first."""
    rows = SetEmbedder.objects.filter(state__in=SetEmbedder.FILLED).select_related("target")
    order = {state: place for place, state in enumerate(SetEmbedder.FILLED)}
    return sorted(rows, key=lambda row: (order[State(row.state)], row.pk))


class _Filling:
    """The work on one row, which its owners may pause or cancel at any batch."""

    def __init__(self, row: SetEmbedder, until: float) -> None:
        self.row, self.until = row, until
        self.spec: SearchModelSpec = spec_of(row.target, hosts_allowed())
        self.embedder: Embedder = embedder_of(self.spec)

    def batches(self) -> Iterator[int]:
        """Store vectors of all entries without one, a batch at a time, then bring the row up to date.

        Raises StoppedError, and RagError of the model.
        """
        row = self.row
        if self.embedder.model != row.model:
            return  # its row names another model by now
        if row.state == State.BUILDING:
            self._count()
        made = after = 0
        while ids := set_missing_ids(set_id=row.knowledge_set_id, model=row.model, after=after, limit=PAGE):
            for start in range(0, len(ids), BATCH):
                count = self._batch(ids[start : start + BATCH])
                made += count
                yield count
                self._alive(count)
            after = ids[-1]
        if made:
            self._count()
        scale_refresh(row=row, embedder=self.embedder, passages=row.total)
        rows = SetEmbedder.objects.filter(pk=row.pk)
        rows.update(done=row.done, total=row.total, **error_columns(None))
        rows.filter(state=State.BUILDING).update(state=State.READY)

    def _count(self) -> None:
        missing, total = set_missing_count(set_id=self.row.knowledge_set_id, model=self.row.model)
        self.row.done, self.row.total = total - missing, total

    def _batch(self, ids: Sequence[int]) -> int:
        rows = texts_of_entries(ids)
        if not rows:
            return 0
        vectors = texts_embed([entry_text(row) for row in rows], self.embedder, self.spec, partial(self._alive, 0))
        mine = SetEmbedder.objects.filter(pk=self.row.pk, state__in=SetEmbedder.FILLED)
        with transaction.atomic():
            if not mine.select_for_update(no_key=True).exists():  # whoever cancels deletes what was stored before
                raise StoppedError
            return set_vectors_fill(model=self.row.model, ids=[row.entry for row in rows], vectors=vectors)

    def _alive(self, count: int) -> None:
        """Write progress. Raises StoppedError where somebody has stopped the work, or its time is over."""
        rows = SetEmbedder.objects.filter(pk=self.row.pk)
        if count:
            self.row.done += count
            rows.update(done=self.row.done, total=self.row.total, heartbeat=timezone.now(), **error_columns(None))
        if not rows.filter(state__in=SetEmbedder.FILLED).exists() or time.monotonic() >= self.until:
            raise StoppedError


def set_vectors_sweep(*, model: str = "") -> int:
    """Delete vectors that no set needs, of one model or of all, in batches; returns how many.

    A process that dies leaves some, which the next maintenance takes. Call outside of transactions.
    """
    dropped = 0
    while True:
        with transaction.atomic():
            count = set_vectors_drop(model=model, limit=DROP_BATCH)
        dropped += count
        if count < DROP_BATCH:
            return dropped
