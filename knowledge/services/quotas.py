"""How much a tenant stores and may store: sets, documents, bytes of originals."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Sum

from accounts.models import Tenant
from accounts.scope import Scope
from knowledge.access_errors import QuotaExceededError
from knowledge.models import Document, DocumentVersion, KnowledgeSet

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Usage:
    sets: int
    documents: int  # that are not deleted
    bytes: int  # of the originals of all their versions


def usage_of(*, scope: Scope, tenant_id: int) -> Usage | None:
    """The usage of a tenant that the asker administers; None for another one."""
    if scope.administers == "nothing" or (scope.administers == "tenant" and scope.tenant_id != tenant_id):
        return None
    return Usage(_sets(tenant_id), _documents(tenant_id), _bytes(tenant_id))


def quota_check_sets(*, tenant_id: int) -> None:
    """Raise QuotaExceededError where one set more is too many. Needs a transaction: the answer holds to its end."""
    limit = Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id).max_sets
    if limit is not None and _sets(tenant_id) >= limit:
        raise QuotaExceededError("sets", limit=limit)


def quota_check_documents(*, tenant_id: int, documents: int, size_bytes: int) -> None:
    """Raise QuotaExceededError where so many more documents, or bytes of originals, are too many.

    Nothing is counted for a tenant without limits. Requests of the same moment do not wait for each other, so together
    they may pass the limit by what they bring.
    """
    tenant = Tenant.objects.only("max_documents", "max_megabytes").get(pk=tenant_id)
    limit = tenant.max_documents
    if documents and limit is not None and _documents(tenant_id) + documents > limit:
        raise QuotaExceededError("documents", limit=limit)
    limit = tenant.max_megabytes
    if limit is not None and _bytes(tenant_id) + size_bytes > limit * MEGABYTE:
        raise QuotaExceededError("megabytes", limit=limit)


def _sets(tenant_id: int) -> int:
    return KnowledgeSet.objects.filter(tenant_id=tenant_id).count()


def _documents(tenant_id: int) -> int:
    return Document.objects.filter(tenant_id=tenant_id, deleted=None).count()


def _bytes(tenant_id: int) -> int:
    rows = DocumentVersion.objects.filter(document__tenant_id=tenant_id, document__deleted=None)
    return int(rows.aggregate(total=Sum("size_bytes"))["total"] or 0)
