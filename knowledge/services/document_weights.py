"""Sets weights and reader ratings of documents, which the ranking reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from django.db import transaction
from django.db.models import Q

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import InvalidWeightError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, KnowledgeSet, SiteOptions
from knowledge.selectors import documents_readable
from knowledge.selectors.keeping import kept_among
from knowledge.services.transfers import TransferRefusal, TransferResult

# ── weights ───────────────────────────────────────────────────────────────────────────────────────


LOWEST, HIGHEST = 0.5, 2.0

WORST, BEST = 1.0, 5.0


@transaction.atomic
def documents_weigh(*, scope: Scope, actor: User, document_ids: Sequence[int], weight: float) -> TransferResult:
    """Set the weight of documents, 1 is normal; cached answers with other weights become stale.

    Raises InvalidWeightError. Documents that the asker may not change are refused singly; hidden ones are ignored.
    """
    if not isfinite(weight) or not LOWEST <= weight <= HIGHEST:
        raise InvalidWeightError(weight=weight)
    rows = documents_readable(scope=scope).filter(pk__in=document_ids).order_by("pk")
    documents = list(rows.select_for_update(of=("self",)))
    changeable = kept_among(scope=scope, document_ids=[document.pk for document in documents])
    refused = [
        TransferRefusal(d.pk, d.title, NotAllowedError("kept_by_others")) for d in documents if d.pk not in changeable
    ]
    changed = [d for d in documents if d.pk in changeable and d.weight != weight]
    for document in changed:
        document.weight = weight
        document.save(update_fields=["weight", "updated"])
    for tenant_id in sorted({document.tenant_id for document in changed}):
        epoch_advance(tenant_id=tenant_id, documents=[d.pk for d in changed if d.tenant_id == tenant_id])
    if changed:
        ids = [document.pk for document in changed]
        audit_record(actor=actor, action="documents.weigh", target=changed[0].title, documents=ids, weight=weight)
    return TransferResult(len(changed), tuple(refused))


# ── ratings ───────────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def document_ratings_apply(*, tenant_id: int, ratings: Mapping[int, tuple[float, int]]) -> int:
    """Set mean (1 to 5) and number of ratings by document id; returns how many documents changed. Number 0: not rated.

    Documents of other tenants are ignored. Cached answers become stale only if a set of the tenant, or its site, ranks
    by ratings (option `quality`): elsewhere a vote must not empty the cache.
    Raises ValueError for a mean outside 1 to 5.
    """
    documents = Document.objects.filter(tenant_id=tenant_id, pk__in=ratings, deleted=None)
    changed = []
    for document in documents.select_for_update().order_by("pk").only("pk", "rating", "ratings"):
        mean, number = ratings[document.pk]
        if number and not WORST <= mean <= BEST:
            raise ValueError(f"a rating is from {WORST:g} to {BEST:g}, not {mean}")
        rating = (mean if number else None, number)
        if rating != (document.rating, document.ratings):
            document.rating, document.ratings = rating
            changed.append(document)
    Document.objects.bulk_update(changed, ["rating", "ratings"])  # `updated` stays: the content did not change
    if changed and _takes_part(tenant_id):
        epoch_advance(tenant_id=tenant_id, documents=[document.pk for document in changed])
    return len(changed)


def _takes_part(tenant_id: int) -> bool:
    has_quality = Q(options__retrieval__quality=True)
    return any(kind.objects.filter(has_quality, tenant_id=tenant_id).exists() for kind in (KnowledgeSet, SiteOptions))
