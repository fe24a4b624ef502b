"""Making versions live: chunks, entries, statistics and the switch in one transaction (D28)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from django.db import transaction
from django.utils import timezone

from knowledge.indexes.bm25 import document_side
from knowledge.indexes.copy import EntryRow, entries_copy
from knowledge.indexes.epoch import epoch_advance
from knowledge.indexes.identifiers import chunk_ids
from knowledge.indexes.statistics import (
    Totals,
    reference_length_set,
    statistics_drifted,
    statistics_lock,
    term_ids,
    versions_count,
)
from knowledge.models import Chunk, Document, DocumentVersion, IngestItem
from knowledge.queue import REFRESH_INDEXES, enqueue_on_commit
from knowledge.services.ingestion.read import Prepared
from knowledge.services.representations import Representation
from ragcore.ports import FloatArray
from ragcore.types import ChunkDraft

Stage = IngestItem.Stage
Row = tuple[Prepared, Representation, FloatArray]


def versions_publish(prepared: Sequence[Prepared], vectors: FloatArray, *, model: str) -> int:
    """Switch all versions of a batch to live, each tenant in one transaction; returns how many went live.

    A version that is not newer than the live one, or whose document was deleted meanwhile, is retired unseen.
    """
    rows: dict[int, list[Row]] = {}
    pairs = ((one, r) for one in prepared for r in one.representations)
    for (one, representation), vector in zip(pairs, vectors, strict=True):
        rows.setdefault(one.item.version.document.tenant_id, []).append((one, representation, vector))
    return sum(_publish_tenant(tenant_id, tenant_rows, model) for tenant_id, tenant_rows in sorted(rows.items()))


@transaction.atomic
def _publish_tenant(tenant_id: int, rows: list[Row], model: str) -> int:
    totals = statistics_lock(tenant_id=tenant_id, languages={r.language for _, r, _ in rows})
    documents = _lock_documents(rows)
    newest = _newest({one.item.version.pk: one.item.version for one, _, _ in rows}.values(), documents)
    wanted = [row for row in rows if row[0].item.version_id in newest]
    batch = list({row[0].item.pk: row[0] for row in wanted}.values())
    chunk_by_key = {key: pk for one in batch for key, pk in _chunks_create(one).items()}
    _entries_create(tenant_id, wanted, chunk_by_key, totals, model)
    _switch(tenant_id, batch, documents)
    _items_finish(rows)
    if any(tenant == tenant_id for tenant, _ in statistics_drifted()):
        enqueue_on_commit(REFRESH_INDEXES)
    return len(batch)


def _lock_documents(rows: list[Row]) -> dict[int, Document]:
    ids = {one.item.version.document_id for one, _, _ in rows}
    locked = Document.objects.select_for_update(of=("self",)).select_related("live_version")
    return {d.pk: d for d in locked.filter(pk__in=ids).order_by("pk")}


def _newest(versions: Iterable[DocumentVersion], documents: dict[int, Document]) -> set[int]:
    """Version ids to be published: newer than the live one, the newest of its document, the document not deleted."""
    chosen: dict[int, DocumentVersion] = {}
    for version in sorted(versions, key=lambda v: v.number):
        document = documents[version.document_id]
        live = document.live_version.number if document.live_version else 0
        if document.deleted is None and version.number > live:
            chosen[document.pk] = version
    return {version.pk for version in chosen.values()}


def _chunks_create(one: Prepared) -> dict[tuple[int, int], int]:
    """Store the chunks of a version, replacing those of an attempt that did not finish."""
    version = one.item.version
    Chunk.objects.filter(version=version).delete()
    ids = dict(zip((d.ordinal for d in one.drafts), chunk_ids(len(one.drafts)), strict=True))
    ordered = sorted(one.drafts, key=lambda d: d.parent is not None)  # parents first
    Chunk.objects.bulk_create([_chunk(version, draft, ids) for draft in ordered])
    return {(version.pk, ordinal): pk for ordinal, pk in ids.items()}


def _chunk(version: DocumentVersion, draft: ChunkDraft, ids: dict[int, int]) -> Chunk:
    return Chunk(
        pk=ids[draft.ordinal],
        version=version,
        ordinal=draft.ordinal,
        kind=draft.kind,
        text=draft.text,
        heading_path=[heading[:512] for heading in draft.heading_path],
        parent_id=None if draft.parent is None else ids[draft.parent],
        is_continuation=draft.is_continuation,
        page=draft.page,
        boxes=[[b.page, b.x0, b.y0, b.x1, b.y1] for b in draft.boxes],
        tokens=draft.tokens,
    )


def _entries_create(
    tenant_id: int, rows: list[Row], chunks: dict[tuple[int, int], int], totals: dict[str, Totals], model: str
) -> None:
    for language, total in totals.items():
        mine = [row for row in rows if row[1].language == language]
        if not mine:
            continue
        reference = total.reference_length or sum(len(r.terms) for _, r, _ in mine) / len(mine)
        if not total.reference_length:
            reference_length_set(tenant_id=tenant_id, language=language, reference=reference)
        ids = term_ids(tenant_id=tenant_id, language=language, texts={t for _, r, _ in mine for t in r.terms})
        entries_copy([_entry(tenant_id, row, chunks, ids, reference, model) for row in mine])


def _entry(
    tenant_id: int, row: Row, chunks: dict[tuple[int, int], int], ids: dict[str, int], reference: float, model: str
) -> EntryRow:
    one, representation, vector = row
    version = one.item.version
    frequencies = Counter(ids[term] for term in representation.terms)
    return EntryRow(
        chunk_id=chunks[version.pk, representation.ordinal],
        version_id=version.pk,
        tenant_id=tenant_id,
        representation=representation.kind,
        language=representation.language,
        length=len(representation.terms),
        vector=vector,
        weights=document_side(frequencies, length=len(representation.terms), average_length=reference),
        embedding_model=model,
    )


def _switch(tenant_id: int, batch: list[Prepared], documents: dict[int, Document]) -> None:
    now = timezone.now()
    newest = {one.item.version.document_id: one.item.version for one in batch}
    old = [d.live_version_id for pk, d in documents.items() if pk in newest and d.live_version_id]
    fresh = [version.pk for version in newest.values()]
    versions_count(tenant_id=tenant_id, versions=old, sign=-1)
    versions_count(tenant_id=tenant_id, versions=fresh, sign=+1)
    DocumentVersion.objects.filter(pk__in=old).update(retired=now)
    DocumentVersion.objects.filter(pk__in=fresh).update(live_since=now)
    changed = [documents[pk] for pk in newest]
    for document in changed:
        document.live_version = newest[document.pk]
        document.state, document.error_code, document.error_message = Document.State.LIVE, "", ""
        document.updated = now
    Document.objects.bulk_update(changed, ["live_version", "state", "error_code", "error_message", "updated"])
    epoch_advance(tenant_id=tenant_id)


def _items_finish(rows: list[Row]) -> None:
    IngestItem.objects.filter(pk__in={one.item.pk for one, _, _ in rows}).update(
        stage=Stage.LIVE, finished=timezone.now(), lease_until=None, error_code="", error_message=""
    )
