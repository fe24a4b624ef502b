"""Finds the documents that statements mean: when a statement is new, and when a document arrives that answers to one.

Keys make both an equality, so a document costs one look-up whatever the number of statements that wait.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from django.db.models import QuerySet

from knowledge.indexes.relations import leads_back
from knowledge.models import Document, DocumentNames, DocumentRelation
from knowledge.relation_kinds import KINDS, REPLACES
from knowledge.services.relations.keys import candidates, document_keys
from knowledge.services.replacing import may_replace

MOST_TARGETS = 20  # documents that one statement relates to: those that were there first
CANDIDATES = 200  # documents that are looked at for one statement
BATCH = 500  # documents a look-up
logger = logging.getLogger(__name__)


def relations_settle(*, tenant_id: int, document_ids: Iterable[int]) -> set[int]:
    """Bind the statements of documents that have gone live, and those that wait for them; returns all that changed.

    Idempotent. Call in a transaction under the lock of the tenant's statistics, so that nobody binds at the same time.
    A document that no longer answers to a key by which it was found is let go. What would lead a chain (replaces,
    extends, belongs to) back to itself, and a document that its source may not replace, stays unbound.
    """
    ids = sorted(document_ids)
    changed: set[int] = set()
    for start in range(0, len(ids), BATCH):
        rows = Document.objects.filter(tenant_id=tenant_id, pk__in=ids[start : start + BATCH], deleted=None)
        documents = {row.pk: row for row in rows.select_related("source")}
        changed |= _settle_own(tenant_id, documents.keys())
        changed |= _settle_waiting(tenant_id, documents)
    return changed


def _settle_own(tenant_id: int, ids: Collection[int]) -> set[int]:
    """Look for what the statements of these documents mean."""
    unbound = DocumentRelation.objects.filter(source__in=ids, target=None).select_related("source__source")
    changed: set[int] = set()
    live = Document.objects.filter(tenant_id=tenant_id, deleted=None, live_version__isnull=False)
    for row in unbound.order_by("pk"):
        rows = candidates(live, row.target_key).select_related("source", "names").order_by("pk")[:CANDIDATES]
        for document in rows:
            terms = document.names.terms if hasattr(document, "names") else ()
            if row.target_key in document_keys(document, terms=terms):
                changed |= _bind([row, *_statement(row).exclude(pk=row.pk)], document)
    return changed


def _settle_waiting(tenant_id: int, documents: dict[int, Document]) -> set[int]:
    """Bind the statements to whose keys these documents answer, and let go of them where they do no longer."""
    terms = dict(DocumentNames.objects.filter(document__in=documents).values_list("document_id", "terms"))
    keys = {pk: document_keys(document, terms=terms.get(pk, ())) for pk, document in documents.items()}
    changed = _let_go(documents.keys(), keys)
    every = sorted(set().union(*keys.values())) if keys else []
    rows = DocumentRelation.objects.filter(tenant_id=tenant_id, target_key__in=every).exclude(target_key="")
    by_key: dict[str, list[DocumentRelation]] = defaultdict(list)
    for row in rows.select_related("source__source").order_by("pk"):
        by_key[row.target_key].append(row)
    for pk, document in documents.items():
        changed |= _bind([row for key in sorted(keys[pk]) for row in by_key.get(key, ())], document)
    return changed


def _let_go(ids: Collection[int], keys: dict[int, set[str]]) -> set[int]:
    bound = DocumentRelation.objects.filter(target__in=ids).exclude(target_key="")
    gone = [row for row in bound if row.target_id is not None and row.target_key not in keys[row.target_id]]
    unbind(gone)
    return {row.source_id for row in gone}


def unbind(rows: Collection[DocumentRelation]) -> None:
    """Make bound statements wait again, each once."""
    for row in rows:
        if _statement(row).exclude(pk=row.pk).exists():
            DocumentRelation.objects.filter(pk=row.pk).delete()
        else:
            DocumentRelation.objects.filter(pk=row.pk).update(target=None)


def _statement(row: DocumentRelation) -> QuerySet[DocumentRelation]:
    """All rows of the same statement."""
    return DocumentRelation.objects.filter(
        source=row.source_id, kind=row.kind, origin=row.origin, target_key=row.target_key
    )


def _bind(rows: Sequence[DocumentRelation], document: Document) -> set[int]:
    """Bind statements to a document that answers to them; further documents of a statement have rows of their own.

    `rows`: all rows of each statement; they are changed as they are stored.
    """
    statements: dict[tuple[int, str, str, str], list[DocumentRelation]] = defaultdict(list)
    for row in rows:
        statements[row.source_id, row.kind, row.origin, row.target_key].append(row)
    changed: set[int] = set()
    for of_statement in statements.values():
        first = of_statement[0]
        is_there = document.pk in {first.source_id, *(row.target_id for row in of_statement)}
        if is_there or not _may_bind(first, document):
            continue
        free = next((row for row in of_statement if row.target_id is None), None)
        if free is not None:
            free.target = document
            free.save(update_fields=["target"])
        elif len(of_statement) >= MOST_TARGETS:
            logger.warning("relation %s means more than %s documents", first.pk, MOST_TARGETS)
            continue
        else:
            DocumentRelation.objects.create(
                tenant_id=first.tenant_id,
                kind=first.kind,
                source_id=first.source_id,
                target=document,
                target_key=first.target_key,
                origin=first.origin,
            )
        changed |= {first.source_id, document.pk}
    return changed


def _may_bind(row: DocumentRelation, document: Document) -> bool:
    """A chain must not come back to itself; only who keeps the old document may say that another one replaces it."""
    if row.kind == REPLACES and not (
        row.source.source_id == document.source_id and may_replace(old=document, new=row.source)
    ):
        return False
    return not (KINDS[row.kind].is_chain and leads_back(kind=row.kind, source_id=row.source_id, target_id=document.pk))
