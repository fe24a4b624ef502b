"""Make versions live: chunks, index entries, statistics and the switch in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from knowledge.errors import error_columns
from knowledge.indexes.copy import EntryRow, chunk_ids, entries_copy
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexical import document_side
from knowledge.indexes.lexical_statistics import (
    Totals,
    drifted_statistics,
    effective_length,
    reference_length_set,
    statistics_lock,
    term_ids,
    versions_count,
)
from knowledge.indexes.sentence_vectors import EmbeddedSentences, PassagePlace, sentences_store
from knowledge.indexes.statements import embedder_lock_shared
from knowledge.model_registry import tokenizer
from knowledge.models import Chunk, Document, DocumentVersion, EmbedderSwitch, IngestItem, RepresentationRetry
from knowledge.queue import FILL_VECTORS, READ_ENTITIES, RECORD_DUPLICATES, REFRESH_INDEXES, enqueue_on_commit
from knowledge.selectors.lexicon import lexicon_of_index
from knowledge.services.handlers import security_settle, series_settle
from knowledge.services.ingestion.chunk_and_represent import PreparedVersion
from knowledge.services.ingestion.item_state import items_held
from knowledge.services.ingestion.rendition import rendition_enqueue
from knowledge.services.reingest import edits_present, edits_settle
from knowledge.services.relations.targets import relations_settle
from knowledge.services.representations import Representation, retry_of
from ragcore.parsing.header_facts import attributes_of
from ragcore.ports import FloatArray
from ragcore.types import ChunkDraft
from work.queue import due_enqueue

Stage = IngestItem.Stage


@dataclass(frozen=True, slots=True)
class PublishableVersion:
    """A version to be published with the vectors of its representations, float32[n, 768]."""

    prepared: PreparedVersion
    vectors: FloatArray

    @property
    def version(self) -> DocumentVersion:
        return self.prepared.item.version


def versions_publish(prepared: Sequence[PreparedVersion], vectors: FloatArray, *, model: str) -> int:
    """Switch all versions of a batch to live, each tenant in one transaction; returns how many went live.

    A version that is not newer than the live one, or whose document was deleted meanwhile, is retired unseen; one
    whose job was cancelled stays as it is. One whose document was edited since it was described is given back to be
    described again: it still has its place in the queue of its job.
    """
    tenants: dict[int, list[PublishableVersion]] = {}
    start = 0
    for version in prepared:
        end = start + len(version.representations)
        tenants.setdefault(version.item.version.document.tenant_id, []).append(
            PublishableVersion(version, vectors[start:end])
        )
        start = end
    return sum(_publish_tenant(tenant_id, ready, model) for tenant_id, ready in sorted(tenants.items()))


@transaction.atomic
def _publish_tenant(tenant_id: int, ready: list[PublishableVersion], model: str) -> int:
    languages = {r.language for publishable in ready for r in publishable.prepared.representations}
    totals = statistics_lock(tenant_id=tenant_id, languages=languages)
    documents = _lock_documents(ready)
    ready = _still_held(ready)
    newest = _newest((publishable.version for publishable in ready), documents)
    overtaken = _overtaken([publishable for publishable in ready if publishable.version.pk in newest])
    items_held([publishable.prepared.item for publishable in overtaken]).update(lease_until=None)
    ready = [publishable for publishable in ready if publishable not in overtaken]
    batch = [publishable for publishable in ready if publishable.version.pk in newest]
    entries = _chunks_create(batch)
    entries_create(tenant_id=tenant_id, entries=entries, totals=totals, model=model)
    _switch(tenant_id, batch, documents)
    _items_finish(ready)
    _afterwards(tenant_id, batch)
    return len(batch)


# ── what is published ───────────────────────────────────────────────────────────────────────────


def _lock_documents(ready: Sequence[PublishableVersion]) -> dict[int, Document]:
    ids = {publishable.version.document_id for publishable in ready}
    locked = Document.objects.select_for_update(of=("self",)).select_related("live_version")
    locked = locked.defer("live_version__markdown", "live_version__sketch")
    return {d.pk: d for d in locked.filter(pk__in=ids).order_by("pk")}


def _still_held(ready: Sequence[PublishableVersion]) -> list[PublishableVersion]:
    """Those whose item nobody has cancelled, and no other worker has claimed since; locked until all is written."""
    items = items_held([publishable.prepared.item for publishable in ready]).select_for_update()
    going_on = set(items.order_by("pk").values_list("pk", flat=True))
    return [publishable for publishable in ready if publishable.prepared.item.pk in going_on]


def _newest(versions: Iterable[DocumentVersion], documents: dict[int, Document]) -> set[int]:
    """Version ids to be published: newer than the live one, the newest of its document, the document not deleted."""
    chosen: dict[int, DocumentVersion] = {}
    for version in sorted(versions, key=lambda v: v.number):
        document = documents[version.document_id]
        live = document.live_version.number if document.live_version else 0
        if document.deleted is None and version.number > live:
            chosen[document.pk] = version
    return {version.pk for version in chosen.values()}


def _overtaken(batch: Sequence[PublishableVersion]) -> list[PublishableVersion]:
    """Those whose documents owners have edited since they were described; no edit can come now (passage_lock)."""
    present = edits_present(document_ids=[publishable.version.document_id for publishable in batch])
    return [
        publishable
        for publishable in batch
        if publishable.prepared.edits.seen != present.get(publishable.version.document_id, frozenset())
    ]


# ── its rows ────────────────────────────────────────────────────────────────────────────────────


def _chunks_create(batch: Sequence[PublishableVersion]) -> list[NewEntry]:
    """Store the passages of all versions and what these lack; return their entries with the ids of the passages."""
    numbers = iter(chunk_ids(sum(len(publishable.prepared.drafts) for publishable in batch)))
    chunks: list[Chunk] = []
    entries: list[NewEntry] = []
    retries: list[RepresentationRetry] = []
    sentences: list[tuple[PassagePlace, EmbeddedSentences]] = []
    for publishable in batch:
        ids = {draft.ordinal: next(numbers) for draft in publishable.prepared.drafts}
        chunks += [_chunk(publishable, draft, ids) for draft in publishable.prepared.drafts]
        pairs = zip(publishable.prepared.representations, publishable.vectors, strict=True)
        entries += [NewEntry(ids[r.ordinal], publishable.version.pk, r, vector) for r, vector in pairs]
        retries += [
            retry_of(ids[n], publishable.version.pk, missed) for n, missed in publishable.prepared.missed.items()
        ]
        version, tenant = publishable.version.pk, publishable.version.document.tenant_id
        sentences += [
            (PassagePlace(ids[n], version, tenant), vectors) for n, vectors in publishable.prepared.sentences.items()
        ]
    Chunk.objects.bulk_create(chunks)  # parents are checked at the end of the transaction
    RepresentationRetry.objects.bulk_create(retries)
    sentences_store(sentences)
    return entries


def _chunk(publishable: PublishableVersion, draft: ChunkDraft, ids: dict[int, int]) -> Chunk:
    edits = publishable.prepared.edits
    return Chunk(
        pk=ids[draft.ordinal],
        version=publishable.version,
        ordinal=draft.ordinal,
        kind=draft.kind,
        text=draft.text,
        heading_path=[heading[:512] for heading in draft.heading_path],
        parent_id=None if draft.parent is None else ids[draft.parent],
        is_continuation=draft.is_continuation,
        page=draft.page,
        boxes=[[b.page, b.x0, b.y0, b.x1, b.y1] for b in draft.boxes],
        tokens=draft.tokens,
        edit_id=edits.edit_ids.get(draft.ordinal),
        edited=edits.replaced.get(draft.ordinal),
        retired=timezone.now() if draft.ordinal in edits.disabled else None,
    )


# ── the switch ──────────────────────────────────────────────────────────────────────────────────


def _switch(tenant_id: int, batch: Sequence[PublishableVersion], documents: dict[int, Document]) -> None:
    now = timezone.now()
    fresh = {publishable.version.document_id: publishable.version for publishable in batch}
    old = [live for pk in fresh if (live := documents[pk].live_version_id)]
    versions_count(tenant_id=tenant_id, versions=old, sign=-1)
    versions_count(tenant_id=tenant_id, versions=[version.pk for version in fresh.values()], sign=+1)
    DocumentVersion.objects.filter(pk__in=old).update(retired=now)
    for publishable in batch:
        DocumentVersion.objects.filter(pk=publishable.version.pk).update(live_since=now, **publishable.prepared.values)
    versions = DocumentVersion.objects.filter(pk__in=[v.pk for v in fresh.values()], document=OuterRef("pk"))
    Document.objects.filter(pk__in=fresh).update(
        live_version=Subquery(versions.values("pk")),
        state=Document.State.LIVE,
        updated=now,
        **error_columns(None),
    )
    _titles_set(batch, documents)
    _attributes_set(batch, documents)


def _titles_set(batch: Sequence[PublishableVersion], documents: Mapping[int, Document]) -> None:
    """Titles that follow the file; one that somebody has changed since the version was described stays."""
    for publishable in batch:
        before, locked = publishable.version.document.title, documents[publishable.version.document_id]
        if publishable.prepared.title != before and locked.title == before:
            Document.objects.filter(pk=locked.pk).update(title=publishable.prepared.title)


def _attributes_set(batch: Sequence[PublishableVersion], documents: Mapping[int, Document]) -> None:
    """Attributes that the headers of pages give, and not those of the version before; what others have set stays."""
    for publishable in batch:
        locked, fresh = documents[publishable.version.document_id], publishable.prepared.attributes
        if not fresh and not attributes_of(locked.metadata):
            continue
        live = locked.live_version
        former = live.report.get("attributes", {}) if live is not None else {}
        set_by_others = {key: value for key, value in locked.metadata.items() if former.get(key) != value}
        metadata = {**fresh, **set_by_others}
        if metadata != locked.metadata:
            Document.objects.filter(pk=locked.pk).update(metadata=metadata)


def _items_finish(ready: Sequence[PublishableVersion]) -> None:
    items_held([publishable.prepared.item for publishable in ready]).update(
        stage=Stage.LIVE, finished=timezone.now(), lease_until=None, **error_columns(None)
    )


def _afterwards(tenant_id: int, batch: Sequence[PublishableVersion]) -> None:
    """What follows from the switch: first inside the transaction, the epoch last of all locks, then in tasks."""
    for publishable in batch:
        if publishable.prepared.edits.applied or publishable.prepared.edits.lost:
            edits_settle(publishable.prepared.edits)
    if in_series := [publishable.version.document_id for publishable in batch if publishable.version.document.series]:
        series_settle(document_ids=in_series)
    ids = [publishable.version.document_id for publishable in batch]
    security_settle(document_ids=ids)
    epoch_advance(tenant_id=tenant_id, documents={*ids, *relations_settle(tenant_id=tenant_id, document_ids=ids)})
    for publishable in batch:
        rendition_enqueue(publishable.version)
    if batch:
        enqueue_on_commit(RECORD_DUPLICATES)
        due_enqueue(READ_ENTITIES)
    if any(tenant == tenant_id for tenant, _ in drifted_statistics()):
        enqueue_on_commit(REFRESH_INDEXES)


# ── entries of the index, under the lock of the tenant's statistics ───────────────────────────────


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A representation of a stored chunk with its vector, float32[768].

    `whole_terms`: terms of the lexicon that its text contains, which do not count for its length.
    """

    chunk_id: int
    version_id: int
    representation: Representation
    vector: FloatArray
    whole_terms: tuple[str, ...] = ()


