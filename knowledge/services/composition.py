"""Compose sets of sources: which documents of a source are in which sets, and why.

A set is composed of sources, each with a filter. `Document.handled["sets"]` records, for each set whose composition
includes the document, how it came there: "source" (composition added it) or "hand" (it was there already). So:

* A matching document is added to the set once. If somebody takes it out, it stays out.
* When the source is removed from the set, or its filter no longer matches, composition takes out what it has added,
  never what a person has added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import MixedTenantsError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, KnowledgeSet, SetSource, Source
from knowledge.queue import SETTLE_SOURCE, enqueue_on_commit
from knowledge.selectors import set_owned
from knowledge.selectors.sets import source_get, sources_managed, sources_usable
from knowledge.types import SourceFilter, strictly

BATCH = 500  # documents a transaction
AT_ONCE = 5000  # documents that are updated within the request; more of them in the background

Origin = Literal["source", "hand"]


@dataclass(frozen=True, slots=True)
class Memberships:
    """Sets to add one document to and to take it out of, and what it records from now on."""

    add: frozenset[int]
    remove: frozenset[int]
    remembered: Mapping[str, Origin]


def memberships_plan(
    *, present: Collection[int], remembered: Mapping[str, Origin], wanted_sets: Collection[int]
) -> Memberships:
    """What to do for one document, from the ids of its sets, its record of them, and what composition wants."""
    staying = {key: origin for key, origin in remembered.items() if int(key) in wanted_sets}
    fresh = [set_id for set_id in wanted_sets if str(set_id) not in remembered]
    add = frozenset(set_id for set_id in fresh if set_id not in present)
    dropped = {int(key) for key, origin in remembered.items() if key not in staying and origin == "source"}
    noted: dict[str, Origin] = {str(set_id): "source" if set_id in add else "hand" for set_id in fresh}
    return Memberships(add, frozenset(dropped & set(present)), {**staying, **noted})


def filter_matches(narrowed: SourceFilter, document: Document) -> bool:
    """Whether a document belongs to a set with this filter."""
    return (
        (not narrowed.paths or glob_matches(document.external_id, narrowed.paths))
        and (not narrowed.tags or not set(narrowed.tags).isdisjoint(document.tags))
        and all(document.metadata.get(key) == value for key, value in narrowed.metadata.items())
    )


def filter_is_within(new: SourceFilter, old: SourceFilter) -> bool:
    """Whether a filter lets nothing through that the old one kept out, as far as their words tell."""
    return (
        (not old.paths or (bool(new.paths) and set(new.paths) <= set(old.paths)))
        and (not old.tags or (bool(new.tags) and set(new.tags) <= set(old.tags)))
        and all(key in new.metadata and new.metadata[key] == value for key, value in old.metadata.items())
    )


@transaction.atomic
def set_sources_put(
    *, scope: Scope, actor: User, set_id: int, sources: Sequence[tuple[int, SourceFilter]]
) -> list[SetSource]:
    """Replace what a set is composed of, and put in or take out documents accordingly. Idempotent.

    Sources that are new to the set, or get a wider filter, must be usable for the asker. Raises NotFoundError,
    NotAllowedError, MixedTenantsError.
    """
    chosen = set_owned(scope=scope, set_id=set_id)
    before = {row.source_id: row for row in SetSource.objects.select_for_update().filter(knowledge_set=chosen)}
    filters = dict(sources)
    for source_id, narrowed in filters.items():
        if source_id not in before or not filter_is_within(narrowed, strictly(SourceFilter, before[source_id].filter)):
            _usable(scope, chosen, source_id)
    SetSource.objects.filter(knowledge_set=chosen).exclude(source__in=filters).delete()
    for source_id, narrowed in filters.items():
        SetSource.objects.update_or_create(
            knowledge_set=chosen, source_id=source_id, defaults={"filter": _stored(narrowed)}
        )
    audit_record(actor=actor, action="set.sources", target=chosen.code, set=chosen.pk, sources=sorted(filters))
    sources_settle_soon(source_ids={*before, *filters})
    return list(chosen.set_sources.select_related("source").order_by("source__name"))


@transaction.atomic
def source_sets_add(*, scope: Scope, actor: User, source_id: int, set_ids: Sequence[int]) -> None:
    """Compose sets of one more source, whole; what they are composed of already stays. Raises as set_sources_put."""
    for set_id in set_ids:
        rows = SetSource.objects.filter(knowledge_set=set_id)
        present = {row.source_id: strictly(SourceFilter, row.filter) for row in rows}
        sources = {source_id: SourceFilter(), **present}
        set_sources_put(scope=scope, actor=actor, set_id=set_id, sources=list(sources.items()))


def _usable(scope: Scope, chosen: KnowledgeSet, source_id: int) -> None:
    source = source_get(scope=scope, source_id=source_id)
    if source.tenant_id != chosen.tenant_id:
        raise MixedTenantsError
    usable = sources_usable(scope=scope)
    if chosen.rights == KnowledgeSet.Rights.SET:  # its own rights would not count here
        usable = sources_managed(scope=scope)
    if not usable.filter(pk=source_id).exists():
        raise NotAllowedError("compose_source", name=source.name)


def _stored(narrowed: SourceFilter) -> dict[str, object]:
    """The filter as it is stored: without fields that do not narrow it."""
    values = {"paths": list(narrowed.paths), "tags": list(narrowed.tags), "metadata": dict(narrowed.metadata)}
    return {key: value for key, value in values.items() if value}


@transaction.atomic
def sources_settle_soon(*, source_ids: Collection[int]) -> None:
    """Update the sets of small sources at once, those of large sources by tasks after the commit.

    Call it last in a transaction: it locks documents in order and the epoch after them, as publishing does.
    """
    small, room = [], AT_ONCE
    counted = Source.objects.filter(pk__in=source_ids).annotate(
        number=Count("documents", filter=Q(documents__deleted=None))
    )
    for source in counted.order_by("number", "pk"):
        room -= source.number
        if room >= 0:
            small.append(source)
        else:
            enqueue_on_commit(SETTLE_SOURCE, source_id=source.pk)
    ids = list(_here(small))
    if sum(documents_settle(document_ids=batch) for batch in batches(ids, BATCH)):
        for tenant_id in sorted({source.tenant_id for source in small}):
            epoch_advance(tenant_id=tenant_id)


def source_settle(*, source_id: int) -> int:
    """Update the sets of all documents of a source by composition; returns how many documents changed."""
    source = Source.objects.filter(pk=source_id).first()  # it may have been removed since
    return 0 if source is None else sum(_settled(source, batch) for batch in batches(list(_here([source])), BATCH))


@transaction.atomic
def _settled(source: Source, document_ids: Sequence[int]) -> int:
    moved = documents_settle(document_ids=document_ids)
    if moved:
        epoch_advance(tenant_id=source.tenant_id)
    return moved


def _here(sources: Iterable[Source]) -> QuerySet[Document, int]:
    """Ids of the present documents of sources, in order."""
    rows = Document.objects.filter(source__in=[source.pk for source in sources], deleted=None)
    return rows.order_by("pk").values_list("pk", flat=True)


def batches(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Slices of a list, in order."""
    return (ids[start : start + size] for start in range(0, len(ids), size))


