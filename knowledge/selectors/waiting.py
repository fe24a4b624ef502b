"""What a document that is being processed waits for: of which workers, and how many are before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count

from knowledge.models import Document, IngestItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """`before`: documents that wait in front of it; `busy`: those that workers of this queue have in hand."""

    queue: IngestItem.Queue
    before: int
    busy: int


def queues_busy() -> Mapping[str, int]:
    """Queue -> documents that its workers have in hand, of all tenants."""
    rows = IngestItem.objects.order_by().filter(finished=None, lease_until__isnull=False)
    return dict(rows.values_list("queue").annotate(number=Count("pk")))


def wait_of(document: Document) -> Wait | None:
    """None where a worker has the document in hand, or nothing is to be done with it. Its reader may open it."""
    open_items = IngestItem.objects.filter(finished=None)
    item = open_items.filter(version__document=document, job__cancelled=None).order_by("-pk").first()
    if item is None or item.lease_until is not None:
        return None
    before = open_items.filter(queue=item.queue, lease_until=None, job__paused=None, pk__lt=item.pk).count()
    return Wait(queue=IngestItem.Queue(item.queue), before=before, busy=queues_busy().get(item.queue, 0))
