"""Soft deletion by the system, and removal for good of what was deleted or replaced long ago.

What a citation needs stays: a model that needs passages for ever has a foreign key to a document, version or chunk with
PROTECT, which keeps the version. Files are removed last, independently of rows: every file that no row names, also
after a killed process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.core.files.storage import Storage, default_storage
from django.db import IntegrityError, models, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from accounts.audit.events import event_add
from accounts.models import Tenant
from accounts.services import tenant_ensure_default
from knowledge.errors import error_columns
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.index_maintenance import orphaned_terms_count, terms_purge, terms_until
from knowledge.indexes.lexical_statistics import statistics_lock, versions_count
from knowledge.indexes.statements import files_lock_exclusive
from knowledge.indexes.use_evidence import use_evidence_delete
from knowledge.models import Chunk, Document, DocumentPicture, DocumentVersion, IndexEntry, IngestItem, LexiconTerm
from knowledge.services.reader_lists import reader_lists_purge
from knowledge.services.relations.ending import relations_pass_on
from ragcore.errors import RagError

BATCH = 500  # documents a transaction

logger = logging.getLogger(__name__)
TERMS_BATCH = 5000  # terms per lock of the tenant's statistics: some milliseconds
VERSION_FILES = ("file", "parsed", "rendition")
FILE_AGE = timedelta(days=1)  # an upload or a worker may write a file long before its row is committed


def documents_withdraw(*, tenant_id: int, document_ids: Sequence[int], reason: RagError | None = None) -> int:
    """Remove documents of one tenant from every search and answer; returns how many were still there.

    `reason` is stored on the documents, to explain where they went. Idempotent.
    """
    ids = sorted(document_ids)
    return sum(_withdraw(tenant_id, ids[start : start + BATCH], reason) for start in range(0, len(ids), BATCH))


@transaction.atomic
def _withdraw(tenant_id: int, ids: Sequence[int], reason: RagError | None) -> int:
    """Locks in the order of publishing: statistics, documents, epoch."""
    statistics_lock(tenant_id=tenant_id)
    rows = Document.objects.select_for_update().filter(tenant_id=tenant_id, pk__in=ids, deleted=None).order_by("pk")
    live_versions = dict(rows.values_list("pk", "live_version_id"))
    if not live_versions:
        return 0
    live = [version for version in live_versions.values() if version]
    versions_count(tenant_id=tenant_id, versions=live, sign=-1)
    now = timezone.now()
    error_values = error_columns(reason) if reason else {}
    Document.objects.filter(pk__in=live_versions).update(
        deleted=now, state=Document.State.DELETED, updated=now, **error_values
    )
    use_evidence_delete(documents=live_versions)
    epoch_advance(tenant_id=tenant_id, documents=list(live_versions))
    data = {"documents": sorted(live_versions), "reason": reason.code if reason else ""}
    event_add(actor=None, tenant_id=tenant_id, action="documents.withdraw", target=str(len(live_versions)), data=data)
    return len(live_versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeResult:
    """How much was removed, or would be removed."""

    versions: int = 0
    documents: int = 0
    terms: int = 0
    files: int = 0
    file_bytes: int = 0
    reader_lists: int = 0
    quotations: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """Stored files of one folder that no row names."""

    tenant_id: int
    names: list[str] = field(default_factory=list)


def purge(*, days: int, dry_run: bool = False) -> PurgeResult:
    """Remove what was deleted or replaced more than `days` ago, row by row; safe to interrupt and to repeat."""
    cutoff = timezone.now() - timedelta(days=days)
    versions = _versions(cutoff)
    if dry_run:
        files, size = _files_remove(dry_run=True)
        return PurgeResult(
            versions=versions.count(),
            documents=_documents(cutoff).count(),
            terms=orphaned_terms_count(),
            files=files,
            file_bytes=size,
            quotations=_quotations().count(),
        )
    removed = sum(_version_remove(pk, cutoff) for pk in list(versions.values_list("pk", flat=True)))
    documents = sum(_document_remove(pk, cutoff) for pk in list(_documents(cutoff).values_list("pk", flat=True)))
    terms = sum(_terms_remove(tenant_id) for tenant_id in Tenant.objects.order_by("pk").values_list("pk", flat=True))
    lists = reader_lists_purge()
    quotations = _quotations_remove()
    files, size = _files_remove(dry_run=False)
    if removed or documents or files:
        event_add(
            actor=None,
            tenant_id=tenant_ensure_default().pk,
            action="documents.purge",
            target=str(documents),
            data={"versions": removed, "documents": documents, "files": files},
        )
    return PurgeResult(
        versions=removed,
        documents=documents,
        terms=terms,
        files=files,
        file_bytes=size,
        reader_lists=lists,
        quotations=quotations,
    )


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def _versions(cutoff: datetime) -> QuerySet[DocumentVersion]:
    """Versions that no search finds, no worker holds and no citation needs."""
    newest = DocumentVersion.objects.filter(document=OuterRef("document")).order_by("-number").values("pk")[:1]
    replaced = Q(retired__lt=cutoff, live_for=None)
    never_live = Q(live_since=None, retired=None, created__lt=cutoff, live_for=None) & ~Q(pk=Subquery(newest))
    worked_on = IngestItem.objects.filter(version=OuterRef("pk"), finished=None)
    return (
        DocumentVersion.objects.filter(Q(document__deleted__lt=cutoff) | replaced | never_live)
        .filter(~Exists(worked_on), *(~needed for needed in _needed(DocumentVersion, "")))
        .filter(*(~needed for needed in _needed(Chunk, "__version")))
        .order_by("pk")
    )


def _documents(cutoff: datetime) -> QuerySet[Document]:
    """Deleted documents without versions whose rows no citation needs."""
    versions = DocumentVersion.objects.filter(document=OuterRef("pk"))
    documents = Document.objects.filter(~Exists(versions), deleted__lt=cutoff)
    return documents.filter(*(~needed for needed in _needed(Document, ""))).order_by("pk")


def _needed(model: type[models.Model], path: str) -> Iterator[Exists]:
    """One condition for every foreign key that protects rows of this model."""
    for relation in model._meta.related_objects:
        if getattr(relation, "on_delete", None) is models.PROTECT and relation.field.name:
            rows = relation.related_model._base_manager.order_by()  # type: ignore[union-attr]  # never "self"
            yield Exists(rows.filter(**{f"{relation.field.name}{path}": OuterRef("pk")}))


def _version_remove(pk: int, cutoff: datetime) -> int:
    """1 if it was removed, 0 if something needs it by now."""
    try:
        with transaction.atomic():
            version = _versions(cutoff).select_for_update(of=("self",), skip_locked=True).filter(pk=pk).first()
            if version is None:
                return 0
            IndexEntry.objects.filter(version=version).delete()
            version.delete()
    except (IntegrityError, models.ProtectedError):
        logger.info("version %s is needed after all and stays", pk)
        return 0
    return 1


def _document_remove(pk: int, cutoff: datetime) -> int:
    try:
        with transaction.atomic():
            document = _documents(cutoff).select_for_update(of=("self",), skip_locked=True).filter(pk=pk).first()
            if document is None:
                return 0
            relations_pass_on(document=document)
            document.delete()
    except (IntegrityError, models.ProtectedError):
        logger.info("document %s is needed after all and stays", pk)
        return 0
    return 1


def _terms_remove(tenant_id: int) -> int:
    """Remove terms that no entry contains, TERMS_BATCH at a time: publishing waits for the lock meanwhile."""
    after = removed = 0
    while (last := terms_until(tenant_id=tenant_id, after=after, limit=TERMS_BATCH)) is not None:
        with transaction.atomic():
            statistics_lock(tenant_id=tenant_id)
            removed += terms_purge(tenant_id=tenant_id, after=after, last=last)
        after = last
    return removed


def _quotations() -> QuerySet[LexiconTerm]:
    """Terms of lexicons that quote a document that is deleted, a version that was withdrawn or is gone, or one that is
    not known.

    Earlier releases did not store which version a term quotes: the first purge takes these quotations, and the next
    search for terms stores those of open suggestions again.
    """
    here = DocumentVersion.objects.filter(pk=OuterRef("evidence_version"), withdrawn=None, document__deleted=None)
    return LexiconTerm.objects.exclude(evidence="").filter(~Exists(here))


@transaction.atomic
def _quotations_remove() -> int:
    """Empty them; those whose terms somebody changes at this moment wait for the next purge."""
    term_ids = list(_quotations().select_for_update(skip_locked=True).values_list("pk", flat=True))
    return LexiconTerm.objects.filter(pk__in=term_ids).update(evidence="", evidence_version=None)


# ── files ───────────────────────────────────────────────────────────────────────────────────────


def orphans_count() -> tuple[int, int]:
    """Number and bytes of the files that the next purge removes."""
    return _files_remove(dry_run=True)


def _files_remove(*, dry_run: bool) -> tuple[int, int]:
    """Remove files that no row names and that are older than FILE_AGE; returns their number and bytes."""
    files = size = 0
    for folder in _orphans(default_storage):
        with transaction.atomic():  # an upload of the same bytes waits, then finds them gone; or we find its row
            files_lock_exclusive(tenant_id=folder.tenant_id)
            for name in sorted(set(folder.names) - _named(folder.names)):
                files, size = files + 1, size + default_storage.size(name)
                if not dry_run:
                    default_storage.delete(name)
    return files, size


def _orphans(storage: Storage) -> Iterator[_Files]:
    """Files that no row names, folder by folder. Top-level folders that belong to no tenant are skipped."""
    for tenant in sorted(storage.listdir("")[0] if storage.exists("") else []):
        if tenant.isdigit():
            yield from _orphans_below(storage, int(tenant), tenant)


def _orphans_below(storage: Storage, tenant_id: int, folder: str) -> Iterator[_Files]:
    folders, files = storage.listdir(folder)
    names = [f"{folder}/{name}" for name in files]
    before = timezone.now() - FILE_AGE
    orphans = [name for name in sorted(set(names) - _named(names)) if storage.get_modified_time(name) < before]
    if orphans:
        yield _Files(tenant_id=tenant_id, names=orphans)
    for name in sorted(folders):
        yield from _orphans_below(storage, tenant_id, f"{folder}/{name}")


def _named(names: list[str]) -> set[str]:
    """The names that a row refers to."""
    versions, pictures = DocumentVersion.objects.order_by(), DocumentPicture.objects.order_by()
    references = [versions.filter(**{f"{column}__in": names}).values_list(column) for column in VERSION_FILES]
    return {row[0] for row in references[0].union(*references[1:], pictures.filter(file__in=names).values_list("file"))}