@transaction.atomic
def documents_settle(*, document_ids: Sequence[int]) -> int:
    """Update the sets of these documents by composition; returns how many changed.

    The caller advances the epoch afterwards, as its last lock.
    """
    rows = list(Document.objects.select_for_update().filter(pk__in=document_ids, deleted=None).order_by("pk"))
    composed = _composed({row.source_id for row in rows})
    if not any(composed.values()) and not any(row.handled.get("sets") for row in rows):
        return 0
    present = _present([row.pk for row in rows])
    through = Document.sets.through
    added: list[tuple[int, int]] = []
    noted: list[Document] = []
    moved: set[int] = set()
    for row in rows:
        set_ids = {set_id for set_id, narrowed in composed[row.source_id] if filter_matches(narrowed, row)}
        memberships = memberships_plan(
            present=present[row.pk], remembered=row.handled.get("sets", {}), wanted_sets=set_ids
        )
        if memberships.remove:
            through.objects.filter(document_id=row.pk, knowledgeset_id__in=memberships.remove).delete()
        added += [(row.pk, set_id) for set_id in sorted(memberships.add)]
        moved |= {row.pk} if memberships.add or memberships.remove else set()
        if memberships.remembered != row.handled.get("sets", {}):
            row.handled = {**row.handled, "sets": dict(memberships.remembered)}
            noted.append(row)
    through.objects.bulk_create(
        [through(document_id=document_id, knowledgeset_id=set_id) for document_id, set_id in added],
        ignore_conflicts=True,
    )
    Document.objects.bulk_update(noted, ["handled"])
    return len(moved)


@transaction.atomic
def memberships_by_hand_record(*, document_ids: Iterable[int], set_ids: Collection[int]) -> None:
    """Record that a person has added these documents to these sets: composition will not take them out."""
    rows = Document.objects.select_for_update().filter(pk__in=document_ids, handled__has_key="sets").order_by("pk")
    for row in rows:
        remembered = row.handled["sets"]
        by_hand = {str(set_id): "hand" for set_id in set_ids if str(set_id) in remembered}
        Document.objects.filter(pk=row.pk).update(handled={**row.handled, "sets": {**remembered, **by_hand}})


def _composed(source_ids: Iterable[int]) -> Mapping[int, list[tuple[int, SourceFilter]]]:
    filters_of_source: dict[int, list[tuple[int, SourceFilter]]] = defaultdict(list)
    for row in SetSource.objects.filter(source__in=list(source_ids)):
        filters_of_source[row.source_id].append((row.knowledge_set_id, strictly(SourceFilter, row.filter)))
    return filters_of_source


def _present(document_ids: Sequence[int]) -> Mapping[int, set[int]]:
    sets_of_document: dict[int, set[int]] = defaultdict(set)
    rows = Document.sets.through.objects.filter(document_id__in=document_ids)
    for document_id, set_id in rows.values_list("document_id", "knowledgeset_id"):
        sets_of_document[document_id].add(set_id)
    return sets_of_document


# ── globs ─────────────────────────────────────────────────────────────────────────────────────────


def glob_matches(path: str, globs: Sequence[str]) -> bool:
    """Whether a path matches any of the globs; `*` also matches slashes, case does not count."""
    lowered = path.casefold()
    return any(fnmatchcase(lowered, pattern.casefold()) for pattern in globs)
