"""Changing single passages of a live version in the index, at once and in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from knowledge.engines import embedder
from knowledge.indexes.epoch import epoch_advance
from knowledge.indexes.passage_entries import entries_remove
from knowledge.indexes.statistics import passages_count, statistics_lock
from knowledge.models import Chunk
from knowledge.selectors.options import pipeline_options
from knowledge.services.ingestion.entries import NewEntry, entries_create
from knowledge.services.representations import Representation, question_representation, represented
from ragcore.options import RepresentationOptions
from ragcore.types import Block, ChunkDraft, ParsedDocument


def chunk_substitute(*, chunk: Chunk, fresh: Chunk | None, questions: Sequence[str]) -> None:
    """Retire a passage with its entries and, where `fresh` is given, store and index that in its place.

    Call inside a transaction. The passage and its document are locked by the caller.
    """
    document = chunk.version.document
    wanted = [] if fresh is None else _representations(fresh, questions)
    vectors = embedder().embed_documents([r.embedded_text for r in wanted]) if wanted else ()
    totals = statistics_lock(tenant_id=document.tenant_id, languages={r.language for r in wanted})
    entries_remove(tenant_id=document.tenant_id, chunk_ids=[chunk.pk])
    if chunk.retired is None:
        chunk.retired = timezone.now()
        chunk.save(update_fields=["retired"])
    if fresh is not None:
        fresh.save(force_insert=True)
        Chunk.objects.filter(parent=chunk, retired=None).update(parent=fresh)
        entries = [NewEntry(fresh.pk, fresh.version_id, r, v) for r, v in zip(wanted, vectors, strict=True)]
        entries_create(tenant_id=document.tenant_id, entries=entries, totals=totals, model=embedder().model)
        passages_count(tenant_id=document.tenant_id, chunk_ids=[fresh.pk], sign=+1)
    epoch_advance(tenant_id=document.tenant_id)


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
