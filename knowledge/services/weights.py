"""How much documents count among others: what their owners say (D5, D27)."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import InvalidWeightError
from knowledge.indexes.epoch import epoch_advance
from knowledge.models import Document
from knowledge.selectors import documents_readable, sets_managed
from knowledge.services.documents import KEPT_BY_OTHERS
from knowledge.services.transfers import Refused, Transferred

LOWEST, HIGHEST = 0.5, 2.0


@transaction.atomic
def documents_weigh(*, scope: Scope, actor: User, document_ids: Sequence[int], weight: float) -> Transferred:
    """Give documents a weight, 1 being normal; kept answers that were ranked otherwise are stale from then on.

    Raises InvalidWeightError; documents that are not all the asker's own are refused singly. What the asker cannot
    see is left out without a word.
    """
    if not isfinite(weight) or not LOWEST <= weight <= HIGHEST:
        raise InvalidWeightError(weight=weight)
    rows = documents_readable(scope=scope).filter(pk__in=document_ids).order_by("pk")
    documents = list(rows.select_for_update(of=("self",)))
    kept = _kept(scope, documents)
    refused = [Refused(d.pk, d.title, "not_allowed", KEPT_BY_OTHERS) for d in documents if d.pk not in kept]
    changed = [d for d in documents if d.pk in kept and d.weight != weight]
    for document in changed:
        document.weight = weight
        document.save(update_fields=["weight", "updated"])
    for tenant_id in sorted({document.tenant_id for document in changed}):
        epoch_advance(tenant_id=tenant_id)
    if changed:
        ids = [document.pk for document in changed]
        audit_record(actor=actor, action="documents.weigh", target=changed[0].title, documents=ids, weight=weight)
    return Transferred(len(changed), tuple(refused))


def _kept(scope: Scope, documents: Sequence[Document]) -> set[int]:
    """Documents that the asker may change: an administrator all, an owner those of which they own every set."""
    ids = {document.pk for document in documents}
    if scope.administers != "nothing":
        return ids
    links = Document.sets.through.objects.filter(document_id__in=ids)
    held = set(links.values_list("document_id", flat=True))
    mine = sets_managed(scope=scope).order_by().values("pk")
    return held - set(links.exclude(knowledgeset_id__in=mine).values_list("document_id", flat=True))
