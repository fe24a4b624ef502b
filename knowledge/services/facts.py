"""Reading documents for facts, in the background and by set (U8).

First by rules: one document at a time, its facts and the note that it was read in one transaction. Then, where a
language model is connected, some passages at a time, with the place up to which it has read. So the work can be broken
off at any time and goes on. A document that is replaced meanwhile is read again in its new version; facts of the old
one are visible to nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

from asgiref.sync import async_to_sync
from django.db import IntegrityError, transaction

from knowledge import model_registry
from knowledge.indexes.graph_triples import NewTriple, triples_store
from knowledge.models import Chunk, Document, FactReading, Triple
from knowledge.selectors.facts import documents_to_read, passages_limits, readings_to_ask, sets_read_for_facts
from knowledge.services.model_slots import background_model
from ragcore.graph.extraction import RULES_VERSION, ExtractedFact, extract_facts
from ragcore.graph.model_extraction import MODEL_RULES, extract_by_model
from ragcore.llm.client import LlmClient
from ragcore.ports import ChatModel

logger = logging.getLogger(__name__)

LOAD = 1000  # facts stored at once
KINDS = (Chunk.Kind.BODY, Chunk.Kind.WHOLE)  # the others repeat what these say
BY_MODEL = "model"  # the rule of a fact
ASKED_AT_ONCE = 4  # passages
MODEL_SECONDS = 40.0  # of one request


def facts_read_next() -> bool:
    """Read the next document that waits, by rules or by the model; whether there was one.

    Facts of sets that want none any more are removed.
    """
    sets = sets_read_for_facts()
    _facts_withdraw(sets)
    document = documents_to_read(sets=sets).first() if sets else None
    if document is not None:
        try:
            _read(document, sets)
        except IntegrityError:
            if Document.objects.filter(live_version=document.live_version_id).exists():
                raise
            logger.info("document %s was deleted while it was read for facts", document.pk)
        return True
    return bool(sets) and facts_ask_next(sets)


@transaction.atomic
def _read(document: Document, sets: list[int]) -> None:
    into = document.sets.filter(pk__in=sets).order_by("pk").first()
    if into is None or document.live_version_id is None:
        return
    former = Triple.objects.filter(version=document.live_version_id)  # of other rules, or of another set
    if FactReading.objects.filter(version=document.live_version_id, knowledge_set=into).exists():
        former = former.exclude(rule=BY_MODEL)
    else:
        FactReading.objects.filter(version=document.live_version_id).delete()
    former.delete()
    count = _load(document, into.pk, ((chunk, _by_rules(document, chunk)) for chunk in _chunks(document)))
    FactReading.objects.update_or_create(
        version_id=document.live_version_id,
        defaults={"knowledge_set": into, "rules": RULES_VERSION, "facts": count},
    )


def _chunks(document: Document, *, after: int = -1) -> Iterable[Chunk]:
    rows = Chunk.objects.filter(version=document.live_version_id, kind__in=KINDS, retired=None, ordinal__gt=after)
    return rows.order_by("ordinal").iterator(chunk_size=200)


def _by_rules(document: Document, chunk: Chunk) -> Sequence[ExtractedFact]:
    return extract_facts(chunk.text, title=document.title, heading_path=chunk.heading_path)


def _load(document: Document, set_id: int, read: Iterable[tuple[Chunk, Sequence[ExtractedFact]]]) -> int:
    """Store facts of passages; how many there were that the set did not have."""
    count, rows = 0, []
    for chunk, facts in read:
        rows += [
            NewTriple(
                set_id=set_id,
                triple=fact.triple,
                confidence=fact.confidence,
                document=document.pk,
                version=document.live_version_id,
                chunk=chunk.pk,
                sentence=fact.sentence,
                rule=fact.rule,
            )
            for fact in facts
        ]
        if len(rows) >= LOAD:
            count, rows = count + _store(document, rows), []
    return count + _store(document, rows)


def _store(document: Document, rows: list[NewTriple]) -> int:
    return triples_store(rows, tenant_id=document.tenant_id, source_id=None, tokenizer=model_registry.tokenizer())


@transaction.atomic
def _facts_withdraw(sets: list[int]) -> None:
    """Facts that were read for sets whose option is off now, and of documents that left their set."""
    left = FactReading.objects.exclude(knowledge_set__in=sets)
    if left.exists():
        Triple.objects.filter(document__isnull=False).exclude(knowledge_set__in=sets).delete()
        left.delete()


# ── by the language model ───────────────────────────────────────────────────────────────────────


def facts_ask_next(sets: list[int]) -> bool:
    """Let the model read the next passages of the next document that it has not read to the end; whether it did.

    Nothing without a model, and where it does not answer: then its place is kept, and it is asked again later.
    """
    limits = passages_limits(sets=sets)
    model = background_model(is_patient=False)
    reading = readings_to_ask(limits=limits).first() if model is not None and limits else None
    if model is None or reading is None:
        return False
    if reading.model:  # another prompt has read it: from the beginning
        Triple.objects.filter(version=reading.version_id, rule=BY_MODEL).delete()
        reading.model, reading.ordinal, reading.asked = "", -1, 0
    document = reading.version.document
    most = min(ASKED_AT_ONCE, limits[reading.knowledge_set_id] - reading.asked)
    chunks = [chunk for _, chunk in zip(range(max(most, 0)), _chunks(document, after=reading.ordinal), strict=False)]
    found = async_to_sync(_ask)(model, document.title, chunks)
    return _progress(reading, document, chunks, found)


async def _ask(model: ChatModel, title: str, chunks: Sequence[Chunk]) -> list[list[ExtractedFact] | None]:
    """Facts of each passage; None where the model could not be reached."""

    async def one(chunk: Chunk) -> list[ExtractedFact] | None:
        llm = LlmClient(model, seconds=MODEL_SECONDS)
        facts = await extract_by_model(chunk.text, title=title, heading_path=chunk.heading_path, llm=llm)
        is_away = llm.counts["unreachable"] or llm.counts["busy"] or llm.counts["silent"]
        return None if facts is None and is_away else facts or []

    return await asyncio.gather(*map(one, chunks))


@transaction.atomic
def _progress(
    reading: FactReading, document: Document, chunks: Sequence[Chunk], found: Sequence[list[ExtractedFact] | None]
) -> bool:
    """Store what was read up to the first passage for which the model was away; False where it was away at once."""
    row = FactReading.objects.select_for_update().filter(version=reading.version_id).first()
    if row is None:  # the version is gone
        return True
    read = [(chunk, facts) for chunk, facts in zip(chunks, found, strict=True) if facts is not None]
    if chunks and not read:
        return False
    row.facts += _load(document, reading.knowledge_set_id, read)
    row.model, row.asked = "", reading.asked + len(read)
    row.ordinal = max([reading.ordinal, *(chunk.ordinal for chunk, _ in read)])
    if len(chunks) < ASKED_AT_ONCE:  # the end of the document, or as many as its set allows
        row.model = MODEL_RULES
    row.save(update_fields=["facts", "model", "asked", "ordinal"])
    return True
