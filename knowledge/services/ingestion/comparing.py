"""Comparing what went live with everything else, behind the back of ingestion (D25)."""

from __future__ import annotations

from itertools import groupby

from django.db import transaction
from django.db.models import Exists, OuterRef

from knowledge.indexes.bands import comparing_alone
from knowledge.models import DocumentVersion, SketchBand
from knowledge.queue import RECORD_DUPLICATES, enqueue_on_commit
from knowledge.services.duplicates import duplicates_record
from ragcore.text.minhash import sketch

BATCH = 50  # versions a task
NOTHING = sketch("").tobytes()  # of a text without letters and digits: it has no bands and is like no other
PAUSE_SECONDS = 10.0  # before another try where another worker is at it


@transaction.atomic
def versions_compare() -> int:
    """Record near-duplicates of live versions that have not been compared yet; returns how many were looked at.

    Bands of a sketch exist once it has been compared, so that no lost message leaves a version out. One at a time: two
    would do the same work twice and wait for each other.
    """
    if not comparing_alone():
        enqueue_on_commit(RECORD_DUPLICATES, countdown_seconds=PAUSE_SECONDS)
        return 0
    compared = SketchBand.objects.filter(version=OuterRef("pk"))
    waiting = DocumentVersion.objects.filter(~Exists(compared), live_for__deleted=None, live_for__isnull=False)
    rows = (
        waiting.exclude(sketch=None)
        .exclude(sketch=NOTHING)
        .order_by("live_for__tenant_id", "pk")
        .values_list("live_for__tenant_id", "pk")
    )
    found = list(rows[:BATCH])
    for tenant_id, pairs in groupby(found, key=lambda pair: pair[0]):
        duplicates_record(tenant_id=tenant_id, version_ids=[pk for _, pk in pairs])
    if len(found) == BATCH:
        enqueue_on_commit(RECORD_DUPLICATES)
    return len(found)
