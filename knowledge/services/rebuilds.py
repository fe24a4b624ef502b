"""Ingesting documents again with the present options: a new version of the same bytes (D14, D28)."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Max

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.models import Document, DocumentVersion, IngestJob
from knowledge.selectors import set_owned, sets_managed
from knowledge.services.documents import document_managed, job_start

REBUILT_WITH = ("sha256", "file", "file_name", "size_bytes", "sent_as")


@transaction.atomic
def document_rebuild(*, scope: Scope, actor: User, document_id: int) -> IngestJob:
    """Ingest the live version's bytes once more. Raises NotFoundError, NotAllowedError."""
    document = document_managed(scope=scope, document_id=document_id)
    if document.live_version_id is None:
        raise NotAllowedError("This document is not live; try it again instead.")
    job = _job(tenant_id=document.tenant_id, actor=actor, documents=[document])
    audit_record(actor=actor, action="document.rebuild", target=document.title, document=document.pk)
    return job


@transaction.atomic
def set_rebuild(*, scope: Scope, actor: User, set_id: int) -> IngestJob:
    """Ingest every live document of a set once more; answers use the old passages until each is switched.

    Documents that are also in sets of others stay as they are. Raises NotFoundError, NotAllowedError.
    """
    found = set_owned(scope=scope, set_id=set_id)
    documents = Document.objects.filter(sets=found, deleted=None, live_version__isnull=False)
    foreign = Document.sets.through.objects.exclude(knowledgeset__in=sets_managed(scope=scope))
    documents = documents.exclude(pk__in=foreign.values("document_id")).order_by("pk")
    job = _job(tenant_id=found.tenant_id, actor=actor, documents=documents)
    audit_record(actor=actor, action="set.rebuild", target=found.code, set=found.pk, job=job.pk)
    return job


def _job(*, tenant_id: int, actor: User, documents: Iterable[Document]) -> IngestJob:
    versions = [fresh for document in documents if (fresh := _next_version(document)) is not None]
    job = job_start(tenant_id=tenant_id, actor=actor, versions=versions)
    IngestJob.objects.filter(pk=job.pk).update(kind=IngestJob.Kind.REBUILD)
    return job


def _next_version(document: Document) -> DocumentVersion | None:
    """The live bytes as a new version; None where a newer version is on its way or failed."""
    locked = Document.objects.select_for_update(of=("self",)).select_related("live_version").get(pk=document.pk)
    live, last = locked.live_version, locked.versions.aggregate(last=Max("number"))["last"]
    if live is None or live.number != last:
        return None
    return DocumentVersion.objects.create(
        document=locked, number=last + 1, **{name: getattr(live, name) for name in REBUILT_WITH}
    )
