"""Reading documents for facts, in the background and by set (U8).

One document at a time: its facts and the note that it was read are one transaction, so that the work can be broken off
and goes on. A document that is replaced meanwhile is read again in its new version; facts of the old one are visible
to nobody.
"""

from __future__ import annotations

from django.db import transaction

from knowledge import model_registry
from knowledge.indexes.graph_triples import NewTriple, triples_store
from knowledge.models import Chunk, Document, FactReading, Triple
from knowledge.selectors.facts import documents_to_read, sets_read_for_facts
from ragcore.graph.extraction import RULES_VERSION, extract_facts

LOAD = 1000  # facts stored at once
KINDS = (Chunk.Kind.BODY, Chunk.Kind.WHOLE)  # the others repeat what these say


def facts_read_next() -> bool:
    """Read the next document that waits; whether there was one. Facts of sets that want none any more are removed."""
    sets = sets_read_for_facts()
    _facts_withdraw(sets)
    document = documents_to_read(sets=sets).first() if sets else None
    if document is None:
        return False
    _read(document, sets)
    return True


@transaction.atomic
def _read(document: Document, sets: list[int]) -> None:
    into = document.sets.filter(pk__in=sets).order_by("pk").first()
    if into is None or document.live_version_id is None:
        return
    Triple.objects.filter(version=document.live_version_id).delete()  # of former rules, or of another set
    count, rows = 0, []
    chunks = Chunk.objects.filter(version=document.live_version_id, kind__in=KINDS, retired=None).order_by("ordinal")
    for chunk in chunks.iterator(chunk_size=200):
        rows += [
            NewTriple(
                set_id=into.pk,
                triple=fact.triple,
                confidence=fact.confidence,
                document=document.pk,
                version=document.live_version_id,
                chunk=chunk.pk,
                sentence=fact.sentence,
            )
            for fact in extract_facts(chunk.text, title=document.title, heading_path=chunk.heading_path)
        ]
        if len(rows) >= LOAD:
            count, rows = count + _load(document, rows), []
    count += _load(document, rows)
    FactReading.objects.update_or_create(
        version_id=document.live_version_id,
        defaults={"knowledge_set": into, "rules": RULES_VERSION, "facts": count},
    )


def _load(document: Document, rows: list[NewTriple]) -> int:
    return triples_store(rows, tenant_id=document.tenant_id, source_id=None, tokenizer=model_registry.tokenizer())


@transaction.atomic
def _facts_withdraw(sets: list[int]) -> None:
    """Facts that were read for sets whose option is off now, and of documents that left their set."""
    left = FactReading.objects.exclude(knowledge_set__in=sets)
    if left.exists():
        Triple.objects.filter(document__isnull=False).exclude(knowledge_set__in=sets).delete()
        left.delete()
