"""Facts of knowledge sets: the table, importing files, and trying a question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from accounts.scope import Scope
from knowledge.admin.curation import each_row, ids_of, is_curator, run_action
from knowledge.admin.entities import EntityPages
from knowledge.graph_exports import GraphFormat, fact_lines, graph_file
from knowledge.graph_picture import picture_of
from knowledge.models import EntityKind, KnowledgeSet, Triple
from knowledge.models.graph import FactState
from knowledge.selectors import sets_curated
from knowledge.selectors.entities import entities_listed
from knowledge.selectors.sets import sets_readable
from knowledge.selectors.triples import (
    entity_key_of,
    imports_listed,
    triples_around,
    triples_askable,
    triples_with_words,
)
from knowledge.services.fact_decisions import fact_confirm, fact_reject
from knowledge.services.triple_files import import_start
from knowledge.services.triple_search import FactsFound, triples_retrieve_and_rewrite
from knowledge.services.triples import import_delete, triple_delete
from ragcore.errors import RagError
from ragcore.graph.retrieval import MOST_RESULTS

IMPORTS_SHOWN = 20
KINDS = [
    ("", _("by the question")),
    ("subject", _("subject")),
    ("object", _("object")),
    ("relationship", _("relationship")),
    ("type", _("type")),
]
SIGNALS = [
    ("entity", _("Entity")),
    ("relation", _("Relation")),
    ("type", _("Type")),
    ("semantic", _("Meaning")),
]


class TripleSetFilter(admin.SimpleListFilter):
    """Facts of one set."""

    title = _("knowledge set")
    parameter_name = "set"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(row.pk), row.shown_name) for row in sets_curated(scope=admin_scope(request)).order_by("name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Triple]) -> QuerySet[Triple]:
        chosen = ids_of([self.value() or ""])
        return queryset.filter(knowledge_set__in=chosen) if chosen else queryset


class OriginFilter(admin.SimpleListFilter):
    """Imported facts, or those that were read in documents."""

    title = _("origin")
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("import", _("imported")), ("document", _("from documents"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Triple]) -> QuerySet[Triple]:
        condition = {"import": Q(document=None), "document": Q(document__isnull=False)}.get(self.value() or "")
        return queryset.filter(condition) if condition is not None else queryset


class ImportForm(forms.Form):
    """A file for a knowledge set."""

    knowledge_set = forms.ModelChoiceField(queryset=KnowledgeSet.objects.none())
    file = forms.FileField()


class TryForm(forms.Form):
    """A question about facts."""

    q = forms.CharField(max_length=2000)
    set = forms.ModelMultipleChoiceField(queryset=KnowledgeSet.objects.none(), required=False)
    n = forms.IntegerField(min_value=1, max_value=MOST_RESULTS, required=False)
    kind = forms.ChoiceField(choices=KINDS, required=False)
    weights = forms.ChoiceField(choices=[("learned", ""), ("fixed", "")], required=False)
    plain = forms.BooleanField(required=False)


@admin.register(Triple)
class TripleAdmin(EntityPages):
    """Facts of sets that the person curates, as far as they may be read."""

    list_display = ("subject", "relation", "object", "set_name", "confidence", "state", "origin")
    list_display_links = None
    list_filter = (TripleSetFilter, OriginFilter, "state")
    search_fields = ("subject_key",)  # shows the box; what it finds is said in get_search_results
    search_help_text = _("Words of the fact")
    show_full_result_count = False
    list_before_template = "admin/knowledge/triple/list_top.html"
    actions = ("confirm_selected", "reject_selected", "remove_selected")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Triple]:
        scope = admin_scope(request)
        curated = sets_curated(scope=scope).order_by().values("pk")
        rows = triples_askable(scope=scope, include_rejected=True).filter(knowledge_set__in=curated)
        return rows.select_related("knowledge_set", "document", "source").defer("lexemes").order_by("-pk")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Triple], search_term: str
    ) -> tuple[QuerySet[Triple], bool]:
        """Facts that have all words, by the index of the search."""
        return triples_with_words(queryset, search_term), False

    @admin.display(description=_("knowledge set"), ordering="knowledge_set__name")
    def set_name(self, row: Triple) -> str:
        return row.knowledge_set.shown_name

    @admin.display(description=_("origin"))
    def origin(self, row: Triple) -> str:
        return row.document.title if row.document is not None else row.source.name if row.source else "–"

    @admin.action(description=_("Delete selected triples"))
    def remove_selected(self, request: HttpRequest, queryset: QuerySet[Triple]) -> None:
        count = _each(request, queryset, triple_delete)
        words = ngettext("%(count)d triple was deleted.", "%(count)d triples were deleted.", count)
        messages.success(request, words % {"count": count})

    @admin.action(description=_("Confirm selected triples"))
    def confirm_selected(self, request: HttpRequest, queryset: QuerySet[Triple]) -> None:
        count = _each(request, queryset, fact_confirm)
        words = ngettext("%(count)d triple was confirmed.", "%(count)d triples were confirmed.", count)
        messages.success(request, words % {"count": count})

    @admin.action(description=_("Reject selected triples: no search finds them"))
    def reject_selected(self, request: HttpRequest, queryset: QuerySet[Triple]) -> None:
        count = _each(request, queryset, fact_reject)
        words = ngettext("%(count)d triple was rejected.", "%(count)d triples were rejected.", count)
        messages.success(request, words % {"count": count})

    # ── importing ───────────────────────────────────────────────────────────────────────────────

    @admin_page("import/", name="knowledge_triple_import", allowed=is_curator)
    def import_page(self, request: HttpRequest) -> HttpResponse:
        """Choose a set and a file; below it the last imports with their progress."""
        sets = sets_curated(scope=admin_scope(request)).filter(tenant=admin_scope(request).tenant_id).order_by("name")
        form = ImportForm(request.POST or None, request.FILES or None)
        form.fields["knowledge_set"].queryset = sets  # type: ignore[attr-defined]
        fault = ""
        if request.method == "POST":
            if form.is_valid():
                try:
                    self._start(request, form)
                except RagError as error:
                    fault = error_message(error)
                else:
                    messages.success(request, _("The import has started."))
                    return redirect("admin:knowledge_triple_import")
            else:
                fault = str(_("Choose a knowledge set and a file."))
        rows = list(imports_listed(scope=admin_scope(request))[:IMPORTS_SHOWN])
        context = {
            "title": _("Import triples"),
            "sets": sets,
            "chosen": ids_of([request.POST.get("knowledge_set", "") or request.GET.get("set", "")]),
            "fault": fault,
            "imports": rows,
            "open": sum(row.finished is None for row in rows),
        }
        return page_response(request, "admin/knowledge/triple/import.html", context, status=400 if fault else 200)

    def _start(self, request: HttpRequest, form: ImportForm) -> None:
        file = form.cleaned_data["file"]
        import_start(
            scope=admin_scope(request),
            actor=admin_user(request),
            set_id=form.cleaned_data["knowledge_set"].pk,
            name=file.name,
            content=file,
        )

    @admin_page("import/<int:import_id>/delete/", name="knowledge_triple_import_delete", allowed=is_curator)
    def import_delete(self, request: HttpRequest, import_id: int) -> HttpResponse:
        """POST: an import goes with its facts."""
        return run_action(
            request,
            lambda: import_delete(scope=admin_scope(request), actor=admin_user(request), import_id=import_id),
            done=_("The import and its triples were deleted."),
            back=reverse("admin:knowledge_triple_import"),
        )

    # ── the graph ───────────────────────────────────────────────────────────────────────────────

    @admin_page("graph/", name="knowledge_triple_graph", allowed=is_curator)
    def graph_page(self, request: HttpRequest) -> HttpResponse:
        """Facts around an entity, or the last ones of a set, or entities that sentences mention together: as a picture
        and as a table.
        """
        rows, query = self._narrowed(request)
        shows_mentions = request.GET.get("show") == "mentions"
        triples = [] if shows_mentions else triples_around(rows, name=query["name"])
        facts = [(r.pk, r.subject_key, r.subject, r.relation, r.object_key, r.object) for r in triples]
        together = self.together(request, query) if shows_mentions else []
        facts += [(n, a.key, a.name, str(number), b.key, b.name) for n, (a, b, number) in enumerate(together)]
        context = {
            "title": _("Knowledge graph"),
            "sets": sets_curated(scope=admin_scope(request)).order_by("name"),
            **query,
            "shows_mentions": shows_mentions,
            "kinds": EntityKind.choices,
            "together": together,
            "rows": triples,
            "picture": picture_of(facts, centre=entity_key_of(query["name"])),
            "query_string": request.GET.urlencode(),
        }
        return page_response(request, "admin/knowledge/triple/graph.html", context)

    @admin_page("export/", name="knowledge_triple_export", allowed=is_curator)
    def export(self, request: HttpRequest) -> HttpResponseBase:
        """The facts of the page with the picture, all of them: CSV or JSON-LD."""
        rows, query = self._narrowed(request)
        if query["name"]:
            key = entity_key_of(query["name"])
            rows = rows.filter(Q(subject_key=key) | Q(object_key=key))
        form: GraphFormat = "jsonld" if request.GET.get("format") == "jsonld" else "csv"
        return graph_file(fact_lines(rows.iterator(chunk_size=2000), form), form, "triples")

    def _narrowed(self, request: HttpRequest) -> tuple[QuerySet[Triple], dict[str, Any]]:
        chosen = ids_of([request.GET.get("set", "")])
        name, relation = (
            request.GET.get(field, "").strip()[:2000].replace("\x00", "") for field in ("name", "relation")
        )
        rows = self.get_queryset(request).exclude(state=FactState.REJECTED)
        if chosen:
            rows = rows.filter(knowledge_set__in=chosen)
        if relation:
            rows = rows.filter(relation=relation)
        kind = request.GET.get("kind", "")[:200]
        if kind:
            rows = rows.filter(_of_kind(kind, admin_scope(request)))
        least = _share(request.GET.get("confidence", ""))
        rows = rows.filter(confidence__gte=least) if least else rows
        return rows, {"chosen": chosen, "name": name, "relation": relation, "kind": kind, "confidence": least}

    # ── trying ──────────────────────────────────────────────────────────────────────────────────

    @admin_page("try/", name="knowledge_triple_try", allowed=is_curator)
    def try_page(self, request: HttpRequest) -> HttpResponse:
        """A question with the facts that answer it, their scores, and the chain."""
        scope = admin_scope(request)
        sets = sets_readable(scope=scope).order_by("name")
        form = TryForm(request.GET if "q" in request.GET else None)
        form.fields["set"].queryset = sets  # type: ignore[attr-defined]
        result: FactsFound | None = None
        if form.is_bound and form.is_valid():
            values = form.cleaned_data
            result = triples_retrieve_and_rewrite(
                scope=scope,
                question=values["q"],
                n_results=values["n"] or 5,
                use_reranking=not values["plain"],
                sets=[row.pk for row in values["set"]],
                prompt_type=values["kind"] or None,
                weights=values["weights"] or "learned",
            )
        context = {
            "title": _("Try a question about facts"),
            "form": form,
            "sets": sets,
            "chosen": ids_of(request.GET.getlist("set")),
            "kinds": KINDS,
            "found": result,
            "rows": [_shown(scored) for scored in result.answer.triples] if result else [],
            "kind_name": dict(KINDS)[result.answer.kind.kind] if result else "",
            "signals": [name for _key, name in SIGNALS],
            "asked_wrong": form.is_bound and not form.is_valid(),
        }
        return page_response(request, "admin/knowledge/triple/try.html", context)


def _each(request: HttpRequest, rows: QuerySet[Triple], act: Callable[..., Any]) -> int:
    """How many rows the service took; what it refuses is said."""
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
    return len(each_row(request, rows, lambda row: act(triple_id=row.pk, **who), name=lambda _row: ""))


def _of_kind(kind: str, scope: Scope) -> Q:
    """Facts with an end of this type: as the import has it, or as documents mention it."""
    names = entities_listed(scope=scope, kind=kind).order_by().values("key")
    return Q(subject_type=kind) | Q(object_type=kind) | Q(subject_key__in=names) | Q(object_key__in=names)


def _share(text: str) -> float:
    """A number from 0 to 1; 0 for anything else."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 < value <= 1 else 0.0


def _shown(scored: Any) -> dict[str, Any]:
    """A fact with the values of the four signals in the order of SIGNALS."""
    return {
        "triple": scored.triple,
        "scored": scored,
        "signals": [scored.detailed_scores.get(key) for key, _name in SIGNALS],
        "details": sorted(scored.detailed_scores.items()),
    }
