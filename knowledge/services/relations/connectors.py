"""Relations that a source system states about its items."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from django.db import transaction

from knowledge.connectors.items import Item, ItemRelation
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexical_statistics import statistics_lock
from knowledge.models import Document, DocumentRelation, Source
from knowledge.relation_kinds import KINDS
from knowledge.services.relations.keys import reference_key
from knowledge.services.relations.statements import Statement, statements_write
from knowledge.services.relations.targets import relations_settle

Origin = DocumentRelation.Origin
Writing = Callable[[], AbstractContextManager[Any]]


def stated_by_item(*, source_id: int, item: Item) -> set[tuple[str, str]]:
    """Kind and key of each relation of an item, as they are stored."""
    stated = {(relation.kind, _key(relation, source_id)) for relation in item.relations if relation.kind in KINDS}
    return {(kind, key) for kind, key in stated if key}


def _key(relation: ItemRelation, source_id: int) -> str:
    return reference_key(_reference(relation), source_id=source_id)


def _reference(relation: ItemRelation) -> str:
    return f"item: {relation.external_id}"


def item_relations_write(*, source: Source, item: Item, writing: Writing = transaction.atomic) -> None:
    """Store how an item of a source stands to others, in the place of what the source said before. Idempotent.

    Nothing for an item that is no document here. One statement where the source says nothing, and said nothing.
    `writing`: the transaction to write in.
    """
    rows = Document.objects.filter(source=source, external_id=item.external_id, deleted=None)
    if not item.relations:
        rows = rows.filter(relations__origin=Origin.CONNECTOR)
    document = rows.first()
    if document is None:
        return
    statements = [Statement(kind=relation.kind, reference=_reference(relation)) for relation in item.relations]
    with writing():
        statistics_lock(tenant_id=source.tenant_id)
        if not statements_write(document=document, origin=Origin.CONNECTOR, statements=statements):
            return
        changed = relations_settle(tenant_id=source.tenant_id, document_ids=[document.pk])
        epoch_advance(tenant_id=source.tenant_id, documents={document.pk, *changed})
