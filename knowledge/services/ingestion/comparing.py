"""Comparing what went live with everything else, behind the back of ingestion (D25)."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from knowledge.indexes.bands import comparing_alone
from knowledge.models import DocumentVersion, IngestItem, SketchBand
from knowledge.queue import RECORD_DUPLICATES, enqueue_on_commit
from knowledge.services.duplicates import duplicates_record
from ragcore.text.minhash import sketch

BATCH = 50  # versions a task
NOTHING = sketch("").tobytes()  # of a text without letters and digits: it has no bands and is like no other
PATIENCE = timedelta(minutes=10)  # for which a report may wait while documents are being ingested


@transaction.atomic
def versions_compare() -> int:
    """Record near-duplicates of live versions that have not been compared yet; returns how many were looked at.

    Bands of a sketch exist once it has been compared, so that no lost message leaves a version out. One at a time: two
    would do the same work twice and wait for each other. Ingestion goes first, as it shares the processors. What is not
    done now is done when the last item of a job goes live, or at the next call of the scheduler.
    """
    if not comparing_alone():
        return 0
    compared = SketchBand.objects.filter(version=OuterRef("pk"))
    waiting = DocumentVersion.objects.filter(~Exists(compared), live_for__deleted=None, live_for__isnull=False)
    rows = (
        waiting.exclude(sketch=None)
        .exclude(sketch=NOTHING)
        .order_by("live_for__tenant_id", "pk")
        .values_list("live_for__tenant_id", "pk")
    )
    if _ingestion_goes_on() and not waiting.filter(live_since__lt=timezone.now() - PATIENCE).exists():
        return 0
    found = list(rows[:BATCH])
    for tenant_id, pairs in groupby(found, key=lambda pair: pair[0]):
        duplicates_record(tenant_id=tenant_id, version_ids=[pk for _, pk in pairs])
    if len(found) == BATCH:
        enqueue_on_commit(RECORD_DUPLICATES)
    return len(found)


def _ingestion_goes_on() -> bool:
    return IngestItem.objects.filter(finished=None, lease_until__gt=timezone.now()).exists()
