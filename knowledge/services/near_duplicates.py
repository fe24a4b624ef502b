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
from knowledge.indexes.minhash_bands import versions_sharing_a_band
from knowledge.indexes.statements import comparison_try_lock
from knowledge.models import DocumentVersion, DuplicatePair, SketchBand
from knowledge.queue import RECORD_DUPLICATES, enqueue_on_commit
from knowledge.selectors.comparisons import pair_get
from knowledge.selectors.keeping import kept_among
from knowledge.services.leases import ingestion_is_active
from ragcore.text.near_duplicates import bands, similarity, sketch

NEAR_FROM = 0.8  # estimated Jaccard of the shingles
CANDIDATES = 500  # versions whose sketches are compared: those with most common bands
PAIRS_A_DOCUMENT = 20  # documents of one template would otherwise pair all with all


@transaction.atomic
def duplicates_record(*, tenant_id: int, version_ids: Sequence[int]) -> int:
    """Compare live versions with all others of the tenant and store the pairs; returns how many are new.

    Each document is paired with its PAIRS_A_DOCUMENT most similar others. Idempotent. Open pairs of documents that are
    no longer similar are deleted.
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
    """Keep both documents: the pair is no longer reported, to who keeps one of both only not to them.

    Raises NotFoundError.
    """
    pair = pair_get(scope=scope, pair_id=pair_id)
    both = {pair.first_id, pair.second_id}
    if kept_among(scope=scope, document_ids=both) == both:
        pair.state = DuplicatePair.State.KEPT
        pair.save(update_fields=["state"])
    else:
        pair.dismissed_by.add(actor)
    audit_record(actor=actor, action="duplicates.keep", target=str(pair), pair=pair.pk)
    return pair


def _live(tenant_id: int) -> QuerySet[DocumentVersion]:
    return DocumentVersion.objects.filter(live_for__tenant_id=tenant_id, live_for__deleted=None)


def _record(tenant_id: int, version: DocumentVersion) -> int:
    """Store the pairs of one version with all that share a band or the text; returns how many are new."""
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
    """Stored pairs of a document, by the id of the other document."""
    first = {pair.second_id: pair for pair in DuplicatePair.objects.filter(first=document_id)}
    return first | {pair.first_id: pair for pair in DuplicatePair.objects.filter(second=document_id)}


def _similar(tenant_id: int, version: DocumentVersion) -> Iterable[tuple[int, tuple[str, float]]]:
    """(document id, (kind, similarity)) of similar documents.

    Of many with the same text only the oldest one, and the oldest that shares a set, so that n copies make few pairs
    and a copy that others keep hides none.
    """
    others = _live(tenant_id).exclude(document_id=version.document_id)
    if version.text_sha256:
        same = others.filter(text_sha256=version.text_sha256).order_by("document_id")
        beside = same.filter(document__sets__documents=version.document_id)
        for oldest in {row.document_id for row in (same.first(), beside.first()) if row is not None}:
            yield oldest, (DuplicatePair.Kind.EXACT, 1.0)
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
NOTHING = sketch("").tobytes()  # of a text without letters and digits: it has no bands and is similar to none
MAX_DELAY = timedelta(minutes=10)  # how long a comparison may wait for running ingestion


@transaction.atomic
def versions_compare() -> int:
    """Store near-duplicates of live versions that were not compared yet; returns how many versions were compared.

    Bands of a sketch exist once it was compared, so a lost message leaves no version out. Only one task compares at a
    time: two would do the same work and wait for each other. Running ingestion goes first, because both need the
    processors; the comparison then runs when a job goes live, or at the next call of the scheduler.
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
    if ingestion_is_active() and not waiting.filter(live_since__lt=timezone.now() - MAX_DELAY).exists():
        return 0
    found = list(rows[:BATCH])
    for tenant_id, pairs in groupby(found, key=lambda pair: pair[0]):
        duplicates_record(tenant_id=tenant_id, version_ids=[pk for _, pk in pairs])
    if len(found) == BATCH:
        enqueue_on_commit(RECORD_DUPLICATES)
    return len(found)
