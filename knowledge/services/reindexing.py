"""Changing single passages of a live version in the index, at once.

What takes long, writing representations and embedding them, is done before anything is locked. Then, in one
transaction, the lock of the tenant's statistics comes first: publishing and deleting take it first as well, so whoever
holds it knows which version is live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from knowledge.engines import embedder
from knowledge.errors import PassageChangedError
from knowledge.indexes.epoch import epoch_advance
from knowledge.indexes.passage_entries import entries_remove
from knowledge.indexes.statistics import Totals, passages_count, statistics_lock
from knowledge.models import Chunk
from knowledge.selectors.options import pipeline_options
from knowledge.services.ingestion.entries import NewEntry, entries_create
from knowledge.services.representations import Representation, question_representation, represented
from ragcore.options import RepresentationOptions
from ragcore.ports import FloatArray
from ragcore.types import Block, ChunkDraft, ParsedDocument


@dataclass(frozen=True, slots=True)
class PreparedPassage:
    """A passage that is not stored yet, and by what it is found; `vectors` are float32[768] each."""

    chunk: Chunk
    representations: Sequence[Representation]
    vectors: Sequence[FloatArray] | FloatArray
    model: str


def passage_prepare(chunk: Chunk, *, questions: Sequence[str]) -> PreparedPassage:
    """Write and embed what stands for a passage. Takes its time: call outside transactions."""
    wanted = _representations(chunk, questions)
    model = embedder()
    return PreparedPassage(chunk, wanted, model.embed_documents([r.embedded_text for r in wanted]), model.model)


def passage_lock(chunk: Chunk, *, fresh: PreparedPassage | None = None) -> Mapping[str, Totals]:
    """Keep a passage as it is until the end of the transaction; returns the totals for `passage_substitute`.

    Raises PassageChangedError where it is not in the live version any more, or not as it was read.
    """
    languages = {r.language for r in fresh.representations} if fresh else set()
    totals = statistics_lock(tenant_id=chunk.version.document.tenant_id, languages=languages)
    as_read = Q(pk=chunk.pk, retired=chunk.retired, edit=chunk.edit_id)
    if not Chunk.objects.filter(as_read, version__live_for__isnull=False, version__live_for__deleted=None).exists():
        raise PassageChangedError
    return totals


def passage_substitute(*, old: Chunk, fresh: PreparedPassage | None, totals: Mapping[str, Totals]) -> None:
    """Retire a passage with its entries and, where `fresh` is given, store and index that in its place.

    Call under `passage_lock`, as the last thing of the transaction: the epoch is the last of all locks.
    """
    tenant_id = old.version.document.tenant_id
    entries_remove(tenant_id=tenant_id, chunk_ids=[old.pk])
    if old.retired is None:
        old.retired = timezone.now()
        old.save(update_fields=["retired"])
    if fresh is not None:
        _store(fresh, old, totals, tenant_id)
    epoch_advance(tenant_id=tenant_id)


def _store(fresh: PreparedPassage, old: Chunk, totals: Mapping[str, Totals], tenant_id: int) -> None:
    chunk = fresh.chunk
    chunk.save(force_insert=True)
    Chunk.objects.filter(parent=old, retired=None).update(parent=chunk)
    pairs = zip(fresh.representations, fresh.vectors, strict=True)
    entries = [NewEntry(chunk.pk, chunk.version_id, r, vector) for r, vector in pairs]
    entries_create(tenant_id=tenant_id, entries=entries, totals=totals, model=fresh.model)
    passages_count(tenant_id=tenant_id, chunk_ids=[chunk.pk], sign=+1)


def _representations(chunk: Chunk, questions: Sequence[str]) -> list[Representation]:
    """Entries of one passage; written by rules, as somebody is waiting."""
    document = chunk.version.document
    options: RepresentationOptions = pipeline_options(documents=[document])[document.pk].representations
    draft = ChunkDraft(
        ordinal=chunk.ordinal,
        text=chunk.text,
        tokens=chunk.tokens,
        kind="whole" if chunk.kind == Chunk.Kind.WHOLE else "body",
        heading_path=tuple(chunk.heading_path),
        page=chunk.page,
    )
    made = represented(
        title=document.title,
        parsed=ParsedDocument(blocks=(Block(kind="paragraph", text=chunk.text),)),
        drafts=[draft],
        options=options,
        model=None,
        alive=lambda: None,
    )
    asked = [question_representation(ordinal=chunk.ordinal, title=document.title, text=q) for q in questions]
    return [*made.representations, *asked]