def entries_create(*, tenant_id: int, entries: Sequence[NewEntry], totals: Mapping[str, Totals], model: str) -> None:
    """Copy entries into the unindexed tail; `totals` are what `statistics_lock` returned for their languages.

    Frequencies and totals are counted by whoever makes the entries live. Where the site changes its embedding model,
    or may go back, the vectors of the other model are made at once after the commit.
    """
    embedder_lock_shared()
    if entries and EmbedderSwitch.objects.filter(state__in=EmbedderSwitch.FILLED).exclude(model=model).exists():
        due_enqueue(FILL_VECTORS)
    entries = _with_whole_terms(tenant_id, entries)
    for language, total in totals.items():
        of_language = [entry for entry in entries if entry.representation.language == language]
        if not of_language:
            continue
        reference = total.reference_length or _mean_length(of_language)
        if not total.reference_length:
            reference_length_set(tenant_id=tenant_id, language=language, reference=reference)
        texts = {term for entry in of_language for term in (*entry.representation.terms, *entry.whole_terms)}
        ids = term_ids(tenant_id=tenant_id, language=language, texts=texts)
        entries_copy([_row(tenant_id, entry, ids, reference, model) for entry in of_language])


def _with_whole_terms(tenant_id: int, entries: Sequence[NewEntry]) -> Sequence[NewEntry]:
    """The entries with a term for each whole name of the tenant's lexicons that their text contains."""
    lexicon = lexicon_of_index(tenant_id=tenant_id)
    if not lexicon:
        return entries
    with_names: list[NewEntry] = []
    for entry in entries:
        text = entry.representation.embedded_text
        whole = lexicon.whole_terms(text, tokenizer().words(text))
        with_names.append(replace(entry, whole_terms=tuple(whole)) if whole else entry)
    return with_names


def _mean_length(entries: Sequence[NewEntry]) -> float:
    """Terms of a passage on average, by its longest entry, as the statistics count them."""
    longest: dict[int, int] = {}
    for entry in entries:
        longest[entry.chunk_id] = max(longest.get(entry.chunk_id, 0), len(entry.representation.terms))
    return sum(longest.values()) / len(longest)


def _row(tenant_id: int, entry: NewEntry, ids: Mapping[str, int], reference: float, model: str) -> EntryRow:
    representation = entry.representation
    frequencies = Counter(ids[term] for term in (*representation.terms, *entry.whole_terms))
    length = effective_length(representation.kind, len(representation.terms), reference)
    return EntryRow(
        chunk_id=entry.chunk_id,
        version_id=entry.version_id,
        tenant_id=tenant_id,
        representation=representation.kind,
        language=representation.language,
        length=len(representation.terms),
        vector=entry.vector,
        weights=document_side(frequencies, length=length, average_length=reference),
        embedding_model=model,
        text="" if representation.kind == "body" else representation.embedded_text,
    )
