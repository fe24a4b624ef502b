"""Facts and imports that the asker may see."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.postgres.search import SearchQuery
from django.db.models import F, Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge import model_registry
from knowledge.indexes.graph_triples import entity_key
from knowledge.indexes.triple_words import lexeme
from knowledge.models import KnowledgeSet, Triple, TripleDecision, TripleImport
from knowledge.models.graph import FactState
from knowledge.selectors.documents import documents_askable
from knowledge.selectors.keeping import documents_openable
from knowledge.selectors.sets import sets_curated, sets_readable
from knowledge.types import Filters

GRAPH_FACTS = 120  # of a picture


def triples_askable(*, scope: Scope, sets: Sequence[int] = (), include_rejected: bool = False) -> QuerySet[Triple]:
    """THE definition of which facts the asker may see: imported ones of sets that the asker may read, and those of the
    live versions of documents that a search of the asker may touch, while their passage is not taken out.

    `sets` narrows both. Facts that an owner rejected are left out.
    """
    readable = sets_readable(scope=scope).order_by().values("pk")
    if sets:
        readable = readable.filter(pk__in=list(sets))
    documents = documents_askable(scope=scope, sets=sets).order_by().values("pk")
    imported = Q(document=None, knowledge_set__in=readable)
    read = Q(document__in=documents, document__live_version=F("version"), chunk__retired=None)
    rows = Triple.objects.filter(imported | read, tenant_id=scope.tenant_id)
    return rows if include_rejected else rows.exclude(state=FactState.REJECTED)


def triples_listed(*, scope: Scope, sets: Sequence[int] = (), name: str = "", relation: str = "") -> QuerySet[Triple]:
    """Facts to go through, by id; `name`: one end is called so, `relation`: exactly this one.

    Going through all sentences is reading the documents: those that a set withholds are left out.
    """
    openable = documents_openable(scope=scope).order_by().values("pk")
    rows = triples_askable(scope=scope, sets=sets).defer("lexemes").select_related("knowledge_set").order_by("pk")
    rows = rows.filter(Q(document=None) | Q(document__in=openable))
    if name:
        rows = rows.filter(Q(subject_key=entity_key(name)) | Q(object_key=entity_key(name)))
    return rows.filter(relation=relation) if relation else rows


def triples_named(*, scope: Scope, ids: Sequence[int]) -> QuerySet[Triple]:
    """Those of these facts that the asker may see, with their document and import."""
    return triples_askable(scope=scope).filter(pk__in=list(ids)).select_related("document", "source").defer("lexemes")


def facts_askable(*, scope: Scope, facts: Sequence[int], sets: Sequence[int] = (), filters: Filters) -> bool:
    """Whether the asker could get each of these imported facts for an answer now; filters leave out all."""
    if not facts:
        return True
    return not filters and triples_askable(scope=scope, sets=sets).filter(pk__in=facts).count() == len(set(facts))


def triples_with_words(rows: QuerySet[Triple], text: str) -> QuerySet[Triple]:
    """Those of the facts that have all words of a text."""
    terms = [lexeme(term) for term in dict.fromkeys(model_registry.tokenizer().terms(text)) if len(term) <= 100]
    if not terms:
        return rows
    return rows.filter(lexemes=SearchQuery(" & ".join(terms), search_type="raw", config="simple"))


def imports_listed(*, scope: Scope) -> QuerySet[TripleImport]:
    """Imports into sets that the asker curates, newest first."""
    curated = sets_curated(scope=scope).order_by().values("pk")
    return TripleImport.objects.filter(knowledge_set__in=curated).select_related("knowledge_set", "actor")


def import_get(*, scope: Scope, import_id: int) -> TripleImport:
    """An import into a set that the asker curates. Raises NotFoundError."""
    row = imports_listed(scope=scope).filter(pk=import_id).first()
    if row is None:
        raise NotFoundError("triple_import", triple_import=import_id)
    return row


def triple_curated(*, scope: Scope, triple_id: int) -> Triple:
    """A fact that the asker may see, rejected ones too, of a set that the asker curates. Raises NotFoundError."""
    rows = triples_askable(scope=scope, include_rejected=True).filter(knowledge_set__in=_curated(scope))
    triple = rows.select_related("knowledge_set", "document").defer("lexemes").filter(pk=triple_id).first()
    if triple is None:
        raise NotFoundError("triple", triple=triple_id)
    return triple


def triple_decisions(*, scope: Scope, sets: Sequence[int] = ()) -> QuerySet[TripleDecision]:
    """Decisions about facts of sets that the asker curates, the latest first; of documents that the asker may read."""
    documents = documents_askable(scope=scope, sets=sets).order_by().values("pk")
    rows = TripleDecision.objects.filter(
        Q(document=None) | Q(document__in=documents), knowledge_set__in=_curated(scope)
    )
    if sets:
        rows = rows.filter(knowledge_set__in=list(sets))
    return rows.select_related("knowledge_set", "author").order_by("-pk")


def _curated(scope: Scope) -> QuerySet[KnowledgeSet, int]:
    return sets_curated(scope=scope).order_by().values_list("pk", flat=True)


def triples_around(rows: QuerySet[Triple], *, name: str) -> list[Triple]:
    """Facts with an entity and, while there is room, with its neighbours; without a name the last ones."""
    rows = rows.order_by("-pk")
    if not name:
        return list(rows[:GRAPH_FACTS])
    key = entity_key(name)
    first = list(rows.filter(Q(subject_key=key) | Q(object_key=key))[: GRAPH_FACTS // 2])
    around = {end for row in first for end in (row.subject_key, row.object_key)} - {key}
    first_ids = [row.pk for row in first]
    more = rows.filter(Q(subject_key__in=around) | Q(object_key__in=around)).exclude(pk__in=first_ids)
    return [*first, *more[: GRAPH_FACTS - len(first)]] if around else first


def entity_key_of(name: str) -> str:
    """The key by which facts of an entity are found; "" for none."""
    return entity_key(name) if name else ""
