"""Many documents between sets at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import MixedTenantsError
from knowledge.indexes.epoch import epoch_advance
from knowledge.models import Document, KnowledgeSet
from knowledge.selectors import documents_readable, set_owned
from knowledge.services.composition import memberships_by_hand
from knowledge.services.documents import document_managed
from ragcore.errors import RagError


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that stayed as it was, and why."""

    document_id: int
    title: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Transferred:
    changed: int
    refused: tuple[Refused, ...] = ()


@transaction.atomic
def documents_copy(*, scope: Scope, actor: User, document_ids: Sequence[int], to_set: int) -> Transferred:
    """Put documents into one more set. Raises NotFoundError, NotAllowedError for the set; documents are refused singly.

    Only who may change a document may open it to the readers of another set.
    """
    target = set_owned(scope=scope, set_id=to_set)
    return _each(scope=scope, actor=actor, document_ids=document_ids, add=target, take=None)


@transaction.atomic
def documents_move(
    *, scope: Scope, actor: User, document_ids: Sequence[int], from_set: int, to_set: int
) -> Transferred:
    """Take documents from one set to another. Raises as documents_copy."""
    source, target = set_owned(scope=scope, set_id=from_set), set_owned(scope=scope, set_id=to_set)
    return _each(scope=scope, actor=actor, document_ids=document_ids, add=target, take=source)


@transaction.atomic
def documents_remove(*, scope: Scope, actor: User, document_ids: Sequence[int], from_set: int) -> Transferred:
    """Take documents out of a set; out of their last one only administrators. Raises as documents_copy."""
    source = set_owned(scope=scope, set_id=from_set)
    return _each(scope=scope, actor=actor, document_ids=document_ids, add=None, take=source)


def _each(
    *,
    scope: Scope,
    actor: User,
    document_ids: Sequence[int],
    add: KnowledgeSet | None,
    take: KnowledgeSet | None,
) -> Transferred:
    rows = documents_readable(scope=scope).filter(pk__in=document_ids).order_by("pk")
    changed, refused = 0, []
    for document in rows.select_for_update(of=("self",)):
        try:
            changed += _transfer(scope=scope, document=document, add=add, take=take)
        except RagError as error:
            refused.append(Refused(document.pk, document.title, error.code, error.message))
    tenant_id = (add or take or KnowledgeSet()).tenant_id
    if changed:
        epoch_advance(tenant_id=tenant_id)
        audit_record(
            actor=actor,
            action="documents.transfer",
            target=(add or take or KnowledgeSet()).code,
            documents=list(document_ids),
            to=add.pk if add else None,
            taken_from=take.pk if take else None,
        )
    return Transferred(changed, tuple(refused))


def _transfer(*, scope: Scope, document: Document, add: KnowledgeSet | None, take: KnowledgeSet | None) -> int:
    """1 if something changed. Raises NotAllowedError, MixedTenantsError."""
    document_managed(scope=scope, document_id=document.pk)
    if add is not None and add.tenant_id != document.tenant_id:
        raise MixedTenantsError
    held = set(document.sets.values_list("pk", flat=True))
    wanted = (held | ({add.pk} if add else set())) - ({take.pk} if take and take != add else set())
    if wanted == held:
        return 0
    if not wanted and scope.administers == "nothing":
        raise NotAllowedError("It is its last knowledge set; delete the document instead.")
    document.sets.set(wanted)
    memberships_by_hand(document_ids=[document.pk], set_ids=[add.pk] if add else [])
    return 1
