"""Relations that the keepers of a document set and take out."""

from __future__ import annotations

from django.db import transaction

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexical_statistics import statistics_lock
from knowledge.indexes.relations import leads_back
from knowledge.models import Document, DocumentRelation
from knowledge.relation_errors import RelationInvalidError
from knowledge.relation_kinds import INVERSES, KINDS, REPLACES
from knowledge.selectors import document_get, is_kept
from knowledge.services.documents import document_managed

MOST_BY_HAND = 500  # of one document
Origin = DocumentRelation.Origin


@transaction.atomic
def relation_add(*, scope: Scope, actor: User, document_id: int, kind: str, other_id: int) -> DocumentRelation:
    """Say how a document that the asker keeps stands to another one that the asker may open; again changes nothing.

    `kind`: a kind, or the inverse of one, such as `replaced_by`. Who says that one document replaces another keeps
    both. Raises NotFoundError, NotAllowedError, RelationInvalidError.
    """
    document = document_managed(scope=scope, document_id=document_id)
    if kind not in KINDS and kind not in INVERSES:
        raise RelationInvalidError("kind", kind=kind[:64], known=", ".join(sorted({*KINDS, *INVERSES})))
    other = document_get(scope=scope, document_id=other_id)
    is_inverse = kind not in KINDS
    plain = INVERSES[kind] if is_inverse else kind
    source, target = (other, document) if is_inverse else (document, other)
    if source.pk == target.pk:
        raise RelationInvalidError("itself")
    if source.tenant_id != target.tenant_id:
        raise RelationInvalidError("tenants")
    if plain == REPLACES and not is_kept(scope=scope, document=other):
        raise NotAllowedError("kept_by_others")
    statistics_lock(tenant_id=document.tenant_id)  # nobody else relates documents of this tenant meanwhile
    _check(source, target, plain)
    row, is_new = DocumentRelation.objects.get_or_create(
        source=source,
        kind=plain,
        target=target,
        origin=Origin.HAND,
        target_key="",
        defaults={"tenant_id": document.tenant_id, "created_by": actor},
    )
    if is_new:
        _note(actor, "document.relate", source=source, target=target, kind=plain)
        epoch_advance(tenant_id=document.tenant_id, documents=[source.pk, target.pk])
    return row


def _check(source: Document, target: Document, kind: str) -> None:
    if KINDS[kind].is_chain and leads_back(kind=kind, source_id=source.pk, target_id=target.pk):
        raise RelationInvalidError("circle", source=source.title, target=target.title)
    by_hand = DocumentRelation.objects.filter(source=source, origin=Origin.HAND)
    if by_hand.count() >= MOST_BY_HAND and not by_hand.filter(kind=kind, target=target).exists():
        raise RelationInvalidError("many", limit=MOST_BY_HAND)


@transaction.atomic
def relation_remove(*, scope: Scope, actor: User, document_id: int, relation_id: int) -> None:
    """Take a relation out that a document which the asker keeps has, at either end.

    One that a rule or the source system states is dismissed: it stays out when they say it again. All that say the
    same go together. Raises NotFoundError, NotAllowedError.
    """
    document = document_managed(scope=scope, document_id=document_id)
    statistics_lock(tenant_id=document.tenant_id)
    row = DocumentRelation.objects.select_related("source", "target").filter(pk=relation_id, dismissed=False).first()
    if row is None or row.target is None or document.pk not in (row.source_id, row.target_id):
        raise NotFoundError("relation")
    other = row.target if row.source_id == document.pk else row.source
    _hide_unreadable(scope=scope, document_id=other.pk)
    if row.kind == REPLACES and not is_kept(scope=scope, document=other):
        raise NotAllowedError("kept_by_others")
    same = DocumentRelation.objects.filter(source=row.source_id, kind=row.kind, target=row.target_id)
    same.filter(origin=Origin.HAND).delete()
    same.update(dismissed=True)
    _note(actor, "document.unrelate", source=row.source, target=row.target, kind=row.kind)
    epoch_advance(tenant_id=document.tenant_id, documents=[row.source_id, row.target.pk])


def _hide_unreadable(*, scope: Scope, document_id: int) -> None:
    """A relation to a document that the asker may not open does not exist for them. Raises NotFoundError."""
    try:
        document_get(scope=scope, document_id=document_id)
    except NotFoundError:
        raise NotFoundError("relation") from None


def _note(actor: User, action: str, *, source: Document, target: Document, kind: str) -> None:
    audit_record(
        actor=actor, action=action, target=source.title, document=source.pk, other_document=target.pk, relation=kind
    )
