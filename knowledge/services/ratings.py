"""What readers think of documents, as a number that the ranking may use (U15)."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import Q

from knowledge.indexes.epoch import epoch_advance
from knowledge.models import Document, KnowledgeSet, SiteOptions

WORST, BEST = 1.0, 5.0


@transaction.atomic
def document_ratings_apply(*, tenant_id: int, ratings: Mapping[int, tuple[float, int]]) -> int:
    """Set mean (1 to 5) and number of the ratings of documents, by id; how many changed. Number 0: not rated.

    Documents of other tenants are left alone. Cached answers become stale only where a set of the tenant, or its site,
    lets ratings take part in the order (option `quality`): elsewhere a vote must not cost everybody their cache.
    Raises ValueError for a mean outside 1 to 5.
    """
    documents = Document.objects.filter(tenant_id=tenant_id, pk__in=ratings, deleted=None)
    changed = []
    for document in documents.select_for_update().order_by("pk").only("pk", "rating", "ratings"):
        mean, number = ratings[document.pk]
        if number and not WORST <= mean <= BEST:
            raise ValueError(f"a rating is from {WORST:g} to {BEST:g}, not {mean}")
        given = (mean if number else None, number)
        if given != (document.rating, document.ratings):
            document.rating, document.ratings = given
            changed.append(document)
    Document.objects.bulk_update(changed, ["rating", "ratings"])  # `updated` stays: the content did not change
    if changed and _takes_part(tenant_id):
        epoch_advance(tenant_id=tenant_id)
    return len(changed)


def _takes_part(tenant_id: int) -> bool:
    wanted = Q(options__retrieval__quality=True)
    return any(kind.objects.filter(wanted, tenant_id=tenant_id).exists() for kind in (KnowledgeSet, SiteOptions))
