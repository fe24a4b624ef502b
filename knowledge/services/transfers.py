"""Copy, move and remove many documents between sets at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import MixedTenantsError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, KnowledgeSet
from knowledge.selectors import documents_readable, set_curated
from knowledge.selectors.keeping import kept_among
from knowledge.selectors.sets import sources_managed
from knowledge.services.composition import memberships_by_hand_record
from ragcore.errors import RagError


@dataclass(frozen=True, slots=True)
class TransferRefusal:
    """A document that was not changed, and why."""

    document_id: int
    title: str
    error: RagError


@dataclass(frozen=True, slots=True)
class TransferResult:
    changed: int
    refused: tuple[TransferRefusal, ...] = ()


@transaction.atomic
def documents_copy(*, scope: Scope, actor: User, document_ids: Sequence[int], to_set: int) -> TransferResult:
    """Add documents to one more set. Raises NotFoundError, NotAllowedError for the set; documents are refused singly.

    Only those who may change a document may open it to the readers of another set.
    """
    target = set_curated(scope=scope, set_id=to_set)
    return _each(scope=scope, actor=actor, document_ids=document_ids, add=target, take=None)


@transaction.atomic
def documents_move(
    *, scope: Scope, actor: User, document_ids: Sequence[int], from_set: int, to_set: int
) -> TransferResult:
    """Move documents from one set to another. Raises as documents_copy."""
    source, target = set_curated(scope=scope, set_id=from_set), set_curated(scope=scope, set_id=to_set)
    return _each(scope=scope, actor=actor, document_ids=document_ids, add=target, take=source)


@transaction.atomic
def documents_remove(*, scope: Scope, actor: User, document_ids: Sequence[int], from_set: int) -> TransferResult:
    """Remove documents from a set; only administrators remove them from their last one. Raises as documents_copy."""
    source = set_curated(scope=scope, set_id=from_set)
    return _each(scope=scope, actor=actor, document_ids=document_ids, add=None, take=source)


def _each(
    *,
    scope: Scope,
    actor: User,
    document_ids: Sequence[int],
    add: KnowledgeSet | None,
    take: KnowledgeSet | None,
) -> TransferResult:
    """Transfer each document; a handful of queries for any number of them."""
    rows = documents_readable(scope=scope).filter(pk__in=document_ids).order_by("pk")
    documents = list(rows.select_for_update(of=("self",)))
    sets_of_document = _held(documents)
    changeable = kept_among(scope=scope, document_ids=list(sets_of_document))
    closed = _closed_by_source(scope, documents, add)
    is_administrator = scope.administers != "nothing"
    changed: list[int] = []
    refused = []
    for document in documents:
        try:
            if document.pk not in changeable:
                raise NotAllowedError("kept_by_others")
            if document.pk in closed:
                raise NotAllowedError("rights_of_sources")
            if _is_changed(document, sets_of_document[document.pk], may_empty=is_administrator, add=add, take=take):
                changed.append(document.pk)
        except RagError as error:
            refused.append(TransferRefusal(document.pk, document.title, error))
    if changed:
        _write(changed, add=add, take=take)
        _afterwards(actor, changed, add=add, take=take)
    return TransferResult(len(changed), tuple(refused))


def _closed_by_source(scope: Scope, documents: Sequence[Document], add: KnowledgeSet | None) -> set[int]:
    """Documents whose sources say who may read them, and that a set which ignores this would open to others."""
    if add is None or add.rights != KnowledgeSet.Rights.SET:
        return set()
    source_ids = {document.pk: document.source_id for document in documents if document.source_readers_id is not None}
    managed = set(sources_managed(scope=scope).filter(pk__in=source_ids.values()).values_list("pk", flat=True))
    return {pk for pk, source_id in source_ids.items() if source_id not in managed}


def _held(documents: Sequence[Document]) -> dict[int, set[int]]:
    """Ids of the sets of documents."""
    sets_of_document: dict[int, set[int]] = {document.pk: set() for document in documents}
    links = Document.sets.through.objects.filter(document_id__in=list(sets_of_document))
    for document_id, set_id in links.values_list("document_id", "knowledgeset_id"):
        sets_of_document[document_id].add(set_id)
    return sets_of_document


def _is_changed(
    document: Document, set_ids: set[int], *, may_empty: bool, add: KnowledgeSet | None, take: KnowledgeSet | None
) -> bool:
    """Whether the document changes; `may_empty`: it may leave its last set.

    Raises NotAllowedError, MixedTenantsError.
    """
    if add is not None and add.tenant_id != document.tenant_id:
        raise MixedTenantsError
    new_set_ids = (set_ids | ({add.pk} if add else set())) - ({take.pk} if take and take != add else set())
    if not new_set_ids and set_ids and not may_empty:
        raise NotAllowedError("last_set")
    return new_set_ids != set_ids


def _write(document_ids: Sequence[int], *, add: KnowledgeSet | None, take: KnowledgeSet | None) -> None:
    through = Document.sets.through
    if take is not None and take != add:
        through.objects.filter(document_id__in=document_ids, knowledgeset_id=take.pk).delete()
    if add is not None:
        rows = [through(document_id=document_id, knowledgeset_id=add.pk) for document_id in document_ids]
        through.objects.bulk_create(rows, ignore_conflicts=True)
        memberships_by_hand_record(document_ids=document_ids, set_ids=[add.pk])


def _afterwards(
    actor: User, document_ids: Sequence[int], *, add: KnowledgeSet | None, take: KnowledgeSet | None
) -> None:
    chosen = add or take or KnowledgeSet()
    audit_record(
        actor=actor,
        action="documents.transfer",
        target=chosen.code,
        documents=list(document_ids),
        to=add.pk if add else None,
        taken_from=take.pk if take else None,
    )
    changed = [knowledge_set.pk for knowledge_set in (add, take) if knowledge_set is not None]
    epoch_advance(tenant_id=chosen.tenant_id, sets=changed, documents=document_ids)
