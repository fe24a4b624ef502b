"""Making vectors by the embedding models of sets in the background, beside questions and ingestion (decision 041).

One worker at a time goes through the sets that have a model: those in use first. What is done is in the table itself,
so a worker that is killed loses the batch at hand, and whoever comes next goes on. A model that does not answer keeps
nothing else waiting: its error is noted at its row until it answers again, its row comes last, and its passages count
by the site's model meanwhile.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial

from django.db import Error as DatabaseFailure
from django.db import transaction
from django.utils import timezone

from knowledge.errors import error_columns
from knowledge.faults import failure_columns
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.set_embedder_rows import live_sets_concerned, set_epoch
from knowledge.indexes.set_vectors_fill import (
    Dropped,
    set_missing_count,
    set_missing_ids,
    set_vectors_drop,
    set_vectors_fill,
    texts_of_entries,
)
from knowledge.indexes.statements import set_vectors_try_lock
from knowledge.model_registry import embedder_of, optional_embedder_of
from knowledge.model_setup import hosts_allowed, setup_refresh
from knowledge.models import SetEmbedder
from knowledge.queue import FILL_SET_VECTORS, enqueue_on_commit
from knowledge.search_model_setup import SearchModelSpec, spec_of
from knowledge.services.embedder_fill import BATCH, LOOKED_SECONDS, SLICE_SECONDS, StoppedError, entry_text, texts_embed
from knowledge.services.set_embedder_scale import scale_refresh
from ragcore.errors import ModelUnavailableError, RagError
from ragcore.ports import Embedder

logger = logging.getLogger(__name__)

State = SetEmbedder.State
PAGE = 5_000  # ids that are looked up at once
DROP_BATCH = 5_000
PROBE = "Does this model answer?"


_complete: dict[
    int, tuple[tuple[int, int], float]
] = {}  # row -> epoch of its set without a gap, and when that was read


def set_vectors_tend(*, seconds: float = SLICE_SECONDS) -> int:
    """Make vectors for so long; returns how many. Nothing if another worker does it. Call outside of transactions."""
    setup_refresh(now=True)
    with set_vectors_try_lock() as alone:
        if not alone:
            return 0
        until, made, is_over, is_begun = time.monotonic() + seconds, 0, True, False
        silent: set[str] = set()  # models that have not answered a moment ago
        for row in _rows():
            if is_begun and time.monotonic() >= until:
                is_over = is_over and bool(row.error_code)  # what fails is not tried again before a minute is over
                break
            if row.model in silent:
                continue
            filling = _Filling(row, until)
            try:
                filling.fill()
            except StoppedError:
                is_over = False
            except DatabaseFailure:
                raise
            except Exception as error:  # of one model, or of the library or server behind it: others go on
                is_known = isinstance(error, RagError)
                logger.warning(
                    "vectors of %s for set %d are not made: %s",
                    *(row.model, row.knowledge_set_id, error),
                    exc_info=not is_known,
                )
                columns = {"heartbeat": timezone.now(), **failure_columns(error)}
                SetEmbedder.objects.filter(pk=row.pk).update(**columns)
                if isinstance(error, ModelUnavailableError):
                    silent.add(row.model)
            made, is_begun = made + filling.made, is_begun or filling.has_worked
            if filling.made and (concerned := live_sets_concerned(row=row)):
                with transaction.atomic():
                    epoch_advance(tenant_id=row.tenant_id, sets=concerned)
    if not is_over and time.monotonic() >= until:
        enqueue_on_commit(FILL_SET_VECTORS)
    return made


def _rows() -> list[SetEmbedder]:
    """Of all sets, in the order of their states, the oldest first; then those that failed, the latest try last."""
    rows = SetEmbedder.objects.filter(state__in=SetEmbedder.FILLED).select_related("target")
    order = {state: place for place, state in enumerate(SetEmbedder.FILLED)}

    def place(row: SetEmbedder) -> tuple[float, int, int]:
        tried = row.heartbeat.timestamp() if row.error_code and row.heartbeat is not None else 0.0
        return (tried, order[State(row.state)], row.pk)

    return sorted(rows, key=place)


class _Filling:
    """The work on one row, which its owners may pause or cancel at any batch."""

    def __init__(self, row: SetEmbedder, until: float) -> None:
        self.row, self.until = row, until
        self.made = 0
        self.has_worked = False  # whether it has taken time

    def fill(self) -> None:
        """Store vectors of all entries without one, a batch at a time, then bring the row up to date.

        Raises StoppedError, and whatever the model or its client raises.
        """
        row = self.row
        self.spec: SearchModelSpec = spec_of(row.target, hosts_allowed())
        self.embedder: Embedder = embedder_of(self.spec)
        if self.embedder.model != row.model:
            return  # its row names another model by now
        if row.state == State.BUILDING:
            self._count()
        epoch = set_epoch(tenant_id=row.tenant_id, set_id=row.knowledge_set_id)
        if not self._is_complete(epoch):
            self._gaps_fill()
            _complete[row.pk] = (epoch, time.monotonic())
        if self.made:
            self._count()
        self.has_worked |= scale_refresh(row=row, embedder=self.embedder, passages=row.total)
        has_answered = bool(self.made)
        if row.error_code and not has_answered:
            optional_embedder_of(self.spec).embed_queries([PROBE])  # an error stands until the model answers
            has_answered = True
        rows = SetEmbedder.objects.filter(pk=row.pk)
        rows.update(done=row.done, total=row.total, **(error_columns(None) if has_answered else {}))
        rows.filter(state=State.BUILDING).update(state=State.READY)

    def _is_complete(self, epoch: tuple[int, int]) -> bool:
        """Whether this process has looked, found no gap, and nothing has changed since, for some hours."""
        known, looked = _complete.get(self.row.pk, (None, float("-inf")))
        is_recent = time.monotonic() - looked <= LOOKED_SECONDS
        return self.row.state != State.BUILDING and known == epoch and is_recent

    def _gaps_fill(self) -> None:
        row, after = self.row, 0
        while ids := set_missing_ids(set_id=row.knowledge_set_id, model=row.model, after=after, limit=PAGE):
            self.has_worked = True
            for start in range(0, len(ids), BATCH):
                count = self._batch(ids[start : start + BATCH])
                self.made += count
                self._alive(count)
            after = ids[-1]

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


def set_model_note(*, row_id: int, code: str, message: str) -> None:
    """Note that a model has not answered a question, where the same is not noted already; the worker asks it then."""
    rows = SetEmbedder.objects.filter(pk=row_id, state__in=SetEmbedder.FILLED).exclude(error_code=code)
    rows.update(heartbeat=timezone.now(), error_code=code, error_message=message[:512], error_data={})


def set_vectors_sweep(*, tenant_id: int = 0, model: str = "") -> int:
    """Delete vectors that no set needs, of a model of a tenant or of all, in batches; returns how many.

    A process that dies leaves some, which the next maintenance takes. Call outside of transactions.
    """
    dropped, page = 0, Dropped(0, 0, is_last=False)
    while not page.is_last:
        with transaction.atomic():
            page = set_vectors_drop(tenant_id=tenant_id, model=model, after=page.after, limit=DROP_BATCH)
        dropped += page.count
    if dropped:
        _complete.clear()  # a document may have come back to a set meanwhile
    return dropped
