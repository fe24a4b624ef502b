"""Reading documents for facts, in the background and by set.

First by rules: one document at a time, its facts and the note that it was read in one transaction. Then, where a
language model is connected, some passages at a time, with the place up to which it has read. So the work can be broken
off at any time and goes on. A document that is replaced meanwhile is read again in its new version; facts of the old
one are visible to nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from asgiref.sync import async_to_sync
from django.db import IntegrityError, transaction
from django.utils import timezone

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
MODEL_SECONDS = 40.0  # of one request to its first token
MOST_TRIES = 3  # of a passage for which a model that answers others does not
SENTENCE = "The lamp is part of the desk."  # that any model answers which answers at all


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
    outdated = FactReading.objects.exclude(knowledge_set__in=sets)
    if outdated.exists():
        Triple.objects.filter(document__isnull=False).exclude(knowledge_set__in=sets).delete()
        outdated.delete()


# ── by the language model ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Said:
    """What the model said of passages that it was asked about together."""

    facts: Sequence[Sequence[ExtractedFact]]  # of each, up to the first for which it was away
    is_answering: bool  # others, and not for that one


def facts_ask_next(sets: list[int]) -> bool:
    """Let the model read the next passages of the next document that it has not read to the end.

    False: nothing is to be read now, there is no model, or it answers nothing. Then every place is kept, and it is
    asked again later. A passage for which alone it does not answer is left out after MOST_TRIES.
    """
    limits = passages_limits(sets=sets)
    model = background_model(is_patient=False)
    reading = readings_to_ask(limits=limits).first() if model is not None and limits else None
    if model is None or reading is None:
        return False
    if reading.model:  # another prompt has read it: from the beginning
        Triple.objects.filter(version=reading.version_id, rule=BY_MODEL).delete()
        reading.model, reading.ordinal, reading.asked, reading.tries = "", -1, 0, 0
    document = reading.version.document
    most_passages = (
        1 if reading.tries else ASKED_AT_ONCE
    )  # what comes behind a passage that fails would be asked in vain
    most = min(most_passages, limits[reading.knowledge_set_id] - reading.asked)
    chunks = [chunk for _, chunk in zip(range(max(most, 0)), _chunks(document, after=reading.ordinal), strict=False)]
    reply = async_to_sync(_ask)(model, document.title, chunks)
    return _progress(reading, document, chunks, reply, is_end=len(chunks) == len(reply.facts) < most_passages)


async def _ask(model: ChatModel, title: str, chunks: Sequence[Chunk]) -> _Said:
    """Facts of the passages. Where it answered for none of them, a sentence says whether it answers at all."""
    facts_of_passages = await asyncio.gather(
        *(_ask_one(model, title, chunk.heading_path, chunk.text) for chunk in chunks)
    )
    read = list(takewhile(lambda facts: facts is not None, facts_of_passages))
    is_answering = any(facts is not None for facts in facts_of_passages)
    if chunks and not is_answering:
        is_answering = await _ask_one(model, "", (), SENTENCE) is not None
    return _Said([facts for facts in read if facts is not None], is_answering)


async def _ask_one(
    model: ChatModel, title: str, heading_path: Sequence[str], text: str
) -> Sequence[ExtractedFact] | None:
    """Facts of a passage; None where the model could not be reached."""
    llm = LlmClient(model, seconds=MODEL_SECONDS, is_patient=True)
    facts = await extract_by_model(text, title=title, heading_path=heading_path, llm=llm)
    is_away = llm.counts["unreachable"] or llm.counts["busy"] or llm.counts["silent"]
    return None if facts is None and is_away else facts or []


@transaction.atomic
def _progress(reading: FactReading, document: Document, chunks: Sequence[Chunk], reply: _Said, *, is_end: bool) -> bool:
    """Store what was read up to the first passage for which the model was away; False where it was away altogether."""
    row = FactReading.objects.select_for_update().filter(version=reading.version_id).first()
    if row is None:  # the version is gone
        return True
    read = list(zip(chunks, reply.facts, strict=False))
    row.facts += _load(document, reading.knowledge_set_id, read)
    row.model, row.asked, row.ordinal = MODEL_RULES if is_end else "", reading.asked + len(read), reading.ordinal
    row.tries = 0 if read else reading.tries
    if read:
        row.ordinal = read[-1][0].ordinal
    if len(read) < len(chunks):
        _put_off(row, chunks[len(read)], is_answering=reply.is_answering)
    row.save(update_fields=["facts", "model", "asked", "ordinal", "tries", "tried"])
    return bool(read) or reply.is_answering or not chunks


def _put_off(row: FactReading, chunk: Chunk, *, is_answering: bool) -> None:
    """Note that the model did not answer for a passage: other documents come first. After MOST_TRIES it is left out.

    Only what happened while it answered others counts.
    """
    row.tried, row.tries = timezone.now(), row.tries + is_answering
    if row.tries >= MOST_TRIES:
        logger.warning(
            "the model answers, but %s times not for passage %s of version %s: it is left out of the facts",
            row.tries,
            chunk.ordinal,
            row.version_id,
        )
        row.ordinal, row.asked, row.tries = chunk.ordinal, row.asked + 1, 0
