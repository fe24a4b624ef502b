"""Ingest documents again with the present options: a new version of the same bytes (D14, D28)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from django.db import transaction
from django.db.models import OuterRef, Subquery

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.models import Document, DocumentVersion, IngestJob
from knowledge.selectors import set_owned
from knowledge.selectors.dashboard import documents_rebuildable
from knowledge.services.composition import batches
from knowledge.services.documents import document_managed, items_add, job_hold, job_start, job_work

BATCH = 500  # documents a transaction
REBUILT_WITH = ("sha256", "file", "file_name", "size_bytes", "sent_as")


@transaction.atomic
def document_rebuild(*, scope: Scope, actor: User, document_id: int) -> IngestJob:
    """Ingest the bytes of the live version again. Raises NotFoundError, NotAllowedError."""
    document = document_managed(scope=scope, document_id=document_id)
    if document.live_version_id is None:
        raise NotAllowedError("not_live")
    versions = _next_versions([document.pk])
    job = job_start(tenant_id=document.tenant_id, actor=actor, versions=versions, kind=IngestJob.Kind.REBUILD)
    audit_record(actor=actor, action="document.rebuild", target=document.title, document=document.pk)
    return job


def set_rebuild(*, scope: Scope, actor: User, set_id: int) -> IngestJob:
    """Ingest every live document of a set again; each keeps its old passages until the new ones go live.

    Documents that are also in sets of other owners are skipped. They are added to the job in batches, so that nobody
    waits long for their locks. Raises NotFoundError, NotAllowedError, JobOverError if it is cancelled meanwhile.
    """
    found = set_owned(scope=scope, set_id=set_id)
    ids = list(documents_rebuildable(scope=scope, set_id=found.pk).values_list("pk", flat=True))
    with transaction.atomic():
        job = job_start(tenant_id=found.tenant_id, actor=actor, versions=(), kind=IngestJob.Kind.REBUILD)
        audit_record(actor=actor, action="set.rebuild", target=found.code, set=found.pk, job=job.pk)
    for batch in batches(ids, BATCH):
        with transaction.atomic():
            job_hold(job)
            items_add(job, _next_versions(batch))
            job_work(job, workers=1)
    return job


def _next_versions(document_ids: Sequence[int]) -> list[DocumentVersion]:
    """New versions of the live bytes; none for documents with a newer version that is in progress or failed."""
    rows = Document.objects.select_for_update(of=("self",)).filter(pk__in=document_ids, deleted=None).order_by("pk")
    newest = DocumentVersion.objects.filter(document=OuterRef("pk")).order_by("-number").values("pk")[:1]
    current = rows.filter(live_version=Subquery(newest)).select_related("live_version")
    fresh = []
    for document in current.defer("live_version__markdown", "live_version__sketch"):
        live = cast(DocumentVersion, document.live_version)
        values = {name: getattr(live, name) for name in REBUILT_WITH}
        fresh.append(DocumentVersion(document=document, number=live.number + 1, **values))
    return DocumentVersion.objects.bulk_create(fresh)
