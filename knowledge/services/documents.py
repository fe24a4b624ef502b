"""Upload and delete documents, and create the jobs that ingest them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.utils import timezone

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.access_errors import ClearanceTooLowError
from knowledge.disk_space import space_require
from knowledge.errors import InvalidTitleError, JobOverError, UploadTooLargeError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexical_statistics import statistics_lock, versions_count
from knowledge.indexes.use_evidence import use_evidence_delete
from knowledge.models import Document, DocumentVersion, IngestItem, IngestJob
from knowledge.queue import advance_enqueue
from knowledge.selectors import document_get, is_kept
from knowledge.services.entities import entities_reread
from knowledge.services.floors import source_floor
from knowledge.services.registration import (
    DEFAULT_SOURCE,
    TITLED,
    Arrival,
    Registration,
    clearance_check,
    clearance_note,
    document_register,
    sets_owned,
    source_ensure,
    version_register,
)
from knowledge.services.reviews import Keep, review_change, reviews_arrived
from ragcore.errors import EmptyDocumentError
from ragcore.parsing import format_of

MAX_TITLE = 512  # characters


@dataclass(frozen=True, slots=True)
class UploadResult:
    """`job` is None if the asker keeps these bytes already; then only sets, tags and attributes were merged."""

    document: Document
    job: IngestJob | None
    duplicate: bool


def document_upload(
    *,
    scope: Scope,
    actor: User,
    sets: Sequence[int],
    name: str,
    content: bytes | File[bytes],
    title: str = "",
    external_id: str = "",
    source: str = DEFAULT_SOURCE,
    clearance: int = 0,
    metadata: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    review_by: date | None = None,
    new_version_of: int | None = None,
) -> UploadResult:
    """Store a file once per tenant and queue its ingestion. A file is read in pieces, never as a whole.

    Who keeps the same bytes merges sets; others get a record of their own, as if the bytes were new.
    `new_version_of`: the document whose next version it is; it keeps its sets, source and external id, and `sets` are
    added. The version that was live until then stays for the answers that cite it.

    Raises UploadTooLargeError, EmptyDocumentError, UnsupportedFormatError, NotFoundError, NotAllowedError,
    ClearanceTooHighError, MixedTenantsError.
    """
    upload_check(name=name, size_bytes=len(content) if isinstance(content, bytes) else content.size)
    clearance_check(scope=scope, clearance=clearance)
    with transaction.atomic():
        owned = sets_owned(scope=scope, set_ids=sets)
        tenant_id = owned[0].tenant_id if owned else scope.tenant_id
        arrival = Arrival(
            name=name,
            content=content,
            sets=owned,
            title=title,
            external_id=external_id,
            clearance=clearance,
            metadata=metadata or {},
            tags=tags,
            review_by=review_by,
        )
        entry = _registered(scope, actor, arrival, source_name=source, tenant_id=tenant_id, document_id=new_version_of)
        tenant_id = entry.document.tenant_id
        if review_by is not None:
            reviews_arrived(arrived={entry.document.pk: review_by})
        if entry.merged:
            epoch_advance(tenant_id=tenant_id, documents=[entry.document.pk])
        job = job_start(tenant_id=tenant_id, actor=actor, versions=[entry.version]) if entry.version else None
        if entry.version and job:
            document, number = entry.document, entry.version.number
            audit_record(
                actor=actor,
                action="document.upload" if number == 1 else "document.version",
                target=document.title,
                document=document.pk,
                version=number,
                job=job.pk,
            )
        return UploadResult(entry.document, job, entry.duplicate)


def _registered(
    scope: Scope, actor: User, arrival: Arrival, *, source_name: str, tenant_id: int, document_id: int | None
) -> Registration:
    if document_id is not None:
        return version_register(scope=scope, actor=actor, arrival=arrival, document_id=document_id)
    source = source_ensure(tenant_id=tenant_id, name=source_name)
    return document_register(scope=scope, actor=actor, arrival=arrival, source=source)


def upload_check(*, name: str, size_bytes: int) -> None:
    """Check name and size of a file before it is stored.

    Raises UploadTooLargeError, EmptyDocumentError, UnsupportedFormatError, StorageFullError.
    """
    if size_bytes > settings.MAX_UPLOAD_BYTES:
        limit = settings.MAX_UPLOAD_BYTES // (1024 * 1024)
        raise UploadTooLargeError("limit", limit_mb=limit)
    format_of(name)  # not its parser: only the process that reads the file loads the library of the format
    if size_bytes == 0:
        raise EmptyDocumentError("no_bytes")
    space_require(size_bytes)


def job_start(
    *,
    tenant_id: int,
    actor: User | None,
    versions: Sequence[DocumentVersion],
    kind: str = IngestJob.Kind.UPLOAD,
    queue: str = IngestItem.Queue.INGEST,
    stage: str = IngestItem.Stage.RECEIVED,
) -> IngestJob:
    """Create a job with one item per version; it starts after the commit.

    `queue`: its first queue; `embed` starts from the stored text of the original if that is still valid.
    """
    job = IngestJob.objects.create(tenant_id=tenant_id, created_by=actor, kind=kind)
    items = [IngestItem(job=job, version=version, queue=queue, stage=stage) for version in versions]
    IngestItem.objects.bulk_create(items, ignore_conflicts=True)
    advance_enqueue(job_id=job.pk, queue=queue)
    return job


def job_hold(job: IngestJob) -> None:
    """Lock the job so that nobody cancels it before the transaction ends, and cancelling sees what is added to it.

    Call before documents are locked, as cancelling does. Raises JobOverError if it was cancelled.
    """
    if IngestJob.objects.select_for_update(no_key=True).get(pk=job.pk).cancelled:
        raise JobOverError(job=job.pk)


def items_add(job: IngestJob, versions: Sequence[DocumentVersion]) -> None:
    """Add versions to a locked job; versions that it already has stay as they are. Call workers afterwards."""
    items = [IngestItem(job=job, version=version) for version in versions]
    IngestItem.objects.bulk_create(items, ignore_conflicts=True)


def job_work(job: IngestJob, *, workers: int) -> None:
    """Enqueue tasks for a job after the commit; a task that finds nothing to do ends at once."""
    for _ in range(workers):
        advance_enqueue(job_id=job.pk)


@transaction.atomic
def document_delete(*, scope: Scope, actor: User, document_id: int) -> None:
    """Delete softly: the commit removes it from every search and answer. Raises NotFoundError, NotAllowedError."""
    document = document_managed(scope=scope, document_id=document_id)
    statistics_lock(tenant_id=document.tenant_id)
    document = Document.objects.select_for_update().get(pk=document.pk)
    if document.deleted is not None:
        return
    if document.live_version_id:
        versions_count(tenant_id=document.tenant_id, versions=[document.live_version_id], sign=-1)
    document.deleted, document.state = timezone.now(), Document.State.DELETED
    document.save(update_fields=["deleted", "state", "updated"])
    use_evidence_delete(documents=[document.pk])
    epoch_advance(tenant_id=document.tenant_id, documents=[document.pk])
    audit_record(actor=actor, action="document.delete", target=document.title, document=document.pk)


@transaction.atomic
def document_update(
    *,
    scope: Scope,
    actor: User,
    document_id: int,
    title: str | None = None,
    tags: Sequence[str] | None = None,
    clearance: int | None = None,
    review_by: date | None | Keep = "keep",
    reviewed: bool = False,
) -> Document:
    """Change title, tags and clearance of a document; None keeps one. In force for every search with the commit.

    `review_by`: by when it is to be reviewed, None for no date; `reviewed`: it was reviewed now.
    A title that a person gave stays when the source brings the document again. Each changed field is recorded; a
    clearance in an event of its own.
    Raises NotFoundError, NotAllowedError, InvalidTitleError; ClearanceTooHighError where the old or the new clearance
    is above the asker's own; ClearanceTooLowError below the floor of its source.
    """
    document_managed(scope=scope, document_id=document_id)
    document = Document.objects.select_for_update().get(pk=document_id)
    if clearance is not None and clearance != document.clearance:
        clearance_check(scope=scope, clearance=max(document.clearance, clearance))
        if clearance < (floor := source_floor(document.source)):
            raise ClearanceTooLowError("floor", floor=floor)
    review_change(actor=actor, document=document, review_by=review_by, is_reviewed=reviewed)
    values: dict[str, Any] = {"title": title_checked(title), "tags": tags_sorted(tags), "clearance": clearance}
    before = {name: getattr(document, name) for name in values}
    changed = [name for name, value in values.items() if value is not None and value != before[name]]
    if not changed:
        return document
    if "clearance" in changed and clearance is not None:
        clearance_note(actor=actor, document=document, clearance=clearance)
    for name in changed:
        setattr(document, name, values[name])
    if "title" in changed:
        document.handled = {**document.handled, TITLED: True}
    document.save(update_fields=[*changed, "handled", "updated"])
    if "title" in changed and document.live_version_id is not None:
        entities_reread(versions=[document.live_version_id])
    epoch_advance(tenant_id=document.tenant_id, documents=[document.pk])
    if names := [name for name in changed if name != "clearance"]:
        changes = {name: [before[name], values[name]] for name in names}
        audit_record(
            actor=actor, action="document.change", target=document.title, document=document.pk, changes=changes
        )
    return document


def title_checked(title: str | None) -> str | None:
    """The title without white space around it. Raises InvalidTitleError for an empty or too long one."""
    if title is None:
        return None
    text = title.strip()
    if not 1 <= len(text) <= MAX_TITLE:
        raise InvalidTitleError
    return text


def tags_sorted(tags: Sequence[str] | None) -> list[str] | None:
    """Tags as they are stored: without white space around them, each once, in order."""
    return None if tags is None else sorted({tag.strip() for tag in tags if tag.strip()})


def document_managed(*, scope: Scope, document_id: int) -> Document:
    """A document that the asker keeps. Raises NotFoundError, NotAllowedError."""
    document = document_get(scope=scope, document_id=document_id)
    if not is_kept(scope=scope, document=document):
        raise NotAllowedError("kept_by_others")
    return document
