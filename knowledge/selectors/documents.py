"""Documents and chunks, with visibility defined here once; passages of a version as owners see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import epoch_now
from knowledge.indexes.document_attributes import attribute_conditions
from knowledge.indexes.reader_lists import NamedIn
from knowledge.indexes.visibility import Bounds
from knowledge.models import Document, KnowledgeSet, TenantBackend
from knowledge.selectors.keepers import keeper_condition
from knowledge.selectors.neighbours import neighbours_among
from knowledge.selectors.readers import (
    Lists,
    keepers_condition,
    reader_lists,
    readers_condition,
    source_condition,
)
from knowledge.selectors.sets import sets_curated, sets_readable
from knowledge.types import Filters

Axis = KnowledgeSet.Axis


def documents_askable(*, scope: Scope, sets: Sequence[int] = (), filters: Filters | None = None) -> QuerySet[Document]:
    """THE definition of visibility: what a search of this asker may touch, narrowed by sets and filters.

    Tenant, not deleted, clearance, membership in at least one readable set, and among the readers of documents that
    name some; all inside the query.
    Where a second person limits the scope: the intersection of both rights.
    Raises InvalidFilterError for what knowledge.filtering does not know.
    """
    asker, *limits = scope.persons
    documents = _askable(asker, sets, filters or Filters(), lists=reader_lists(scope=asker))
    for person in limits:
        theirs = documents_askable(scope=person, sets=sets, filters=filters)
        documents = documents.filter(pk__in=theirs.order_by().values("pk"))
    return documents


def _askable(scope: Scope, sets: Sequence[int], filters: Filters, *, lists: Lists) -> QuerySet[Document]:
    groups, opened = _groups(scope, sets, filters), _opened(scope, sets, filters, lists)
    documents = documents_in_sets(scope=scope, groups=groups, lists=lists, opened=opened)
    if filters.tags:
        documents = documents.filter(tags__overlap=list(filters.tags))
    if filters.metadata:
        documents = documents.filter(*attribute_conditions(filters.metadata))
    if filters.documents:
        documents = documents.filter(pk__in=filters.documents)
    if filters.related_to is not None:
        readable = documents_readable(scope=scope)
        near = neighbours_among(scope=scope, readable=readable, document_id=filters.related_to, kinds=filters.relations)
        documents = documents.filter(pk__in=near)
    return documents


def documents_in_sets(
    *, scope: Scope, groups: Sequence[Sequence[int]], lists: Lists, opened: Sequence[Sequence[int]] = ()
) -> QuerySet[Document]:
    """Documents of the tenant up to the clearance that are in at least one set of each group, and that the asker may
    read by their lists of readers; composed without a query.

    `groups`: sets that the asker may read, `lists`: those that name the asker, `opened`: further sets for each group,
    see `opened_sets`; the caller has checked all of them.
    """
    documents = Document.objects.filter(tenant_id=scope.tenant_id, deleted=None, clearance__lte=scope.clearance)
    documents = documents.filter(keepers_condition(lists))
    for number, group in enumerate(groups):
        documents = documents.filter(_let_in(group, opened[number] if opened else (), lists))
    return documents


def _let_in(group: Sequence[int], opened: Sequence[int], lists: Lists) -> Q:
    """A set has the document, and the rights that count in this set let the asker in.

    `group`: readable sets; `opened`: others, from which those read, too, whom only a source names.
    """
    condition = documents_in_any(group) & source_condition(lists)
    if lists is None:
        return condition
    if ignoring := [set_id for set_id in group if set_id in lists.by_set]:
        condition |= documents_in_any(ignoring)
    if opened:
        condition |= named_in_opened(opened, lists)
    return condition


def named_in_opened(opened: Sequence[int], lists: NamedIn) -> Q:
    """The document is in one of these sets, and its source names the asker among those who alone may read it."""
    return documents_in_any(opened) & Q(source_readers_id__in=lists.lists)


def opened_sets(*, scope: Scope, lists: Lists, readable: Sequence[int]) -> tuple[int, ...]:
    """Sets that are not readable for the asker, and from which those read, too, whom a source names."""
    del scope  # its tenant's are in `lists`
    return tuple(set_id for set_id in lists.by_source if set_id not in readable) if lists is not None else ()


def documents_readable(*, scope: Scope) -> QuerySet[Document]:
    """What the asker may open: what a search may touch, and what the asker administers or has in an owned set.

    Of documents that name their readers, the others open those that they keep.
    """
    if scope.administers == "everything":
        return Document.objects.filter(deleted=None)
    lists = reader_lists(scope=scope)
    askable = _askable(scope, (), Filters(), lists=lists).values("pk")
    managed = _manageable(scope, lists)
    if scope.administers == "nothing":
        managed &= documents_in_any(_ids(sets_curated(scope=scope)))
    return Document.objects.filter(Q(pk__in=askable) | managed, tenant_id=scope.tenant_id, deleted=None)


def manageable_condition(*, scope: Scope) -> Q:
    """What somebody who curates a set of a document, or administers it, may see of it: nothing that is above their
    clearance, and nothing that names its readers, unless they are among these or keep the document.
    """
    if scope.administers == "everything":
        return Q()
    return _manageable(scope, reader_lists(scope=scope) if scope.administers == "nothing" else None)


def _manageable(scope: Scope, lists: Lists) -> Q:
    """The condition for somebody who does not administer everything."""
    cleared = Q(clearance__lte=scope.clearance)
    if scope.administers == "tenant" or lists is None:
        return cleared
    return cleared & (readers_condition(lists) | keeper_condition(scope=scope))


def _ids(sets: QuerySet[KnowledgeSet]) -> list[int]:
    """Looked up once: the searches that follow plan faster with a list than with nested queries."""
    return list(sets.order_by().values_list("pk", flat=True))


def documents_in_any(set_ids: Sequence[int]) -> Q:
    """The document is in at least one of these sets."""
    return Q(Exists(Document.sets.through.objects.filter(document_id=OuterRef("pk"), knowledgeset_id__in=set_ids)))


def document_get(*, scope: Scope, document_id: int) -> Document:
    """A document that the asker may open. Raises NotFoundError."""
    document = documents_readable(scope=scope).select_related("live_version").filter(pk=document_id).first()
    if document is None:
        raise NotFoundError("document", document=document_id)
    return document


def corpus_epoch(*, scope: Scope) -> int:
    """The number of changes so far of what people of this tenant can find."""
    return epoch_now(tenant_id=scope.tenant_id)


# ── bounds for another search backend ─────────────────────────────────────────────────────────────


def search_bounds(*, scope: Scope, sets: Sequence[int] = (), filters: Filters | None = None) -> Bounds:
    """The bounds of `documents_askable` with the same arguments. Readers of documents are no part of them."""
    filters = filters or Filters()
    narrowed = replace(filters, axis=None, capability=(), organisation=(), tags=()) != Filters()
    groups = [group for person in scope.persons for group in _groups_of(person, sets, filters)]
    return Bounds(
        clearance=scope.shared_clearance,
        sets=tuple(groups),
        tags=tuple(filters.tags),
        is_exact=not narrowed and reader_lists(scope=scope) is None,
    )


def backend_collection(*, scope: Scope) -> str | None:
    """Where the tenant's passages are searched instead of Postgres; None: nowhere else."""
    rows = TenantBackend.objects.filter(tenant_id=scope.tenant_id, ready__isnull=False)
    return rows.values_list("collection", flat=True).first()


