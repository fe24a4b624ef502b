"""Whether another search backend has what Postgres has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accounts.models import Tenant
from knowledge.backends.milvus.collection import collection_name, fields_compared, row_of
from knowledge.backends.milvus.writing import entries_count, rows_compared
from knowledge.indexes.export import LiveEntry, entries_counted, entries_sample
from knowledge.indexes.outbox import changes_waiting
from knowledge.models import TenantBackend

SAMPLE = 200  # entries


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendChecked:
    """What was counted and compared for one tenant."""

    tenant: str
    is_ready: bool
    in_postgres: int  # live entries
    in_backend: int
    sampled: int
    different: int  # of the sample: missing, or with other rights
    waiting: int  # documents whose changes are not applied yet
    refused: int  # of those, refused at least once

    @property
    def is_fine(self) -> bool:
        """Differences are no fault while changes wait."""
        return self.waiting > 0 or (self.in_postgres == self.in_backend and not self.different)


def backend_check(*, tenant: Tenant) -> BackendChecked:
    """Compare the counts and a sample. Raises BackendUnavailableError, BackendRefusedError."""
    collection = collection_name()
    row = TenantBackend.objects.filter(tenant=tenant).first()
    total = entries_counted(tenant_id=tenant.pk).total
    sample = entries_sample(tenant_id=tenant.pk, total=total, limit=SAMPLE)
    stored = rows_compared(collection, [entry.id for entry in sample])
    waiting, refused = changes_waiting(tenant_id=tenant.pk)
    return BackendChecked(
        tenant=tenant.name,
        is_ready=row is not None and row.ready is not None,
        in_postgres=total,
        in_backend=entries_count(collection, tenant_id=tenant.pk),
        sampled=len(sample),
        different=sum(_differs(entry, stored.get(entry.id)) for entry in sample),
        waiting=waiting,
        refused=refused,
    )


def _differs(entry: LiveEntry, stored: Mapping[str, Any] | None) -> bool:
    return stored is None or fields_compared(row_of(entry)) != fields_compared(dict(stored))
