"""Pages of entities for those who curate sets: search, one entity with its sentences, decisions and their history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user, is_administrator
from accounts.admin.pages import admin_page, page_response
from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.admin.curation import CuratorAdmin, ids_of, is_curator, run_action
from knowledge.graph_exports import GraphFormat, entity_lines, graph_file
from knowledge.models import Entity, EntityDecision, EntityKind, KnowledgeSet
from knowledge.selectors import sets_curated
from knowledge.selectors.entities import (
    entities_listed,
    entity_aliases,
    entity_counts,
    entity_mentions,
    entity_named,
    entity_neighbours,
    graph_statistics,
)
from knowledge.selectors.entity_cards import (
    EntityRow,
    curated_ids,
    decisions_known,
    entities_exported,
    entities_ranked,
    entity_rows,
    entity_states,
    mentions_together,
    sentences_of,
)
from knowledge.selectors.triples import triple_decisions, triples_listed
from knowledge.services.entities import (
    entities_merge,
    entity_confirm,
    entity_decision_undo,
    entity_reject,
    entity_split,
)
from knowledge.services.fact_decisions import fact_confirm, fact_decision_undo, fact_reject

PAGE = 50
SENTENCES = 20
NEIGHBOURS = 30
CENTRES = 12  # entities of a picture without a name
NEAR_EACH = 6  # neighbours of each of them
FACTS = 50
HISTORY = 100
MOST_NAME = 2000
FACT_ACTS = {"confirm": fact_confirm, "reject": fact_reject}


class EntityPages(CuratorAdmin):
    """Beside the pages of triples, under the same address."""

    @admin_page("entities/", name="knowledge_triple_entities", allowed=is_curator)
    def entities_page(self, request: HttpRequest) -> HttpResponse:
        """Entities of the sets that the person curates, the most frequent first, with the size of the graph."""
        scope, choices, chosen, sets = _sets(request)
        text, least, kind = _text(request, "q"), _least(request), request.GET.get("kind", "")
        kind = kind if kind in EntityKind.values else ""
        ranked = entities_ranked(scope=scope, sets=sets, text=text, kind=kind, least=least)
        page = Paginator(ranked, PAGE).get_page(request.GET.get("page"))
        context = {
            "title": _("Entities"),
            "sets": choices,
            "chosen": chosen,
            "text": text,
            "kind": kind,
            "least": least,
            "kinds": EntityKind.choices,
            "rows": entity_rows(page.object_list, scope=scope, sets=sets),
            "page": page,
            "statistics": graph_statistics(scope=scope, sets=sets),
            "query_string": urlencode({"q": text, "kind": kind, "set": chosen[0] if chosen else ""}),
        }
        return page_response(request, "admin/knowledge/triple/entities.html", context)

    @admin_page("entities/export/", name="knowledge_triple_entities_export", allowed=is_curator)
    def entities_export(self, request: HttpRequest) -> HttpResponseBase:
        """The entities of the page, all of them: CSV or JSON-LD."""
        scope, _choices, _chosen, sets = _sets(request)
        kind = request.GET.get("kind", "")
        rows = entities_exported(
            scope=scope, sets=sets, text=_text(request, "q"), least=_least(request),
            kind=kind if kind in EntityKind.values else "",
        )  # fmt: skip
        form: GraphFormat = "jsonld" if request.GET.get("format") == "jsonld" else "csv"
        return graph_file(entity_lines(rows, form), form, "entities")

    @admin_page("entities/one/", name="knowledge_triple_entity", allowed=is_curator)
    def entity_page(self, request: HttpRequest) -> HttpResponse:
        """One entity; `with`: the sentences that mention another one, too."""
        scope, choices, chosen, sets = _sets(request)
        try:
            entity = entity_named(scope=scope, name=_text(request, "name"), sets=sets)
            other = (
                entity_named(scope=scope, name=_text(request, "with"), sets=sets) if _text(request, "with") else None
            )
        except NotFoundError as error:
            raise Http404(error.message) from error
        mentions = entity_mentions(scope=scope, entity_id=entity.pk, sets=sets)
        if other is not None:
            mentions = mentions_together(mentions, other=other)
        counts = entity_counts(scope=scope, entities=[entity.pk], sets=sets)[entity.pk]
        states = entity_states(scope=scope, sets=sets, keys=[entity.key])
        context = {
            "title": entity.name,
            "entity": entity,
            "other": other,
            "row": EntityRow(
                entity=entity, mentions=counts.mentions, documents=counts.documents, state=states.get(entity.key, "")
            ),
            "sets": choices,
            "chosen": chosen,
            "may_decide_for_all": is_administrator(request),
            "aliases": _aliases(scope, entity, sets),
            "neighbours": entity_neighbours(scope=scope, entity_id=entity.pk, sets=sets, limit=NEIGHBOURS),
            "sentences": sentences_of(mentions, limit=SENTENCES),
            "facts": _facts(scope, entity, sets),
            "decisions": list(_about(entity, decisions_known(scope=scope, sets=sets))[:HISTORY]),
        }
        return page_response(request, "admin/knowledge/triple/entity.html", context)

    def together(self, request: HttpRequest, query: dict[str, Any]) -> list[tuple[Entity, Entity, int]]:
        """Pairs of entities that sentences of curated sets mention together: of one entity, or of the most frequent."""
        scope, _choices, _chosen, sets = _sets(request)
        if query["name"]:
            centres = list(entities_listed(scope=scope, sets=sets, name=query["name"])[:1])
        else:
            top = entities_ranked(scope=scope, sets=sets, kind=query["kind"])[:CENTRES]
            by_id = Entity.objects.in_bulk([row["entity_id"] for row in top])
            centres = [by_id[row["entity_id"]] for row in top if row["entity_id"] in by_id]
        near = NEIGHBOURS if query["name"] else NEAR_EACH
        pairs: dict[frozenset[int], tuple[Entity, Entity, int]] = {}
        for centre in centres:
            for other, number in entity_neighbours(scope=scope, entity_id=centre.pk, sets=sets, limit=near):
                if not query["kind"] or query["kind"] == other.kind:
                    pairs.setdefault(frozenset((centre.pk, other.pk)), (centre, other, number))
        return list(pairs.values())

    @admin_page("decisions/", name="knowledge_triple_decisions", allowed=is_curator)
    def decisions_page(self, request: HttpRequest) -> HttpResponse:
        """What was decided about entities and facts, by whom, with undo."""
        scope, choices, chosen, sets = _sets(request)
        context = {
            "title": _("Decisions about the graph"),
            "sets": choices,
            "chosen": chosen,
            "entities": list(decisions_known(scope=scope, sets=sets if chosen else ())[:HISTORY]),
            "facts": list(triple_decisions(scope=scope, sets=sets if chosen else ())[:HISTORY]),
        }
        return page_response(request, "admin/knowledge/triple/decisions.html", context)

    @admin_page("decide/", name="knowledge_triple_decide", allowed=is_curator)
    def decide(self, request: HttpRequest) -> HttpResponse:
        """POST: confirm or reject an entity or a triple, merge or split two names."""
        scope, actor, values = admin_scope(request), admin_user(request), request.POST
        act, name, other = values.get("act", ""), _text(request, "name"), _text(request, "other")
        if triples := ids_of([values.get("triple", "")]):
            if act not in FACT_ACTS:
                raise Http404
            run: Callable[[], Any] = lambda: FACT_ACTS[act](scope=scope, actor=actor, triple_id=triples[0])  # noqa: E731
        else:
            place: dict[str, Any] = {
                "scope": scope,
                "actor": actor,
                "set_id": next(iter(ids_of([values.get("set", "")])), None),
            }
            acts: dict[str, Callable[[], Any]] = {
                "confirm": lambda: entity_confirm(**place, name=name),
                "reject": lambda: entity_reject(**place, name=name),
                "merge": lambda: entities_merge(**place, name=name, into=other),
                "split": lambda: entity_split(**place, name=name, other=other),
            }
            if act not in acts or (act in ("merge", "split") and not other):
                raise Http404
            run = acts[act]
        return run_action(request, run, done=_("The decision was saved. It can be undone."), back=_back(request))

    @admin_page("undo/", name="knowledge_triple_undo", allowed=is_curator)
    def undo(self, request: HttpRequest) -> HttpResponse:
        """POST: take a decision back."""
        arguments: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
        number = next(iter(ids_of([request.POST.get("decision", "")])), 0)
        service = fact_decision_undo if request.POST.get("what") == "triple" else entity_decision_undo
        return run_action(
            request,
            lambda: service(**arguments, decision_id=number),
            done=_("The decision was undone."),
            back=_back(request),
        )


def _sets(request: HttpRequest) -> tuple[Scope, QuerySet[KnowledgeSet], list[int], list[int]]:
    """Rights, sets to choose from, the chosen one, and the sets to look at: of those that the person curates only."""
    scope = admin_scope(request)
    choices = sets_curated(scope=scope).filter(tenant=scope.tenant_id).order_by("name")
    every = curated_ids(choices)
    chosen = [set_id for set_id in ids_of([request.GET.get("set", "")]) if set_id in every]
    return scope, choices, chosen, chosen or every


def _text(request: HttpRequest, name: str) -> str:
    values = request.POST if request.method == "POST" else request.GET
    return values.get(name, "").strip()[:MOST_NAME].replace("\x00", "")


def _least(request: HttpRequest) -> int:
    return max(1, min(ids_of([request.GET.get("least", "")[:6]]) or [1]))


def _aliases(scope: Scope, entity: Entity, sets: list[int]) -> list[Any]:
    """Other names that a passage tells: the other one of each pair, with the passage."""
    rows = entity_aliases(scope=scope, entity_id=entity.pk, sets=sets)[:NEIGHBOURS]
    return [(alias.other if alias.entity_id == entity.pk else alias.entity, alias) for alias in rows]


def _about(entity: Entity, decisions: QuerySet[EntityDecision]) -> QuerySet[EntityDecision]:
    return decisions.filter(Q(key=entity.key) | Q(other_key=entity.key))


def _facts(scope: Scope, entity: Entity, sets: list[int]) -> list[Any]:
    rows = triples_listed(scope=scope, sets=sets, name=entity.key)
    return list(rows.select_related("document")[:FACTS])


def _back(request: HttpRequest) -> str:
    """The page that the form stands on, one of ours."""
    page = request.POST.get("page", "")
    if page == "entity" and (name := _text(request, "shown")):
        return f"{reverse('admin:knowledge_triple_entity')}?{urlencode({'name': name})}"
    pages = {"entities": "knowledge_triple_entities", "graph": "knowledge_triple_graph"}
    return reverse(f"admin:{pages.get(page, 'knowledge_triple_decisions')}")
