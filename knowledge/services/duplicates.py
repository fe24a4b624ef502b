"""Documents with the same or nearly the same text: found when they go live, reported to owners (D25)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.bands import versions_sharing_a_band
from knowledge.models import DocumentVersion, DuplicatePair, SketchBand
from knowledge.selectors.duplicates import pair_get
from ragcore.text.minhash import bands, similarity

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
