"""Reads documents for facts, by set.

First by rules: the facts of a document together with the note that it was read. Then, where a language model is
connected, some passages at a time, with the place up to which it has read. A document that is replaced meanwhile is
read again in its new version; facts of the old one are visible to nobody. `knowledge/jobs/read_facts.py` does it in the
background.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from asgiref.sync import async_to_sync
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from knowledge import model_registry
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.graph_triples import NewTriple, triples_store
from knowledge.models import Chunk, Document, FactReading, Triple
from knowledge.selectors.facts import fact_rules, readings_to_ask, sets_read_by_model
from knowledge.services.model_slots import background_json_model
from ragcore.graph.extraction import DEFAULT_CONFIDENCE, ExtractedFact, extract_facts
from ragcore.graph.model_extraction import MODEL_RULES, extract_by_model
from ragcore.llm.client import LlmClient
from ragcore.ports import ChatModel

logger = logging.getLogger(__name__)

LOAD = 1000  # facts stored at once
KINDS = (Chunk.Kind.BODY, Chunk.Kind.WHOLE)  # the others repeat what these say
BY_MODEL = "model"  # the rule of a fact
ASKED_AT_ONCE = 4  # passages
MOST_ASKED = 40  # passages of a document; the rest of it is read by rules alone
MODEL_SECONDS = 40.0  # of one request to its first token
MOST_TRIES = 3  # of a passage for which a model that answers others does not
SENTENCE = "The lamp is part of the desk."  # that any model answers which answers at all


def document_read(document: Document, sets: list[int], equal: Sequence[int] = ()) -> None:
    """Store the facts that the rules find in a document of one of the sets, in place of those of other rules.

    `equal`: sets whose facts all have DEFAULT_CONFIDENCE.
    """
    try:
        with transaction.atomic():
            _read(document, sets, equal)
            connection.check_constraints()  # now, and not with the checkpoint that this is part of
    except IntegrityError:
        if Document.objects.filter(live_version=document.live_version_id).exists():
            raise
        logger.info("document %s was deleted while it was read for facts", document.pk)


def _read(document: Document, sets: list[int], equal: Sequence[int]) -> None:
    into = document.sets.filter(pk__in=sets).order_by("pk").first()
    if into is None or document.live_version_id is None:
        return
    former = Triple.objects.filter(version=document.live_version_id)  # of other rules, or of another set
    if FactReading.objects.filter(version=document.live_version_id, knowledge_set=into).exists():
        former = former.exclude(rule=BY_MODEL)
    else:
        FactReading.objects.filter(version=document.live_version_id).delete()
    if former.delete()[0]:
        epoch_advance(tenant_id=document.tenant_id, sets=[into.pk])
    is_equal = into.pk in equal
    read = ((chunk, _by_rules(document, chunk, is_equal=is_equal)) for chunk in _chunks(document))
    count = _load(document, into.pk, read)
    FactReading.objects.update_or_create(
        version_id=document.live_version_id,
        defaults={"knowledge_set": into, "rules": fact_rules(is_equal=is_equal), "facts": count},
    )


def _chunks(document: Document, *, after: int = -1) -> Iterable[Chunk]:
    rows = Chunk.objects.filter(version=document.live_version_id, kind__in=KINDS, retired=None, ordinal__gt=after)
    return rows.order_by("ordinal").iterator(chunk_size=200)


def _by_rules(document: Document, chunk: Chunk, *, is_equal: bool) -> Sequence[ExtractedFact]:
    facts = extract_facts(chunk.text, title=document.title, heading_path=chunk.heading_path)
    return [replace(fact, confidence=DEFAULT_CONFIDENCE) for fact in facts] if is_equal else facts


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


def readings_outdated(sets: list[int]) -> QuerySet[FactReading]:
    """Of sets whose option is off now, and of documents that left their set."""
    return FactReading.objects.exclude(knowledge_set__in=sets)


def facts_withdraw(sets: list[int]) -> None:
    """Remove the facts of outdated readings."""
    outdated = Triple.objects.filter(document__isnull=False).exclude(knowledge_set__in=sets)
    changed = set(outdated.order_by().values_list("tenant_id", "knowledge_set_id").distinct())
    outdated.delete()
    for tenant_id, set_id in changed:
        epoch_advance(tenant_id=tenant_id, sets=[set_id])
    readings_outdated(sets).delete()


# ── by the language model ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Said:
    """What the model said of passages that it was asked about together."""

    facts: Sequence[Sequence[ExtractedFact]]  # of each, up to the first for which it was away
    is_answering: bool  # others, and not for that one


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPassages:
    """Passages of a document that the model has been asked about, and its reply, which is not stored yet."""

    reading: FactReading
    document: Document
    chunks: Sequence[Chunk]
    reply: _Said
    is_end: bool  # of the document
    is_anew: bool  # another prompt has read the document before

    @property
    def is_model_there(self) -> bool:
        """Whether it goes on with asking."""
        return bool(self.reply.facts) or self.reply.is_answering or not self.chunks

    def store(self) -> None:
        """Store what was read up to the first passage for which the model was away."""
        row = FactReading.objects.select_for_update().filter(version=self.reading.version_id).first()
        if row is None:  # the version is gone
            return
        if self.is_anew:
            Triple.objects.filter(version=row.version_id, rule=BY_MODEL).delete()
        read = list(zip(self.chunks, self.reply.facts, strict=False))
        row.facts += _load(self.document, self.reading.knowledge_set_id, read)
        row.model, row.asked = MODEL_RULES if self.is_end else "", self.reading.asked + len(read)
        row.tries = 0 if read else self.reading.tries
        row.ordinal = read[-1][0].ordinal if read else self.reading.ordinal
        if len(read) < len(self.chunks):
            _put_off(row, self.chunks[len(read)], is_answering=self.reply.is_answering)
        row.save(update_fields=["facts", "model", "asked", "ordinal", "tries", "tried"])


def facts_ask(sets: list[int]) -> AskedPassages | None:
    """Ask the model about the next passages of the next document that it has not read to the end.

    None: nothing is to be read now, or there is no model that writes JSON. A passage for which alone it does not answer
    is left out after MOST_TRIES.
    """
    sets = sets_read_by_model(sets=sets)
    model = background_json_model()
    reading = readings_to_ask(sets=sets).first() if model is not None and sets else None
    if model is None or reading is None:
        return None
    is_anew = bool(reading.model)
    if is_anew:
        reading.ordinal, reading.asked, reading.tries = -1, 0, 0
    document = reading.version.document
    at_once = 1 if reading.tries else ASKED_AT_ONCE  # what comes behind a passage that fails would be asked in vain
    most = max(min(at_once, MOST_ASKED - reading.asked), 0)
    chunks = list(islice(_chunks(document, after=reading.ordinal), most))
    reply = async_to_sync(_ask)(model, document.title, chunks)
    is_end = len(chunks) == len(reply.facts) < at_once
    return AskedPassages(reading=reading, document=document, chunks=chunks, reply=reply, is_end=is_end, is_anew=is_anew)


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
