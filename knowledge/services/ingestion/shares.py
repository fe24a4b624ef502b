"""Chooses the next job of an ingestion queue by the tenants' shares.

Start-time fair queueing (Goyal, Vin, Cheng, 1996): a batch costs its tenant 1 / share of virtual time, and the tenant
that would begin earliest is served. So places are divided by the shares among the tenants that have work, and one that
is alone has all of them: nothing waits while a worker is free. Who has been idle gets no credit for it.

Without any share documents are taken as their tasks arrive.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q
from django.utils import timezone

from accounts.models import MAX_SHARE, Tenant
from knowledge.indexes.statements import queue_turns_lock
from knowledge.models import IngestItem, IngestJob, QueueTurn
from knowledge.services.ingestion.item_state import ALL
from knowledge.services.open_items import items_free


def job_in_turn(*, job_id: int, queue: str, which: Q = ALL) -> int:
    """The job that a place in this queue belongs to now: the given one, or the first of a tenant whose turn it is.

    `which`: only these items count as work.
    """
    if not Tenant.objects.exclude(queue_share=None).exists():
        return job_id
    with transaction.atomic():
        queue_turns_lock(queue=queue)
        waiting = _waiting(queue, which)
        tenant = IngestJob.objects.values_list("tenant_id", flat=True).get(pk=job_id)
        if not waiting:
            return job_id
        chosen = _next(queue, waiting)
    return job_id if chosen == tenant else waiting[chosen]


def _waiting(queue: str, which: Q) -> Mapping[int, int]:
    """Tenants that have work in the queue, each with its oldest job that has some."""
    free = IngestItem.objects.filter(items_free(timezone.now()), which, job=OuterRef("pk"), queue=queue)
    rows = IngestJob.objects.filter(Exists(free), paused=None, cancelled=None).order_by()
    return dict(rows.values("tenant_id").annotate(first=Min("pk")).values_list("tenant_id", "first"))


def _next(queue: str, waiting: Mapping[int, int]) -> int:
    """The tenant whose turn it is; its turn is noted."""
    turns = {turn.tenant_id: turn for turn in QueueTurn.objects.filter(queue=queue)}
    now = max((turn.start for turn in turns.values()), default=0.0)  # of the last turn of anybody
    starts = {tenant: max(turns[tenant].finish, now) if tenant in turns else now for tenant in waiting}
    chosen = min(starts, key=lambda tenant: (starts[tenant], tenant))
    share = Tenant.objects.values_list("queue_share", flat=True).get(pk=chosen) or MAX_SHARE
    values = {"start": starts[chosen], "finish": starts[chosen] + 1 / share}
    QueueTurn.objects.update_or_create(tenant_id=chosen, queue=queue, defaults=values)
    return chosen