def _groups_of(person: Scope, sets: Sequence[int], filters: Filters) -> list[tuple[int, ...]]:
    """Groups of sets in which a visible document of one person is, readable or opened."""
    groups = _groups(person, sets, filters)
    opened = _opened(person, sets, filters, reader_lists(scope=person))
    return [(*group, *opened[number]) if opened else group for number, group in enumerate(groups)]


def _groups(scope: Scope, sets: Sequence[int], filters: Filters) -> list[tuple[int, ...]]:
    """Groups of readable sets; a visible document is in at least one set of each."""
    return _narrowed(sets_readable(scope=scope), sets, filters)


def _opened(scope: Scope, sets: Sequence[int], filters: Filters, lists: Lists) -> list[tuple[int, ...]]:
    """For each group the sets from which the asker reads what a source opens; [] where there are none at all."""
    if lists is None or not lists.by_source:
        return []
    readable = _ids(sets_readable(scope=scope))
    ids = opened_sets(scope=scope, lists=lists, readable=readable)
    return _narrowed(KnowledgeSet.objects.filter(tenant_id=scope.tenant_id, pk__in=ids), sets, filters) if ids else []


def _narrowed(rows: QuerySet[KnowledgeSet], sets: Sequence[int], filters: Filters) -> list[tuple[int, ...]]:
    """A group of those that are asked, and one for each axis whose codes are named."""
    narrowed = rows.filter(pk__in=sets) if sets else rows
    groups = [narrowed.filter(axis=filters.axis) if filters.axis else narrowed]
    for axis, codes in ((Axis.CAPABILITY, filters.capability), (Axis.ORGANISATION, filters.organisation)):
        if codes:
            groups.append(rows.filter(axis=axis, code__in=codes))
    return [tuple(group.order_by("pk").values_list("pk", flat=True)) for group in groups]
