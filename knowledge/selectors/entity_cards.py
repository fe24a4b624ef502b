"""What pages show of entities: ranked lists, sentences, and those of one passage.

Everything is counted among the passages that the asker may see; see `knowledge.selectors.entities`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.translation import pgettext_lazy

from accounts.scope import Scope
from knowledge.indexes.graph_triples import entity_key
from knowledge.models import Document, Entity, EntityDecision, KnowledgeSet, Mention, Triple
from knowledge.selectors.entities import aliases_openable, entity_counts, mentions_askable, mentions_openable
from knowledge.selectors.lexicon import lexicon_condition
from knowledge.selectors.triples import triples_askable
from ragcore.graph.entity_types import entity_confidence as confidence_of_name
from ragcore.graph.entity_types import entity_type

CARDS = 8  # entities of a passage that are shown
CARD_FACTS = 12  # of a passage
_SURE_KINDS = frozenset(("term", "abbreviation", "identifier"))

TYPE_WORDS = {  # of the types that come with the product; another one of the list is shown as it is written there
    "PERSON": pgettext_lazy("type of entity", "Person"),
    "ORGANIZATION": pgettext_lazy("type of entity", "Organisation"),
    "CONCEPT": pgettext_lazy("type of entity", "Concept"),
    "METHOD": pgettext_lazy("type of entity", "Method"),
    "TECHNOLOGY": pgettext_lazy("type of entity", "Technology"),
    "DATASET": pgettext_lazy("type of entity", "Dataset"),
    "METRIC": pgettext_lazy("type of entity", "Metric"),
    "TOOL": pgettext_lazy("type of entity", "Tool"),
    "PAPER": pgettext_lazy("type of entity", "Paper"),
}
EXPORTED = 1000  # entities that are read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRow:
    """An entity of a list. `state`: the decision that counts, "confirm", "reject" or ""."""

    entity: Entity
    mentions: int
    documents: int
    state: str = ""

    @property
    def type(self) -> str:
        """In words, by those of its name (`ragcore.graph.entity_types`); "" where they tell none."""
        name = entity_type(self.entity.name).name
        return str(TYPE_WORDS.get(name, name))

    @property
    def confidence(self) -> float:
        """See `entity_confidence`."""
        return entity_confidence(self.entity, mentions=self.mentions, state=self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence that mentions an entity, in three parts, with its place."""

    before: str
    name: str
    after: str
    document: Document
    chunk_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityCard:
    """An entity of a passage with what the asker may read about it."""

    entity: Entity
    mentions: int
    documents: int
    facts: tuple[Triple, ...]


def entity_confidence(entity: Entity, *, mentions: int, state: str = "", sentences: Sequence[str] = ()) -> float:
    """`ragcore.graph.entity_types.entity_confidence`; 1 for a confirmed one.

    Names of the lexicon, abbreviations and identifiers are cues by themselves; of others the words of the name and of
    `sentences` that mention it count.
    """
    if state == EntityDecision.Kind.CONFIRM:
        return 1.0
    share = 1.0 if entity.kind in _SURE_KINDS else entity_type(entity.name, sentences).cue_share
    return confidence_of_name(entity.name, count=mentions, cue_share=share)


def entities_ranked(
    *, scope: Scope, sets: Sequence[int], text: str = "", kind: str = "", least: int = 1
) -> QuerySet[Any, Any]:
    """{"entity_id", "number", "documents"} of entities with at least `least` mentions, the most frequent first."""
    rows = mentions_openable(scope=scope, sets=sets)
    if text:
        rows = rows.filter(entity__key__contains=entity_key(text))
    if kind:
        rows = rows.filter(entity__kind=kind)
    counted = rows.order_by().values("entity_id")
    counted = counted.annotate(number=Count("pk"), documents=Count("document", distinct=True))
    return counted.filter(number__gte=least).order_by("-number", "entity_id")


def entity_rows(ranked: Iterable[dict[str, Any]], *, scope: Scope, sets: Sequence[int]) -> list[EntityRow]:
    """The rows of a page of `entities_ranked`, with the decisions about them."""
    page = list(ranked)
    entities = Entity.objects.in_bulk([row["entity_id"] for row in page])
    states = entity_states(scope=scope, sets=sets, keys=[entity.key for entity in entities.values()])
    return [
        EntityRow(entity=entity, mentions=row["number"], documents=row["documents"], state=states.get(entity.key, ""))
        for row in page
        if (entity := entities.get(row["entity_id"])) is not None
    ]


def entity_decisions(*, scope: Scope, sets: Sequence[int] = ()) -> QuerySet[EntityDecision]:
    """Decisions for sets that the asker curates, and for all sets of a tenant that the asker administers."""
    rows = EntityDecision.objects.filter(lexicon_condition(scope=scope), clearance__lte=scope.clearance)
    if sets:
        rows = rows.filter(Q(knowledge_set__in=list(sets)) | Q(knowledge_set=None))
    return rows.select_related("author", "knowledge_set").order_by("-pk")


def entity_states(*, scope: Scope, sets: Sequence[int], keys: Sequence[str]) -> dict[str, str]:
    """Key -> "confirm" or "reject", where the latest decision about the name alone says so."""
    rows = entity_decisions(scope=scope, sets=sets).filter(undone=None, key__in=list(keys), other_key="")
    return {row.key: row.kind for row in reversed(rows)}


