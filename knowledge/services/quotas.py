"""Usage and quotas of a tenant: sets, documents, bytes of originals."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, Sum

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


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant may store, held to the end of the transaction."""

    tenant_id: int
    max_documents: int | None = None
    max_bytes: int | None = None

    def check(self, *, documents: int, size_bytes: int) -> None:
        """Raise QuotaExceededError where so many more documents, or bytes of originals, are too many."""
        limit = self.max_documents
        if documents and limit is not None and _documents(self.tenant_id) + documents > limit:
            raise QuotaExceededError("documents", limit=limit)
        if self.max_bytes is not None and _bytes(self.tenant_id) + size_bytes > self.max_bytes:
            raise QuotaExceededError("megabytes", limit=self.max_bytes // MEGABYTE)


def quota_hold(*, tenant_id: int) -> Quota:
    """The quota of documents and bytes of a tenant. Needs a transaction; call before documents are locked.

    Whoever adds to a tenant with limits waits here until the one before is done, so that two that come together cannot
    pass the limit together. Tenants without limits are not locked, and nothing is counted for them.
    """
    limited = Q(max_documents__isnull=False) | Q(max_megabytes__isnull=False)
    rows = Tenant.objects.select_for_update(no_key=True).filter(limited, pk=tenant_id)
    limits = rows.values_list("max_documents", "max_megabytes").first()
    if limits is None:
        return Quota(tenant_id)
    documents, megabytes = limits
    return Quota(tenant_id, documents, None if megabytes is None else megabytes * MEGABYTE)


def _sets(tenant_id: int) -> int:
    return KnowledgeSet.objects.filter(tenant_id=tenant_id).count()


def _documents(tenant_id: int) -> int:
    return Document.objects.filter(tenant_id=tenant_id, deleted=None).count()


def _bytes(tenant_id: int) -> int:
    rows = DocumentVersion.objects.filter(document__tenant_id=tenant_id, document__deleted=None)
    return int(rows.aggregate(total=Sum("size_bytes"))["total"] or 0)
