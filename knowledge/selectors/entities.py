"""Entities, their mentions and other names as far as the asker may know them; what owners decided about them.

An entity exists for the asker's searches where a passage that they may touch mentions it, and on pages, in lists and
exports where a document that the asker may page through does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import EpochCache, epoch_of
from knowledge.indexes.entity_graph import ScopedEntityGraph
from knowledge.indexes.graph_triples import entity_key
from knowledge.indexes.visibility import Visible
from knowledge.models import Entity, EntityAlias, EntityDecision, Mention
from knowledge.selectors.documents import documents_askable
from knowledge.selectors.keeping import documents_openable
from knowledge.selectors.lexicon import lexicon_condition
from knowledge.selectors.sets import sets_readable
from ragcore.text.lexicon import TermLexicon

_has_mentions: EpochCache[bool] = EpochCache()  # by tenant; reading documents for entities advances the epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityCounts:
    """How often an entity is mentioned in what the asker may read."""

    mentions: int = 0
    passages: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStatistics:
    """Sizes of the graph of entities that the asker may see."""

    entities: int
    mentions: int
    passages: int
    documents: int
    aliases: int


def mentions_askable(*, scope: Scope, sets: Sequence[int] = ()) -> QuerySet[Mention]:
    """THE definition of which mentions the asker may see: in passages of the live versions of documents that a search
    of the asker may touch, while the passage is not taken out. `sets` narrows them.
    """
    return Mention.objects.filter(_in_passages(scope, sets), tenant_id=scope.tenant_id)


def aliases_askable(*, scope: Scope, sets: Sequence[int] = ()) -> QuerySet[EntityAlias]:
    """Other names that a passage tells which the asker may see, by the same definition."""
    return EntityAlias.objects.filter(_in_passages(scope, sets), tenant_id=scope.tenant_id)


def mentions_openable(*, scope: Scope, sets: Sequence[int] = ()) -> QuerySet[Mention]:
    """Those of `mentions_askable` whose documents the asker may page through: what pages, lists and exports show.

    Going through all names and sentences is reading the documents, which a set may withhold.
    """
    return mentions_askable(scope=scope, sets=sets).filter(document__in=_openable(scope))


def aliases_openable(*, scope: Scope, sets: Sequence[int] = ()) -> QuerySet[EntityAlias]:
    """The same of the other names."""
    return aliases_askable(scope=scope, sets=sets).filter(document__in=_openable(scope))


def _openable(scope: Scope) -> QuerySet[Any, Any]:
    return documents_openable(scope=scope).order_by().values("pk")


def _in_passages(scope: Scope, sets: Sequence[int]) -> Q:
    documents = documents_askable(scope=scope, sets=sets).order_by().values("pk")
    return Q(document__in=documents, document__live_version=F("version"), chunk__retired=None)


def entities_listed(
    *, scope: Scope, sets: Sequence[int] = (), text: str = "", kind: str = "", name: str = ""
) -> QuerySet[Entity]:
    """Entities that the asker may know of, by name. `text`: part of the name, `name`: the whole of it."""
    mentions = mentions_openable(scope=scope, sets=sets).filter(entity=OuterRef("pk"))
    rows = Entity.objects.filter(Exists(mentions), tenant_id=scope.tenant_id).order_by("key", "pk")
    if text:
        rows = rows.filter(key__contains=entity_key(text))
    if name:
        rows = rows.filter(key=entity_key(name))
    return rows.filter(kind=kind) if kind else rows


def entity_get(*, scope: Scope, entity_id: int, sets: Sequence[int] = ()) -> Entity:
    """An entity that the asker may know of. Raises NotFoundError."""
    entity = entities_listed(scope=scope, sets=sets).filter(pk=entity_id).first()
    if entity is None:
        raise NotFoundError("entity", entity=entity_id)
    return entity


def entity_named(*, scope: Scope, name: str, sets: Sequence[int] = ()) -> Entity:
    """The entity of this name that the asker may know of. Raises NotFoundError."""
    entity = entities_listed(scope=scope, sets=sets, name=name).first()
    if entity is None:
        raise NotFoundError("entity", entity=0, name=name)
    return entity


def entity_counts(*, scope: Scope, entities: Iterable[int], sets: Sequence[int] = ()) -> dict[int, EntityCounts]:
    """Counts of entities by id; those that the asker may not know of are left out."""
    rows = mentions_askable(scope=scope, sets=sets).filter(entity__in=list(entities)).order_by().values("entity_id")
    counted = rows.annotate(
        mentions=Count("pk"), passages=Count("chunk", distinct=True), documents=Count("document", distinct=True)
    )
    return {
        row["entity_id"]: EntityCounts(mentions=row["mentions"], passages=row["passages"], documents=row["documents"])
        for row in counted
    }


def entity_mentions(*, scope: Scope, entity_id: int, sets: Sequence[int] = ()) -> QuerySet[Mention]:
    """Mentions of one entity in reading order, each with its passage and document."""
    rows = mentions_openable(scope=scope, sets=sets).filter(entity=entity_id)
    return rows.select_related("chunk", "document", "version").order_by("document_id", "chunk__ordinal", "start", "pk")


def entity_aliases(*, scope: Scope, entity_id: int, sets: Sequence[int] = ()) -> QuerySet[EntityAlias]:
    """Pairs of names that passages tell and of which the entity is one, each with both entities and its passage."""
    rows = aliases_openable(scope=scope, sets=sets).filter(Q(entity=entity_id) | Q(other=entity_id))
    return rows.select_related("entity", "other", "chunk", "document").order_by("pk")


def entity_neighbours(
    *, scope: Scope, entity_id: int, sets: Sequence[int] = (), limit: int = 50
) -> list[tuple[Entity, int]]:
    """Entities that stand in the same sentences, with the number of these, most frequent first."""
    mentions = mentions_openable(scope=scope, sets=sets)
    beside = Mention.objects.filter(
        entity=entity_id, chunk=OuterRef("chunk"), sentence_start=OuterRef("sentence_start")
    ).order_by()
    rows = (
        mentions.filter(Exists(beside), chunk__in=mentions.filter(entity=entity_id).order_by().values("chunk"))
        .exclude(entity=entity_id)
        .order_by()
        .values("entity_id")
        .annotate(number=Count("pk"))
        .order_by("-number", "entity_id")[:limit]
    )
    numbers = {row["entity_id"]: row["number"] for row in rows}
    by_id = Entity.objects.in_bulk(list(numbers))
    return [(by_id[pk], number) for pk, number in numbers.items() if pk in by_id]


def graph_statistics(*, scope: Scope, sets: Sequence[int] = ()) -> GraphStatistics:
    """Sizes of the graph, counted among what the asker may read."""
    rows = mentions_openable(scope=scope, sets=sets).order_by()
    counts = rows.aggregate(
        mentions=Count("pk"),
        entities=Count("entity", distinct=True),
        passages=Count("chunk", distinct=True),
        documents=Count("document", distinct=True),
    )
    return GraphStatistics(**counts, aliases=aliases_openable(scope=scope, sets=sets).order_by().count())


def graph_of_search(
    *, scope: Scope, visible: Visible, sets: Sequence[int], lexicon: TermLexicon | None, model: str = ""
) -> ScopedEntityGraph | None:
    """The graph for one search; None where no passage of the tenant mentions an entity, whoever may see it.

    Decisions of the sets that are searched count.
    """
    epoch = epoch_of(scope=scope, visible=visible)
    if not _has_mentions.get((scope.tenant_id,), epoch=epoch, make=lambda: _mentions_exist(scope.tenant_id)):
        return None
    readable: Iterable[int]
    if visible.readable is not None:
        readable = visible.readable
    else:
        readable = sets_readable(scope=scope).order_by().values_list("pk", flat=True)
    set_ids = sorted(set(readable) & set(sets)) if sets else sorted(readable)
    return ScopedEntityGraph(scope, visible, tuple(set_ids), scope.shared_clearance, lexicon, model)


def _mentions_exist(tenant_id: int) -> bool:
    return Mention.objects.filter(tenant_id=tenant_id).exists()


# ── decisions ───────────────────────────────────────────────────────────────────────────────────


def decision_get(*, scope: Scope, decision_id: int) -> EntityDecision:
    """A decision that the asker may undo. Raises NotFoundError."""
    rows = EntityDecision.objects.filter(lexicon_condition(scope=scope), clearance__lte=scope.clearance)
    decision = rows.select_related("knowledge_set").filter(pk=decision_id).first()
    if decision is None:
        raise NotFoundError("entity_decision", decision=decision_id)
    return decision
