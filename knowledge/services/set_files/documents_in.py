"""Documents of a set file become documents of this site: one part in one transaction, by the product's own publishing.

Nobody sees anything of a part before its transaction is committed. What a killed worker has begun is rolled back, and
its stored files, which no row names, go with the weekly purge.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from django.core.files.base import ContentFile, File
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from knowledge.embedder_fit import new_vectors_check
from knowledge.indexes.lexical_statistics import reference_length_set, statistics_lock
from knowledge.indexes.sentence_vectors import EmbeddedSentences, SentenceSpace
from knowledge.indexes.statements import files_lock_shared
from knowledge.model_registry import embedder
from knowledge.models import (
    ChunkEdit,
    Document,
    DocumentPicture,
    DocumentReview,
    DocumentVersion,
    IngestItem,
    IngestJob,
    KnowledgeSet,
    ReaderList,
    SetFile,
    SetFileDocument,
    Source,
)
from knowledge.services.ingestion.chunk_and_represent import EMBEDDED_TEXTS, PreparedVersion
from knowledge.services.ingestion.publish import versions_publish
from knowledge.services.model_slots import embedding_slot
from knowledge.services.names import names_store
from knowledge.services.quotas import quota_hold
from knowledge.services.reader_lists import reader_list_of
from knowledge.services.registration import (
    TITLED,
    Arrival,
    arrival_names,
    document_new,
    home_free,
    identity_home,
    version_new,
)
from knowledge.services.reingest import ReappliedEdits, edits_present, text_sha256
from knowledge.services.set_files.arriving import ArrivingDocument, ArrivingReaders
from knowledge.services.set_files.container import PartsReader
from knowledge.services.set_files.people import GROUP, USER, People
from ragcore.ports import FloatArray

PUBLISHING = timedelta(minutes=30)  # lease of items within the transaction that also finishes them
IN_MEMORY_BYTES = 4 * 1024 * 1024  # of an original; a larger one is read into a temporary file
Identity = tuple[str, str]  # external id, or ("", SHA-256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where and for whom documents are written, and how far what comes with them can be used."""

    scope: Scope
    actor: User
    set_file: SetFile
    knowledge_set: KnowledgeSet
    source: Source
    ingest_job: IngestJob
    people: People
    references: Mapping[str, float]  # average lengths of passages on the other site, for a tenant that has none yet
    space: SentenceSpace | None  # in which vectors of sentences are compared here; None: those of the file are not


def vectors_of(documents: Sequence[ArrivingDocument], *, is_same_model: bool) -> FloatArray:
    """float32[n, 768] of all entries: as they came, or made here. Slow where they are made: call outside transactions.

    Raises ModelUnavailableError, EmbedderRefusedError.
    """
    if not documents:
        return np.zeros((0, 768), np.float32)
    without_vectors = [arriving for arriving in documents if arriving.vectors is None or not is_same_model]
    rows = _embedded([entry.embedded_text for arriving in without_vectors for entry in arriving.representations])
    blocks = [
        arriving.vectors
        if arriving.vectors is not None and is_same_model
        else np.array([rows[entry.embedded_text] for entry in arriving.representations], np.float32).reshape(-1, 768)
        for arriving in documents
    ]
    return np.concatenate(blocks).astype(np.float32)


def _embedded(texts: Sequence[str]) -> dict[str, FloatArray]:
    unique = sorted(set(texts), key=len)
    rows: dict[str, FloatArray] = {}
    for start in range(0, len(unique), EMBEDDED_TEXTS):
        group = unique[start : start + EMBEDDED_TEXTS]
        with embedding_slot(alive=lambda: None):
            model = embedder()
            rows.update(zip(group, model.embed_documents(group), strict=True))
        new_vectors_check(model)
    return rows


