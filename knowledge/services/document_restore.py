"""Undo the deletion of a document, until the purge removes it for good."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import error_columns
from knowledge.indexes.lexical_statistics import statistics_lock
from knowledge.models import Document, DocumentVersion, IngestJob
from knowledge.selectors.keeping import documents_restorable
from knowledge.services.documents import job_start
from knowledge.services.quotas import quota_hold
from knowledge.services.reingest import version_again


@transaction.atomic
def document_restore(*, scope: Scope, actor: User, document_id: int) -> IngestJob:
    """Bring a deleted document back: its bytes are ingested again as the newest version, under the job.

    The bytes are those of the version that was live, or of the newest one where none was. The index is not trusted:
    what runs over it leaves out deleted documents. Raises NotFoundError also where it is not deleted;
    NotAllowedError where the same document was added again; QuotaExceededError.
    """
    restorable = documents_restorable(scope=scope).filter(pk=document_id).first()
    if restorable is None:
        raise NotFoundError("document", document=document_id)
    quota = quota_hold(tenant_id=restorable.tenant_id)
    statistics_lock(tenant_id=restorable.tenant_id)
    document = Document.objects.select_for_update().get(pk=restorable.pk)
    live = document.versions.defer("markdown", "sketch").filter(live_for=document, withdrawn=None).first()
    version = live or _newest_version(document)
    if document.deleted is None or version is None:
        raise NotFoundError("document", document=document_id)
    quota.check(documents=1, size_bytes=0)
    document.versions.filter(live_for=document, retired=None).update(retired=timezone.now())
    document.deleted, document.live_version, document.sha256 = None, None, version.sha256
    document.state = Document.State.PROCESSING
    for column, value in error_columns(None).items():
        setattr(document, column, value)
    try:
        with transaction.atomic():
            document.save()
    except IntegrityError as error:  # of the identity: it is that of another document by now
        raise NotAllowedError("restore_twice") from error
    quota.check(documents=0, size_bytes=version.size_bytes)  # with its other versions, which count again
    fresh = version_again(version)
    audit_record(actor=actor, action="document.restore", target=document.title, document=document.pk)
    return job_start(tenant_id=document.tenant_id, actor=actor, versions=[fresh], kind=IngestJob.Kind.REBUILD)


def _newest_version(document: Document) -> DocumentVersion | None:
    """The newest version that nobody withdrew."""
    return document.versions.defer("markdown", "sketch").filter(withdrawn=None).order_by("-number").first()
