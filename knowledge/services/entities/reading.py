"""Reads documents for the entities that they mention.

A stage of ingestion of its own behind the switch to live (`knowledge/jobs/read_entities.py`): the mentions of a
document are stored together with the note that it was read. A document that is replaced meanwhile is read again in
its new version. What other rules or another lexicon have read is read again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from operator import attrgetter

from django.db import IntegrityError, connection, transaction

from knowledge import model_registry
from knowledge.indexes.entities import ReadPassage, mentions_remove, mentions_store
from knowledge.models import Chunk, Document, EntityReading
from knowledge.queue import READ_ENTITIES
from ragcore.graph.mentions import RULES_VERSION, MentionFinder, attribute_names
from ragcore.graph.term_spans import TermSpans
from ragcore.ports import Tokenizer
from ragcore.text.lexicon import TermLexicon
from ragcore.text.mining.abbreviations import find_abbreviations
from ragcore.text.mining.bilingual import find_translations
from work.queue import due_enqueue

logger = logging.getLogger(__name__)

KINDS = (Chunk.Kind.BODY, Chunk.Kind.WHOLE)  # the others repeat what these say
MOST_ALIASES = 40  # of a passage


def entities_reread(*, versions: Sequence[int]) -> None:
    """Have versions read again whose passages or titles somebody has changed."""
    if EntityReading.objects.filter(version__in=list(versions)).delete()[0]:
        due_enqueue(READ_ENTITIES)


def entities_attributes_changed(document: Document, *, former: Mapping[str, object]) -> None:
    """Have a document read again whose attributes name something else than before."""
    if document.live_version_id is not None and attribute_names(document.metadata) != attribute_names(former):
        entities_reread(versions=[document.live_version_id])


def rules_of(lexicon: TermLexicon | None) -> str:
    """Fingerprint of what reading entities depends on: the rules and the tenant's lexicon names."""
    if not lexicon:
        return RULES_VERSION
    names = "\n".join(sorted(lexicon.all_names()))
    return f"{RULES_VERSION}:{sha256(names.encode()).hexdigest()[:24]}"


def documents_read(documents: Sequence[Document], terms: TermSpans | None, rules: str) -> None:
    """Read documents together; where a passage of one was deleted meanwhile, one by one without that one."""
    try:
        _read(documents, terms, rules)
    except IntegrityError:
        for document in documents:
            try:
                _read([document], terms, rules)
            except IntegrityError:
                logger.info("document %s was deleted while it was read for entities", document.pk)


@transaction.atomic
def _read(documents: Sequence[Document], terms: TermSpans | None, rules: str) -> None:
    by_version = {document.live_version_id: document for document in documents}
    versions = [pk for pk in by_version if pk is not None]
    mentions_remove(versions=versions)
    chunks = Chunk.objects.filter(version__in=versions, kind__in=KINDS, retired=None).order_by("version_id", "ordinal")
    counts = dict.fromkeys(versions, 0)
    passages: list[ReadPassage] = []
    for version, rows in groupby(
        chunks.only("version_id", "text", "heading_path").iterator(), attrgetter("version_id")
    ):
        read = passages_read(by_version[version], list(rows), terms)
        counts[version] = sum(len(passage.mentions) for passage in read)
        passages += read
    mentions_store(passages, tenant_id=documents[0].tenant_id)
    EntityReading.objects.filter(version__in=versions).delete()
    EntityReading.objects.bulk_create(
        EntityReading(version_id=pk, tenant_id=documents[0].tenant_id, rules=rules, mentions=counts[pk])
        for pk in versions
    )
    connection.check_constraints()  # now, and not with the checkpoint that this is part of


def passages_read(document: Document, chunks: Sequence[Chunk], terms: TermSpans | None) -> list[ReadPassage]:
    """Mentions and other names of the passages of one version. Names that one passage defines count in all of them."""
    pairs = {chunk.pk: aliases_in(chunk.text, model_registry.tokenizer()) for chunk in chunks}
    spans_of_pairs = TermSpans.of(
        {name for each in pairs.values() for first, second, _ in each for name in (first, second)}
    )
    names = attribute_names(document.metadata)
    finder = MentionFinder((spans_of_pairs,) if terms is None else (terms, spans_of_pairs))
    return [
        ReadPassage(
            document=document.pk,
            version=chunk.version_id,
            chunk=chunk.pk,
            mentions=finder.find(chunk.text, title=document.title, heading_path=chunk.heading_path, attributes=names),
            aliases=pairs[chunk.pk],
        )
        for chunk in chunks
    ]


def aliases_in(text: str, tokenizer: Tokenizer) -> list[tuple[str, str, str]]:
    """Pairs of names that a passage says are one: (short, long, "abbreviation"), or both languages, "bracket"."""
    pairs = [(pair.first, pair.second, "abbreviation") for pair in find_abbreviations(text)]
    if not text.isascii():
        pairs += [(pair.first, pair.second, "bracket") for pair in find_translations(text, cut=tokenizer.words)]
    return list(dict.fromkeys(pairs))[:MOST_ALIASES]


def readings_withdraw(versions: Sequence[int]) -> None:
    """Take out what was read in versions that no search finds any more."""
    mentions_remove(versions=versions)
    EntityReading.objects.filter(version__in=versions).delete()
