"""What becomes of relations when a document is removed for good."""

from __future__ import annotations

from knowledge.indexes.relations import leads_back
from knowledge.models import Document, DocumentRelation
from knowledge.relation_kinds import REPLACES
from knowledge.services.relations.targets import unbind

Origin = DocumentRelation.Origin


def relations_pass_on(*, document: Document) -> None:
    """Keep what others still say once the row is gone. Needs a transaction; the row is deleted by the caller.

    Statements that mean the document wait for another one with the same key. What it replaced is replaced by what
    replaces it, so that no edition becomes current because one between was removed.
    """
    older = DocumentRelation.objects.filter(source=document, kind=REPLACES, dismissed=False, target__isnull=False)
    newer = DocumentRelation.objects.filter(target=document, kind=REPLACES, dismissed=False)
    for new in newer:
        for old in older:
            is_stored = DocumentRelation.objects.filter(source=new.source_id, kind=REPLACES, target=old.target_id)
            if not is_stored.exists() and not leads_back(
                kind=REPLACES, source_id=new.source_id, target_id=old.target_id or 0
            ):
                DocumentRelation.objects.create(
                    tenant_id=document.tenant_id,
                    kind=REPLACES,
                    source_id=new.source_id,
                    target_id=old.target_id,
                    origin=Origin.HAND,
                )
    unbind(list(DocumentRelation.objects.filter(target=document).exclude(target_key="")))
