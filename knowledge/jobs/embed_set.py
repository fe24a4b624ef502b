"""Makes the vectors that passages of a set lack of the set's own embedding model (decision 041)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from django.utils.translation import gettext_lazy as _

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.set_embedder_rows import live_sets_concerned, set_epoch
from knowledge.indexes.set_vectors_fill import set_missing_count, set_missing_ids, set_vectors_fill, texts_of_entries
from knowledge.model_registry import embedder_of, optional_embedder_of
from knowledge.model_setup import hosts_allowed, setup_refresh
from knowledge.models import SetEmbedder
from knowledge.queue import FILL_SET_VECTORS, set_embedder_subject
from knowledge.search_model_setup import spec_of
from knowledge.services import embedder_fill
from knowledge.services.embedder_fill import LOOKED_SECONDS, entry_text, texts_embed
from knowledge.services.set_embedder_fill import PROBE, set_embedder_follow, set_embedder_of
from knowledge.services.set_embedder_scale import scales_measure, scales_store
from ragcore.ports import FloatArray
from work.kinds import Checkpoint, DueWork, JobKind, job_kind
from work.models import Job

STALE = 5_000  # vectors after which cached answers are made anew
State = SetEmbedder.State


@job_kind
class EmbedSet(JobKind):
    """One model of one set. The job of a new one ends when it is ready to be switched on.

    Then it begins anew each minute, and looks for gaps where something in the set has changed, and every few hours. A
    passage without a vector counts by the site's model meanwhile.
    """

    name = FILL_SET_VECTORS
    label = _("Vectors of the embedding model of a set")
    queue = "nightly"
    slice_seconds = 45.0
    longest_retry_seconds = 300.0
    ends_with_author = False

    def due(self) -> list[DueWork]:
        rows = SetEmbedder.objects.filter(state__in=SetEmbedder.FILLED).order_by("pk").values_list("pk", "tenant_id")
        return [DueWork(tenant_id=tenant, subject=set_embedder_subject(pk)) for pk, tenant in rows]

    def run(self, job: Job) -> Iterator[Checkpoint]:
        setup_refresh(now=True)
        row = set_embedder_of(subject=job.subject)
        if row is None or row.state not in SetEmbedder.FILLED:
            return
        spec = spec_of(row.target, hosts_allowed())
        embedder = embedder_of(spec)
        if embedder.model != row.model:
            return  # its row names another model by now
        place = _place(job, row)
        if not job.total:
            missing, total = set_missing_count(set_id=row.knowledge_set_id, model=row.model)
            yield Checkpoint(done=total - missing, total=total)
        while "after" in place and (ids := _missing(row, place["after"])):
            rows = texts_of_entries(ids)
            vectors = texts_embed([entry_text(text) for text in rows], embedder, spec) if rows else None
            unseen = (place["unseen"] + len(rows)) % STALE
            is_stale = unseen < place["unseen"]
            place = {**place, "after": ids[-1], "unseen": unseen, "has_answered": place["has_answered"] or bool(rows)}
            write = partial(_store, row.pk, [text.entry for text in rows], vectors, is_stale=is_stale)
            yield Checkpoint(data=place, done=min(job.done + len(rows), job.total), write=write)
            if set_embedder_of(subject=job.subject, states=SetEmbedder.FILLED) is None:
                return
        missing, total = set_missing_count(set_id=row.knowledge_set_id, model=row.model)
        measured = scales_measure(row=row, embedder=embedder, passages=total)
        if "probe" in place and not place["has_answered"]:
            optional_embedder_of(spec).embed_queries([PROBE])
        end = {"epoch": place["epoch"], "looked": place["looked"]}
        write = partial(_finish, row.pk, measured, is_stale=bool(place["unseen"]))
        yield Checkpoint(data=end, done=total - missing, total=total, write=write, is_last=True)

    def state_changed(self, job: Job) -> None:
        set_embedder_follow(subject=job.subject, state=job.state)

    def subject_words(self, job: Job) -> str:
        """The set, and the number of the model among its models."""
        row = set_embedder_of(subject=job.subject)
        return f"{row.knowledge_set.shown_name} {row.number}" if row is not None else ""


def _place(job: Job, row: SetEmbedder) -> Mapping[str, Any]:
    """Where to go on.

    `after`: the entry, where gaps are looked for; `epoch` and `looked`: of the set and when that began; `unseen`:
    vectors that cached answers do not know; `has_answered`: the model has; `probe`: it is to be asked.
    """
    before = job.checkpoint
    if "after" in before:
        return before
    epoch = list(set_epoch(tenant_id=row.tenant_id, set_id=row.knowledge_set_id))
    is_recent = time.time() - before.get("looked", 0.0) <= LOOKED_SECONDS
    place = {**before, "epoch": epoch, "unseen": 0, "has_answered": False}
    if row.state != State.BUILDING and before.get("epoch") == epoch and is_recent:
        return place
    return {**place, "after": 0, "looked": time.time()}


def _missing(row: SetEmbedder, after: int) -> list[int]:
    return set_missing_ids(set_id=row.knowledge_set_id, model=row.model, after=after, limit=embedder_fill.BATCH)


def _needed(row_id: int) -> SetEmbedder | None:
    """The row, locked; None where somebody has given the model up: they delete what was stored before."""
    rows = SetEmbedder.objects.filter(pk=row_id, state__in=SetEmbedder.FILLED)
    return rows.select_for_update(no_key=True, of=("self",)).first()


def _store(row_id: int, ids: Sequence[int], vectors: FloatArray | None, *, is_stale: bool) -> None:
    row = _needed(row_id)
    if row is None:
        return
    if vectors is not None:
        set_vectors_fill(model=row.model, ids=ids, vectors=vectors)
    if is_stale:
        _answers_end(row)


def _finish(row_id: int, measured: Mapping[str, Any], *, is_stale: bool) -> None:
    row = _needed(row_id)
    if row is None:
        return
    SetEmbedder.objects.filter(pk=row.pk, state=State.BUILDING).update(state=State.READY)
    scales_store(row=row, measured=measured)
    if is_stale:
        _answers_end(row)


def _answers_end(row: SetEmbedder) -> None:
    """Answers of sets in use that were made without the new vectors are stale."""
    if concerned := live_sets_concerned(row=row):
        epoch_advance(tenant_id=row.tenant_id, sets=concerned)