def documents_write(
    into: Destination, documents: Sequence[ArrivingDocument], vectors: FloatArray, *, reader: PartsReader
) -> dict[str, int]:
    """Write and publish documents with their vectors, in the caller's transaction; counts by name.

    Raises QuotaExceededError, StorageFullError, SetFileInvalidError.
    """
    if not documents:
        return {}
    tenant_id = into.knowledge_set.tenant_id
    quota = quota_hold(tenant_id=tenant_id)
    quota.check(documents=len(documents), size_bytes=sum(arriving.size_bytes for arriving in documents))
    files_lock_shared(tenant_id=tenant_id)
    with ExitStack() as files:
        arrivals = [_arrival(into, arriving, reader, files) for arriving in documents]
        rows = _documents_create(into, documents, arrivals)
        versions = _versions_create(rows, documents, arrivals)
    _pictures_create(versions, documents, reader)
    edits = _edits_create(into, rows, documents)
    _reviews_create(rows, documents)
    _references_settle(into, documents)
    prepared = _prepared(into, versions, documents, edits)
    live = versions_publish(prepared, vectors, model=embedder().model)
    SetFileDocument.objects.bulk_create(
        SetFileDocument(set_file=into.set_file, number=arriving.number, document=row)
        for arriving, row in zip(documents, rows, strict=True)
    )
    return {
        "documents": live,
        "passages": sum(len({r.ordinal for r in arriving.representations}) for arriving in documents),
    }


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def _arrival(into: Destination, arriving: ArrivingDocument, reader: PartsReader, files: ExitStack) -> Arrival:
    return Arrival(
        name=arriving.file_name,
        content=_content(arriving, reader, files),
        sets=[into.knowledge_set],
        title=arriving.title,
        external_id=arriving.external_id,
        clearance=arriving.clearance,
        metadata=arriving.metadata,
        tags=arriving.tags,
        sent_as=arriving.sent_as,
    )


def _content(arriving: ArrivingDocument, reader: PartsReader, files: ExitStack) -> bytes | File[bytes]:
    part = f"files/{arriving.sha256}"
    if not arriving.has_file:
        return b""
    if part not in reader.parts or reader.size_bytes(part) <= IN_MEMORY_BYTES:
        return b"".join(reader.pieces(part))
    file = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
    for piece in reader.pieces(part):
        file.write(piece)
    file.flush()
    return File(file, name=arriving.file_name)


def _documents_create(
    into: Destination, documents: Sequence[ArrivingDocument], arrivals: Sequence[Arrival]
) -> list[Document]:
    """The documents in order: together, but for those whose identity another one in the set has."""
    home = identity_home(arrival=arrivals[0], source=into.source)
    readers: dict[ArrivingReaders, ReaderList] = {}
    rows = [
        _document(into, arriving, arrival, home, readers) for arriving, arrival in zip(documents, arrivals, strict=True)
    ]
    identities = _taken(into, rows, home)
    first: list[Document] = []
    again: list[tuple[Document, Arrival]] = []
    for row, arrival in zip(rows, arrivals, strict=True):
        if _identity(row) in identities:
            again.append((row, arrival))
        else:
            identities.add(_identity(row))
            first.append(row)
    Document.objects.bulk_create(first)
    for row, arrival in again:
        row.home = home_free(arrival=arrival, source=into.source)
        row.save()
    names_store([arrival_names(row, arrival) for row, arrival in zip(rows, arrivals, strict=True)])
    through = Document.sets.through
    through.objects.bulk_create(through(document_id=row.pk, knowledgeset_id=into.knowledge_set.pk) for row in rows)
    return rows


def _document(
    into: Destination,
    arriving: ArrivingDocument,
    arrival: Arrival,
    home: int,
    readers: dict[ArrivingReaders, ReaderList],
) -> Document:
    row = document_new(actor=into.actor, arrival=arrival, source=into.source, home=home)
    row.sha256 = arriving.sha256
    for name, value in arriving.fields.items():
        setattr(row, name, value)
    if arriving.is_titled:
        row.handled = {**row.handled, TITLED: True}
    lists = [
        _readers(into, names, readers) for names in (arriving.readers, arriving.source_readers) if names is not None
    ]
    if lists:  # where only the source has said it, keepers may change it here: the source is not here
        row.readers = lists[0]
        row.source_readers = lists[1] if len(lists) > 1 else None
    return row


def _readers(into: Destination, names: ArrivingReaders, lists_known: dict[ArrivingReaders, ReaderList]) -> ReaderList:
    if names not in lists_known:
        lists_known[names] = reader_list_of(
            tenant_id=into.knowledge_set.tenant_id,
            users=into.people.ids(USER, names.users),
            groups=into.people.ids(GROUP, names.groups),
        )
    return lists_known[names]


def _identity(row: Document) -> Identity:
    return (row.external_id, "") if row.external_id else ("", row.sha256)


def _taken(into: Destination, rows: Sequence[Document], home: int) -> set[Identity]:
    """Identities of these documents that the set has already."""
    lists_known = Document.objects.filter(
        tenant_id=into.knowledge_set.tenant_id, source=into.source, home=home, deleted=None
    ).order_by()
    by_id = lists_known.filter(external_id__in=[row.external_id for row in rows if row.external_id])
    by_bytes = lists_known.filter(external_id="", sha256__in=[row.sha256 for row in rows if not row.external_id])
    return {(name, "") for name in by_id.values_list("external_id", flat=True)} | {
        ("", digest) for digest in by_bytes.values_list("sha256", flat=True)
    }


