"""Sources: where documents come from, how the last run went, and which sets are composed of them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user, ago, badge
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message, stored_message
from accounts.roles import administers
from accounts.scope import Scope
from knowledge.admin.curation import OwnerAdmin, run_action
from knowledge.admin.source_forms import LinesField, PairsField, SourceForm, setting_name, source_form
from knowledge.connectors import Preview, connector_kinds
from knowledge.models import IngestJob, KnowledgeSet, SetSource, Source
from knowledge.rights import PLACES_MANAGE
from knowledge.selectors import jobs_readable, sets_managed
from knowledge.selectors.sets import set_sources, source_list, sources_managed, sources_usable
from knowledge.services.composition import set_sources_put
from knowledge.services.registration import DEFAULT_SOURCE
from knowledge.services.sources import (
    set_ingest,
    source_create,
    source_delete,
    source_pause,
    source_preview,
    source_run_start,
    source_update,
)
from knowledge.services.sources.sync_runs import LISTED_KINDS, source_message
from knowledge.types import SourceFilter, strictly
from ragcore.errors import RagError

COLOURS = {"": "info", "running": "info", "succeeded": "success", "failed": "danger"}
FIGURES = (
    ("found", _("found")),
    ("new", _("new")),
    ("changed", _("changed")),
    ("unchanged", _("unchanged")),
    ("left_out", _("skipped")),
    ("deleted", _("deleted")),
)


@admin.register(Source)
class SourceAdmin(OwnerAdmin):
    """Owners see and change their own sources, administrators all; runs are started here."""

    form = source_form()
    list_display = ("name", "kind", "outcome_badge", "when", "next_shown", "documents_here", "in_sets", "owner")
    list_filter = ("kind", "outcome", "enabled", "set_sources__knowledge_set")
    search_fields = ("name", "location")
    ordering = ("name",)
    change_form_outer_before_template = "admin/knowledge/source/paused.html"
    change_form_outer_after_template = "admin/knowledge/source/runs.html"
    fieldsets = (
        (None, {"fields": (("name", "kind"), "location", ("handler", "owner"), ("schedule", "enabled"))}),
        (
            _("Scope"),
            {
                "fields": (
                    ("include", "exclude"),
                    ("clearance", "clearance_floor"),
                    ("tags", "metadata"),
                    ("max_documents", "levels"),
                )
            },
        ),
        (_("Deletions"), {"fields": (("delete_missing", "delete_at_most_percent"),), "classes": ("collapse",)}),
        (
            _("Access"),
            {"fields": ("shared", "allow_private", ("login", "secret"), "webhook_secret"), "classes": ("collapse",)},
        ),
    )

    # ── rows and rights ─────────────────────────────────────────────────────────────────────────

    def get_queryset(self, request: HttpRequest) -> QuerySet[Source]:
        composed = Prefetch("set_sources", queryset=SetSource.objects.select_related("knowledge_set"))
        rows = source_list(scope=admin_scope(request)).prefetch_related(None).prefetch_related(composed)
        return rows.order_by(*self.get_ordering(request))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Source | None = None) -> bool:
        if obj is None:
            return self.has_view_permission(request)
        return sources_managed(scope=admin_scope(request)).filter(pk=obj.pk).exists()

    def has_delete_permission(self, request: HttpRequest, obj: Source | None = None) -> bool:
        """Not the source of uploads, which takes over what other sources leave."""
        return self.has_change_permission(request, obj) and (obj is None or obj.name != DEFAULT_SOURCE)

    def get_readonly_fields(self, request: HttpRequest, obj: Source | None = None) -> tuple[str, ...]:
        return ("kind",) if obj is not None else ()

    def get_fieldsets(self, request: HttpRequest, obj: Source | None = None) -> Any:
        """Who may not change a source sees what it is, without the options. A source has the settings of its kind."""
        if obj is not None and not self.has_change_permission(request, obj):
            return self.fieldsets[:1]
        kinds = [kind for kind in connector_kinds().values() if obj is None or obj.kind == kind.kind]
        kinds = [kind for kind in kinds if kind.setting_fields]
        of_kinds = [
            (
                kind.label,
                {
                    "fields": [setting_name(kind.kind, field) for field in kind.setting_fields],
                    "classes": ("rs-kind",),
                    "description": kind.location_help,
                },
            )
            for kind in kinds
        ]
        return (self.fieldsets[0], *of_kinds, *self.fieldsets[1:])

    def get_form(self, request: HttpRequest, obj: Source | None = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["fields"] = [name for name in SourceForm.Meta.fields if obj is None or name != "kind"]
        form = super().get_form(request, obj, change, **kwargs)
        return type(form.__name__, (form,), {"scope": admin_scope(request)})

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"owner": admin_user(request).pk, "kind": Source.Kind.FOLDER}

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """The sources and how many documents go with them; the deletion is soft. Those that must stay are refused."""
        documents = sum(int(getattr(obj, "document_count", 0)) for obj in objs)
        counts = {str(self.opts.verbose_name_plural): len(objs), str(_("documents")): documents}
        refused = {str(obj) for obj in objs if not self.has_delete_permission(request, obj)}
        return [str(obj) for obj in objs], counts, refused, []

    # ── columns ─────────────────────────────────────────────────────────────────────────────────

    @badge(description=_("last sync"), ordering="outcome", colours=COLOURS)
    def outcome_badge(self, row: Source) -> tuple[str, str]:
        if row.kind not in LISTED_KINDS:
            return "–", ""  # what others send is never run; a key without a colour is shown as it is
        return row.outcome, row.get_outcome_display()

    @admin.display(description=_("last sync time"), ordering="last_run")
    def when(self, row: Source) -> SafeString | str:
        if row.last_run is None:
            return "–"
        if not (words := source_message(row)):
            return ago(row.last_run)
        return format_html('{}<br><span class="rs-trouble">{}</span>', ago(row.last_run), words)

    @admin.display(description=_("next sync"), ordering="next_run")
    def next_shown(self, row: Source) -> SafeString | str:
        waits = row.kind in LISTED_KINDS and row.enabled and row.outcome != Source.Outcome.RUNNING
        return ago(row.next_run) if waits and row.next_run else "–"

    @admin.display(description=_("documents"), ordering="document_count")
    def documents_here(self, row: Any) -> int:
        return int(row.document_count)

    @admin.display(description=_("knowledge sets"))
    def in_sets(self, row: Source) -> str:
        return ", ".join(set_source.knowledge_set.shown_name for set_source in row.set_sources.all()) or "–"

    # ── writing, by the services only ───────────────────────────────────────────────────────────

    def save_model(self, request: HttpRequest, obj: Source, form: Any, change: bool) -> None:
        context: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
        values = form.values()
        saved = source_update(source_id=obj.pk, values=values, **context) if change else None
        obj.pk = (saved or source_create(values=values, **context)).pk
        obj.refresh_from_db()

    def delete_model(self, request: HttpRequest, obj: Source) -> None:
        source_delete(scope=admin_scope(request), actor=admin_user(request), source_id=obj.pk, with_documents=True)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Source]) -> None:
        for row in queryset:
            self.delete_model(request, row)

    # ── pages ───────────────────────────────────────────────────────────────────────────────────

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        source = self.get_object(request, object_id)
        extra = {} if source is None else _runs_of(source, scope=admin_scope(request))
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

    @admin_page("<int:pk>/preview/", name="knowledge_source_preview")
    def preview(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: what a run would bring in, shown above the source."""
        source = get_object_or_404(self.get_queryset(request), pk=pk)
        return run_action(
            request,
            lambda: source_preview(scope=admin_scope(request), source_id=pk),
            done=_preview_words,
            back=reverse("admin:knowledge_source_change", args=[source.pk]),
        )

    @admin_page("<int:pk>/run/", name="knowledge_source_run")
    def run(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: run a source now."""
        source = get_object_or_404(self.get_queryset(request), pk=pk)
        return run_action(
            request,
            lambda: source_run_start(scope=admin_scope(request), actor=admin_user(request), source_id=pk),
            done=str(_("The source is being synchronised.")),
            back=reverse("admin:knowledge_source_change", args=[source.pk]),
        )


def _preview_words(preview: Preview) -> str:
    """A count and examples, in words."""
    if not preview.count:
        return str(_("Nothing would come in."))
    counted = ngettext("%(count)d document would come in", "%(count)d documents would come in", preview.count)
    words = counted if preview.is_complete else str(_("At least %(count)d documents would come in"))
    sentence = f"{words % {'count': preview.count}}: {', '.join(preview.examples)}"
    if preview.unreadable:
        sentence += " · " + _("Cannot be read: %(names)s") % {"names": ", ".join(preview.unreadable)}
    return sentence


def _runs_of(source: Source, *, scope: Scope) -> dict[str, Any]:
    """What stands below the form: the sets of the source and its runs."""
    composed = source.set_sources.select_related("knowledge_set").order_by("knowledge_set__name")
    return {
        "source": source,
        "pause": source_pause(source),
        "sees_places": administers(scope=scope, doing=PLACES_MANAGE),
        "runs": _runs(source, scope=scope),
        "may_run": source.kind in LISTED_KINDS,
        "composed": [set_source.knowledge_set for set_source in composed],
    }


def _runs(source: Source, *, scope: Scope) -> list[dict[str, Any]]:
    """The latest runs with their figures, for people: of a source that others manage, those that the person started.

    A report names files of the source.
    """
    jobs = IngestJob.objects.filter(source=source)
    if not sources_managed(scope=scope).filter(pk=source.pk).exists():
        jobs = jobs_readable(scope=scope).filter(source=source)
    jobs = jobs.exclude(report={}).select_related("run__work").order_by("-id")[:10]
    return [
        {
            "job": job,
            "is_open": hasattr(job, "run") and job.run.state != "done",
            "figures": [(label, job.report.get(name, 0)) for name, label in FIGURES if job.report.get(name)],
            "refused": job.report.get("refused", [])[:50],
            "said": [
                stored_message(problem["code"], problem["message"], problem.get("data"))
                for problem in (*job.report.get("faults", ()), *job.report.get("notes", ()))
            ],
        }
        for job in jobs
    ]


# ── sources of a set ──────────────────────────────────────────────────────────────────────────────


class FilterForm(forms.Form):
    """One source: whether it belongs to the set, and what of it."""

    is_chosen = forms.BooleanField(required=False)
    paths = LinesField(label=_("paths"), help_text=_("Patterns such as radio/*, one per line. If empty, all."))
    tags = LinesField(label=_("tags"), help_text=_("Any of these, one per line. If empty, all."))
    metadata = PairsField(label=_("attributes"), help_text=_("All must match: name = value, one per line."))

    def __init__(self, source: Source, data: Any, *, initial: dict[str, Any]) -> None:
        self.source = source
        super().__init__(data, prefix=f"source{source.pk}", initial=initial)

    def filter(self) -> SourceFilter:
        values = {name: self.cleaned_data[name] for name in ("paths", "tags", "metadata")}
        return strictly(SourceFilter, values)


@admin_page("compose/<int:set_id>/", of=Source, name="knowledge_source_compose")
def compose_page(request: HttpRequest, set_id: int) -> HttpResponse:
    """GET: the sources that may be chosen, those of the set with their filters; POST: the new composition."""
    chosen = sets_managed(scope=admin_scope(request)).filter(pk=set_id).first()
    if chosen is None:
        raise Http404
    lines = _lines(request, chosen)
    if request.method == "POST" and all(line.is_valid() for line in lines) and _saved(request, chosen, lines):
        return redirect("admin:knowledge_source_compose", set_id=chosen.pk)
    title = _("Sources of %(name)s") % {"name": chosen.name}
    page = {"title": title, "set": chosen, "lines": lines}
    return page_response(request, "admin/knowledge/source/compose.html", page)


def _lines(request: HttpRequest, chosen: KnowledgeSet) -> list[FilterForm]:
    scope = admin_scope(request)
    now = {row.source_id: row for row in set_sources(scope=scope, set_id=chosen.pk)}
    usable = sources_usable(scope=scope).filter(tenant=chosen.tenant_id)
    rows = {source.pk: source for source in [*usable, *(row.source for row in now.values())]}
    data = request.POST if request.method == "POST" else None
    return [
        FilterForm(source, data, initial={"is_chosen": pk in now, **(now[pk].filter if pk in now else {})})
        for pk, source in sorted(rows.items(), key=lambda pair: pair[1].name)
    ]


def _saved(request: HttpRequest, chosen: KnowledgeSet, lines: list[FilterForm]) -> bool:
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request), "set_id": chosen.pk}
    try:
        pairs = [(line.source.pk, line.filter()) for line in lines if line.cleaned_data["is_chosen"]]
        set_sources_put(sources=pairs, **who)
        if "ingest" in request.POST:
            set_ingest(**who)
            messages.success(request, _("The sources of the set are saved and being synchronised."))
        else:
            messages.success(request, _("The sources of the set are saved."))
    except RagError as error:
        messages.error(request, error_message(error))
        return False
    return True
