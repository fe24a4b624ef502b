"""Withdraw a version of a document: it leaves every search, and its bytes are not taken again from their source."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import error_columns
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexical_statistics import statistics_lock, versions_count
from knowledge.models import Document, DocumentVersion, DuplicatePair, IngestItem, IngestJob
from knowledge.services.documents import document_managed, job_start
from knowledge.services.ingestion.item_state import document_error_set
from knowledge.services.reingest import version_again
from ragcore.errors import PermanentError

Stage = IngestItem.Stage


class VersionWithdrawnError(PermanentError):
    """The version was taken back by a keeper of the document."""

    code = "version_withdrawn"
    default_message = "This version was withdrawn by an owner of the document."


@transaction.atomic
def version_withdraw(*, scope: Scope, actor: User, document_id: int, number: int) -> IngestJob | None:
    """Take a version back for good; twice changes nothing more. Citations of it keep their passages.

    Where it is the live one, the last version with other bytes that was live is ingested again, under the job that is
    returned; without one the document cannot be found until somebody sends a new version. A version on its way is
    cancelled. Raises NotFoundError, NotAllowedError.
    """
    document = document_managed(scope=scope, document_id=document_id)
    statistics_lock(tenant_id=document.tenant_id)
    document = Document.objects.select_for_update().get(pk=document.pk)
    version = document.versions.defer("markdown", "sketch").filter(number=number).first()
    if version is None:
        raise NotFoundError("version", document=document_id)
    if version.withdrawn is not None:
        return None
    version.withdrawn = timezone.now()
    version.save(update_fields=["withdrawn"])
    audit_record(actor=actor, action="version.withdraw", target=document.title, document=document.pk, version=number)
    _items_cancel(version)
    if version.pk != document.live_version_id:
        return None
    job = _retire_live(document, version, actor=actor)
    epoch_advance(tenant_id=document.tenant_id, documents=[document.pk])
    return job


@transaction.atomic
def version_return(*, scope: Scope, actor: User, document_id: int, number: int) -> IngestJob | None:
    """Take back the withdrawal of a version: its bytes are ingested again as the newest version, under the job.

    None where it is not withdrawn. Raises NotFoundError, NotAllowedError.
    """
    document = document_managed(scope=scope, document_id=document_id)
    statistics_lock(tenant_id=document.tenant_id)
    document = Document.objects.select_for_update().get(pk=document.pk)
    version = document.versions.defer("markdown", "sketch").filter(number=number).first()
    if version is None:
        raise NotFoundError("version", document=document_id)
    if version.withdrawn is None:
        return None
    version.withdrawn = None
    version.save(update_fields=["withdrawn"])
    document.sha256 = version.sha256
    if document.live_version_id is None:
        document.state = Document.State.PROCESSING
    document.save(update_fields=["sha256", "state", "updated"])
    audit_record(actor=actor, action="version.return", target=document.title, document=document.pk, version=number)
    fresh = version_again(version)
    return job_start(tenant_id=document.tenant_id, actor=actor, versions=[fresh], kind=IngestJob.Kind.REBUILD)


def _items_cancel(version: DocumentVersion) -> None:
    """End what works on the version; its document is locked."""
    items = list(IngestItem.objects.select_for_update().filter(version=version, finished=None).order_by("pk"))
    reason = VersionWithdrawnError()
    for item in items:
        IngestItem.objects.filter(pk=item.pk).update(
            stage=Stage.CANCELLED, finished=timezone.now(), lease_until=None, **error_columns(reason)
        )
        document_error_set(item, reason)


def _retire_live(document: Document, version: DocumentVersion, *, actor: User) -> IngestJob | None:
    """Take the live version out of the index, and begin with what follows it."""
    versions_count(tenant_id=document.tenant_id, versions=[version.pk], sign=-1)
    DocumentVersion.objects.filter(pk=version.pk).update(retired=version.withdrawn)
    open_pairs = DuplicatePair.objects.filter(state=DuplicatePair.State.OPEN)
    open_pairs.filter(Q(first=document) | Q(second=document)).delete()
    document.live_version = None
    on_its_way = IngestItem.objects.filter(version__document=document, finished=None).exists()
    former = None if on_its_way else _former(document)
    document.state = Document.State.PROCESSING if former or on_its_way else Document.State.FAILED
    document.sha256 = former.sha256 if former else document.sha256
    for column, value in error_columns(None if former or on_its_way else VersionWithdrawnError()).items():
        setattr(document, column, value)
    document.save()
    if former is None:
        return None
    fresh = version_again(former)
    return job_start(tenant_id=document.tenant_id, actor=actor, versions=[fresh], kind=IngestJob.Kind.REBUILD)


def _former(document: Document) -> DocumentVersion | None:
    """The last version that was live and whose bytes were never withdrawn."""
    withdrawn = document.versions.exclude(withdrawn=None).order_by().values("sha256")
    rows = document.versions.filter(live_since__isnull=False).exclude(sha256__in=withdrawn)
    return rows.defer("markdown", "sketch").order_by("-number").first()