def _versions_create(
    rows: Sequence[Document], documents: Sequence[ArrivingDocument], arrivals: Sequence[Arrival]
) -> list[DocumentVersion]:
    return DocumentVersion.objects.bulk_create(
        version_new(document=row, arrival=arrival)
        if arriving.has_file
        else DocumentVersion(
            document=row,
            number=1,
            sha256=arriving.sha256,
            file_name=arriving.file_name,
            size_bytes=arriving.size_bytes,
            sent_as=arriving.sent_as,
        )
        for row, arriving, arrival in zip(rows, documents, arrivals, strict=True)
    )


def _pictures_create(
    versions: Sequence[DocumentVersion], documents: Sequence[ArrivingDocument], reader: PartsReader
) -> None:
    rows = []
    for version, arriving in zip(versions, documents, strict=True):
        for picture in arriving.pictures:
            row = DocumentPicture(
                version=version,
                name=picture.name,
                media_type=picture.media_type,
                page=picture.page,
                alt=picture.alt,
            )
            content = ContentFile(b"".join(reader.pieces(f"files/{picture.sha256}")))
            row.file.save(picture.name, content, save=False)
            rows.append(row)
    DocumentPicture.objects.bulk_create(rows)


def _edits_create(
    into: Destination, rows: Sequence[Document], documents: Sequence[ArrivingDocument]
) -> dict[int, list[ChunkEdit]]:
    """Owners' edits by document; the importer is their author."""
    by_document: dict[int, list[ChunkEdit]] = {}
    for row, arriving in zip(rows, documents, strict=True):
        for edit in arriving.edits:
            edit.document, edit.author = row, into.actor
            edit.anchor_sha256 = text_sha256(edit.anchor_text)
        by_document[row.pk] = list(arriving.edits)
    ChunkEdit.objects.bulk_create(edit for edits in by_document.values() for edit in edits)
    return by_document


def _reviews_create(rows: Sequence[Document], documents: Sequence[ArrivingDocument]) -> None:
    DocumentReview.objects.bulk_create(
        DocumentReview(document=row, review_by=arriving.review_by)
        for row, arriving in zip(rows, documents, strict=True)
        if arriving.review_by is not None
    )


# ── publishing ──────────────────────────────────────────────────────────────────────────────────


def _references_settle(into: Destination, documents: Sequence[ArrivingDocument]) -> None:
    """Let the words of a tenant without documents weigh as they did; else its own average counts."""
    tenant_id = into.knowledge_set.tenant_id
    languages = {entry.language for arriving in documents for entry in arriving.representations}
    totals = statistics_lock(tenant_id=tenant_id, languages=languages)
    for language in sorted(languages & set(into.references)):
        if not totals[language].reference_length:
            reference_length_set(tenant_id=tenant_id, language=language, reference=into.references[language])


def _prepared(
    into: Destination,
    versions: Sequence[DocumentVersion],
    documents: Sequence[ArrivingDocument],
    edits: Mapping[int, Sequence[ChunkEdit]],
) -> list[PreparedVersion]:
    items = IngestItem.objects.bulk_create(
        IngestItem(
            job=into.ingest_job,
            version=version,
            attempt=1,
            lease_until=timezone.now() + PUBLISHING,
            queue=IngestItem.Queue.EMBED,
            stage=IngestItem.Stage.EMBEDDED,
        )
        for version in versions
    )
    present = edits_present(document_ids=[version.document_id for version in versions])
    return [
        PreparedVersion(
            item=item,
            drafts=arriving.drafts,
            representations=arriving.representations,
            edits=_shown(arriving, edits[item.version.document_id], present=present),
            missed={},
            title=item.version.document.title,
            attributes={},
            values=arriving.values,
            sentences=_sentences(into, arriving),
        )
        for item, arriving in zip(items, documents, strict=True)
    ]


def _shown(arriving: ArrivingDocument, edits: Sequence[ChunkEdit], *, present: Mapping[int, Any]) -> ReappliedEdits:
    document = edits[0].document_id if edits else 0
    return ReappliedEdits(
        drafts=arriving.drafts,
        disabled=arriving.disabled,
        edit_ids={ordinal: edits[place].pk for ordinal, place in arriving.edit_places.items()},
        replaced=arriving.edited,
        seen=present.get(document, frozenset()),
    )


def _sentences(into: Destination, arriving: ArrivingDocument) -> dict[int, EmbeddedSentences]:
    if into.space is None:
        return {}
    space, indexed = into.space, {entry.ordinal for entry in arriving.representations}
    return {
        ordinal: EmbeddedSentences(space, vectors)
        for ordinal, (name, vectors) in arriving.sentences.items()
        if name == space.name and ordinal in indexed
    }
