"""What rules and connectors say about the relations of a document, stored before anybody looks for what they mean."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from knowledge.models import Document, DocumentRelation
from knowledge.relation_kinds import KINDS
from knowledge.services.relations.keys import reference_key

MOST_STATEMENTS = 500  # of one document and origin
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One document stands so to another one; `reference` as in `knowledge.services.relations.keys`."""

    kind: str
    reference: str


def statements_write(*, document: Document, origin: str, statements: Iterable[Statement]) -> bool:
    """Store what an origin says now in the place of what it said before; True if that is different. Idempotent.

    Needs a transaction. Documents that were found for the same statement stay; `relations_settle` finds those of new
    ones. What a keeper has dismissed stays dismissed. Kinds that do not exist, and references that name nothing, are
    left out.
    """
    stated = {
        (statement.kind, key): None
        for statement in statements
        if statement.kind in KINDS and (key := reference_key(statement.reference, source_id=document.source_id))
    }
    if len(stated) > MOST_STATEMENTS:
        logger.warning("document %s relates to %s others; %s are used", document.pk, len(stated), MOST_STATEMENTS)
        stated = dict(list(stated.items())[:MOST_STATEMENTS])
    rows = list(DocumentRelation.objects.filter(source=document, origin=origin))
    gone = [row.pk for row in rows if (row.kind, row.target_key) not in stated]
    present = {(row.kind, row.target_key) for row in rows}
    new = [
        DocumentRelation(tenant_id=document.tenant_id, kind=kind, source_id=document.pk, target_key=key, origin=origin)
        for kind, key in stated
        if (kind, key) not in present
    ]
    if gone:
        DocumentRelation.objects.filter(pk__in=gone).delete()
    DocumentRelation.objects.bulk_create(new)
    return bool(gone or new)
