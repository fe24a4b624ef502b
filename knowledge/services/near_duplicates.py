"""Near-duplicate documents: compared in the background after they go live, reported to owners (D25)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import groupby

import numpy as np
import numpy.typing as npt
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.advisory_locks import comparison_try_lock
from knowledge.indexes.minhash_bands import versions_sharing_a_band
from knowledge.models import DocumentVersion, DuplicatePair, IngestItem, SketchBand
from knowledge.queue import RECORD_DUPLICATES, enqueue_on_commit
from knowledge.selectors.duplicates import pair_get
from ragcore.text.minhash import bands, similarity, sketch

NEAR_FROM = 0.8  # estimated Jaccard of the shingles
CANDIDATES = 500  # whose sketches are compared, by the bands that they share
PAIRS_A_DOCUMENT = 20  # the most alike ones: documents made from one template would pair everything with everything


@transaction.atomic
def duplicates_record(*, tenant_id: int, version_ids: Sequence[int]) -> int:
    """Compare live versions with all others of the tenant and record the pairs; returns how many are new.

    Each document is paired with the PAIRS_A_DOCUMENT others that are most alike.

    Idempotent. Pairs of a document whose text has moved away are taken back.
    """
    fresh = list(_live(tenant_id).filter(pk__in=version_ids).only("document_id", "text_sha256", "sketch"))
    SketchBand.objects.filter(tenant_id=tenant_id, version__document__in=[v.document_id for v in fresh]).delete()
    SketchBand.objects.bulk_create(
        [
            SketchBand(tenant_id=tenant_id, version=version, band=number, value=value)
            for version in fresh
            if version.sketch
            for number, value in enumerate(bands(_sketch(version)))
        ],
        ignore_conflicts=True,
    )
    return sum(_record(tenant_id, version) for version in fresh)


@transaction.atomic
def pair_keep(*, scope: Scope, actor: User, pair_id: int) -> DuplicatePair:
    """Both documents are wanted: the pair is not reported any more. Raises NotFoundError."""
    pair = pair_get(scope=scope, pair_id=pair_id)
    pair.state = DuplicatePair.State.KEPT
    pair.save(update_fields=["state"])
    audit_record(actor=actor, action="duplicates.keep", target=str(pair), pair=pair.pk)
    return pair


def _live(tenant_id: int) -> QuerySet[DocumentVersion]:
    return DocumentVersion.objects.filter(live_for__tenant_id=tenant_id, live_for__deleted=None)


def _record(tenant_id: int, version: DocumentVersion) -> int:
    """Pairs of one version with all that share a band or the text."""
    mine = _pairs_of(version.document_id)
    found = dict(_similar(tenant_id, version))
    gone = [pair.pk for other, pair in mine.items() if other not in found and pair.state == DuplicatePair.State.OPEN]
    DuplicatePair.objects.filter(pk__in=gone).delete()
    rows = []
    for other, (kind, value) in found.items():
        first, second = sorted((version.document_id, other))
        rows.append(DuplicatePair(tenant_id=tenant_id, first_id=first, second_id=second, kind=kind, similarity=value))
    DuplicatePair.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["first", "second"], update_fields=["kind", "similarity"]
    )
    return len(set(found) - set(mine))


def _pairs_of(document_id: int) -> dict[int, DuplicatePair]:
    """Recorded pairs of a document, by the other document."""
    first = {pair.second_id: pair for pair in DuplicatePair.objects.filter(first=document_id)}
    return first | {pair.first_id: pair for pair in DuplicatePair.objects.filter(second=document_id)}


def _similar(tenant_id: int, version: DocumentVersion) -> Iterable[tuple[int, tuple[str, float]]]:
    """(document id, (kind, similarity)) of the others that are alike.

    Of many with the same text only the oldest is named, so that n copies make n pairs.
    """
    others = _live(tenant_id).exclude(document_id=version.document_id)
    if version.text_sha256:
        oldest = others.filter(text_sha256=version.text_sha256).order_by("document_id").first()
        if oldest is not None:
            yield oldest.document_id, (DuplicatePair.Kind.EXACT, 1.0)
    if version.sketch:
        sketch = _sketch(version)
        sharing = versions_sharing_a_band(version.pk, limit=CANDIDATES)
        candidates = others.filter(pk__in=sharing).exclude(text_sha256=version.text_sha256)
        rated = [(similarity(sketch, _sketch(o)), o.document_id) for o in candidates.only("document_id", "sketch")]
        near = sorted((pair for pair in rated if pair[0] >= NEAR_FROM), reverse=True)
        yield from ((other, (DuplicatePair.Kind.NEAR, float(value))) for value, other in near[:PAIRS_A_DOCUMENT])


def _sketch(version: DocumentVersion) -> npt.NDArray[np.uint32]:
    return np.frombuffer(bytes(version.sketch or b""), dtype=np.uint32)


# ── comparing in the background ───────────────────────────────────────────────────────────────────


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
    if not comparison_try_lock():
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