def sentences_of(mentions: QuerySet[Mention], *, limit: int) -> list[Sentence]:
    """The sentences of the first mentions, each once; a mention in a heading has the beginning of its passage."""
    sentences: dict[tuple[int, int], Sentence] = {}
    for mention in mentions[: 3 * limit]:
        text = mention.chunk.text
        sentence = (max(mention.sentence_start, 0), max(mention.sentence_end, 0))
        start, end = (mention.start, mention.end) if mention.start >= 0 else (sentence[0], sentence[0])
        sentences.setdefault(
            (mention.chunk_id, sentence[0]),
            Sentence(
                before=text[sentence[0] : start],
                name=text[start:end],
                after=text[end : sentence[1]],
                document=mention.document,
                chunk_id=mention.chunk_id,
            ),
        )
        if len(sentences) >= limit:
            break
    return list(sentences.values())


def mentions_together(mentions: QuerySet[Mention], *, other: Entity) -> QuerySet[Mention]:
    """Those of the mentions whose sentence mentions the other entity, too."""
    beside = Mention.objects.filter(
        entity=other, chunk=OuterRef("chunk"), sentence_start=OuterRef("sentence_start")
    ).order_by()
    return mentions.filter(Exists(beside))


def passage_cards(*, scope: Scope, chunk_id: int) -> list[EntityCard]:
    """Entities of a passage, the most frequent of the asker's documents first, each with facts that the passage says.

    [] where the asker may not search the passage any more.
    """
    here = mentions_askable(scope=scope).filter(chunk=chunk_id)
    ids = list(dict.fromkeys(here.order_by("start").values_list("entity_id", flat=True)))
    if not ids:
        return []
    counts = entity_counts(scope=scope, entities=ids)
    entities = Entity.objects.in_bulk(ids)
    rejected = _rejected(scope, [entity.key for entity in entities.values()])
    facts = list(triples_askable(scope=scope).filter(chunk=chunk_id).defer("lexemes").order_by("pk")[:CARD_FACTS])
    ranked = sorted((pk for pk in ids if pk in counts and pk in entities), key=lambda pk: -counts[pk].mentions)
    return [
        EntityCard(
            entity=entities[pk],
            mentions=counts[pk].mentions,
            documents=counts[pk].documents,
            facts=tuple(f for f in facts if entities[pk].key in (f.subject_key, f.object_key)),
        )
        for pk in ranked[:CARDS]
        if entities[pk].key not in rejected
    ]


def _rejected(scope: Scope, keys: Sequence[str]) -> set[str]:
    """Names of which the tenant says that they stand for no entity; what a set says counts in its searches alone."""
    rows = EntityDecision.objects.filter(
        tenant_id=scope.tenant_id, knowledge_set=None, undone=None, kind=EntityDecision.Kind.REJECT, key__in=list(keys)
    )
    return set(rows.values_list("key", flat=True))


def curated_ids(sets: QuerySet[KnowledgeSet]) -> list[int]:
    """Ids of sets, for selectors that take some; [0], which no set has, for none."""
    return list(sets.order_by().values_list("pk", flat=True)) or [0]


def decisions_known(*, scope: Scope, sets: Sequence[int] = ()) -> QuerySet[EntityDecision]:
    """Those of the decisions whose names the asker may know of now, or has written."""
    mentions = mentions_openable(scope=scope)
    first, other = (Exists(mentions.filter(entity__key=OuterRef(column))) for column in ("key", "other_key"))
    condition = Q(author=scope.user_id) | (Q(first) & (Q(other_key="") | Q(other)))
    return entity_decisions(scope=scope, sets=sets).filter(condition)


# ── export ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedEntity:
    """An entity with its numbers, and the other names that passages tell."""

    entity: Entity
    mentions: int
    documents: int
    other_names: tuple[str, ...]


def entities_exported(
    *, scope: Scope, sets: Sequence[int], text: str = "", kind: str = "", least: int = 1
) -> Iterator[ExportedEntity]:
    """All entities of `entities_ranked`, by id; memory for EXPORTED of them."""
    ranked = entities_ranked(scope=scope, sets=sets, text=text, kind=kind, least=least).order_by("entity_id")
    after = 0
    while rows := list(ranked.filter(entity_id__gt=after)[:EXPORTED]):
        after = rows[-1]["entity_id"]
        ids = [row["entity_id"] for row in rows]
        entities, aliases = Entity.objects.in_bulk(ids), _other_names(scope, sets, ids)
        for row in rows:
            if (entity := entities.get(row["entity_id"])) is not None:
                yield ExportedEntity(
                    entity=entity, mentions=row["number"], documents=row["documents"],
                    other_names=tuple(sorted(aliases.get(entity.pk, ()))),
                )  # fmt: skip


def _other_names(scope: Scope, sets: Sequence[int], ids: Sequence[int]) -> dict[int, set[str]]:
    rows = aliases_openable(scope=scope, sets=sets).filter(Q(entity__in=ids) | Q(other__in=ids))
    aliases: dict[int, set[str]] = {}
    for first, first_name, second, second_name in rows.order_by().values_list(
        "entity_id", "entity__name", "other_id", "other__name"
    ):
        aliases.setdefault(first, set()).add(second_name)
        aliases.setdefault(second, set()).add(first_name)
    return aliases
