"""Sources: where documents come from, how the last run went, and which sets are composed of them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user, ago, badge
from accounts.admin.pages import admin_page
from accounts.error_messages import error_message, stored_message
from accounts.roles import administers
from accounts.scope import Scope
from knowledge.admin.curation import OwnerAdmin, run_action
from knowledge.admin.source_forms import SourceForm, setting_name, source_form
from knowledge.admin.source_trials import preview_found, test_found, trial_answer, trial_shown
from knowledge.connectors import connector_kinds
from knowledge.models import IngestJob, SetSource, Source
from knowledge.rights import PLACES_MANAGE
from knowledge.selectors import jobs_readable
from knowledge.selectors.sets import source_list, sources_managed
from knowledge.services.composition import source_sets_add
from knowledge.services.registration import DEFAULT_SOURCE
from knowledge.services.sources import (
    faults_listed,
    held_deletions,
    held_deletions_decide,
    source_counted,
    source_create,
    source_delete,
    source_pause,
    source_preview,
    source_run_start,
    source_test,
    source_update,
)
from knowledge.services.sources.sync_runs import CHANGES, EVERYTHING, LISTED_KINDS, WHOLE_LIST, source_message
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
SHOWN_FAULTS = 50
SAID = ("faults", "notes")  # of the report of a run


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
        (None, {"fields": ("name", "location")}),
        (
            _("Sign-in"),
            {"fields": (("login", "secret"), "webhook_secret", "allow_private"), "classes": ("rs-sign-in",)},
        ),
        (
            _("Knowledge sets and access"),
            {"fields": ("sets", ("clearance", "clearance_floor"), ("people", "levels"), "shared")},
        ),
        (_("Synchronisation"), {"fields": (("schedule", "enabled"), ("handler", "owner"))}),
        (_("Scope"), {"fields": (("include", "exclude"), ("tags", "metadata"), "max_documents")}),
        (_("Pace"), {"fields": (("requests_per_minute", "hours"),), "classes": ("collapse",)}),
        (_("Deletions"), {"fields": (("delete_missing", "delete_at_most_percent"),), "classes": ("collapse",)}),
    )
    viewed = ((None, {"fields": (("name", "kind"), "location", ("handler", "owner"), ("schedule", "enabled"))}),)

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
            return self.viewed
        kinds = [kind for kind in connector_kinds().values() if obj is None or obj.kind == kind.kind]
        kinds = [kind for kind in kinds if kind.setting_fields]
        of_kinds = [
            (
                kind.label,
                {
                    "fields": [setting_name(kind.kind, field) for field in kind.setting_fields],
                    "classes": ("rs-kind",),
                },
            )
            for kind in kinds
        ]
        system = (None, {"fields": ("kind",)})
        rest = self.fieldsets[1:]
        if obj is not None:
            rest = ((rest[0]), (_("Access"), {"fields": rest[1][1]["fields"][1:]}), *rest[2:])
        return (system, self.fieldsets[0], *of_kinds, *rest)

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
        if not change:
            self._join_sets(request, obj, form.cleaned_data["sets"])

    def _join_sets(self, request: HttpRequest, source: Source, sets: list[int]) -> None:
        """What the sets refuse is said; the source is there nevertheless."""
        try:
            source_sets_add(scope=admin_scope(request), actor=admin_user(request), source_id=source.pk, set_ids=sets)
        except RagError as error:
            messages.warning(request, error_message(error))

    def response_post_save_add(self, request: HttpRequest, obj: Source) -> HttpResponseRedirect:
        """The page of the new source, where it can be tested and synchronised."""
        return redirect("admin:knowledge_source_change", obj.pk)

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
        extra = {} if source is None else _runs_of(request, source, scope=admin_scope(request))
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

    @admin_page("<int:pk>/preview/", name="knowledge_source_preview")
    def preview(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: what a run would bring in, shown below the button."""
        get_object_or_404(self.get_queryset(request), pk=pk)
        return trial_answer(
            request,
            lambda: preview_found(source_preview(scope=admin_scope(request), source_id=pk)),
            name="preview",
            source_id=pk,
        )

    @admin_page("<int:pk>/run/", name="knowledge_source_run")
    def run(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: run a source now."""
        source = get_object_or_404(self.get_queryset(request), pk=pk)
        return run_action(
            request,
            lambda: source_run_start(
                scope=admin_scope(request), actor=admin_user(request), source_id=pk, mode=_mode(request)
            ),
            done=str(_("The source is being synchronised.")),
            back=reverse("admin:knowledge_source_change", args=[source.pk]),
        )

    @admin_page("<int:pk>/test/", name="knowledge_source_test")
    def test(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: try the source step by step, shown below the button."""
        get_object_or_404(self.get_queryset(request), pk=pk)
        return trial_answer(
            request,
            lambda: test_found(source_test(scope=admin_scope(request), source_id=pk)),
            name="test",
            source_id=pk,
        )

    @admin_page("<int:pk>/deletions/", name="knowledge_source_deletions")
    def deletions(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: delete the documents that wait (`delete`), or keep them."""
        source = get_object_or_404(self.get_queryset(request), pk=pk)
        delete = "delete" in request.POST
        return run_action(
            request,
            lambda: held_deletions_decide(
                scope=admin_scope(request), actor=admin_user(request), source_id=pk, delete=delete
            ),
            done=str(_("The documents were deleted.") if delete else _("The documents are kept.")),
            back=reverse("admin:knowledge_source_change", args=[source.pk]),
        )


def _mode(request: HttpRequest) -> str:
    """What a run is to read: by the button that was pressed."""
    mode = request.POST.get("mode", CHANGES)
    return mode if mode in (CHANGES, WHOLE_LIST, EVERYTHING) else CHANGES


def _runs_of(request: HttpRequest, source: Source, *, scope: Scope) -> dict[str, Any]:
    """What stands below the form: the sets of the source and its runs."""
    composed = source.set_sources.select_related("knowledge_set").order_by("knowledge_set__name")
    is_managed = sources_managed(scope=scope).filter(pk=source.pk).exists()
    counted = source_counted(scope=scope, source_id=source.pk) if is_managed else None
    trial = trial_shown(request, source_id=source.pk, counted=counted)
    runs = _runs(source, scope=scope)
    return {
        "source": source,
        "is_managed": is_managed,
        "held": held_deletions(scope=scope, source=source) if is_managed else None,
        "item_faults": faults_listed(scope=scope, source_id=source.pk)[:SHOWN_FAULTS] if is_managed else (),
        "trial": trial,
        "is_busy": any(run["is_open"] for run in runs) or bool(trial and trial.get("is_open")),
        "pause": source_pause(source),
        "sees_places": administers(scope=scope, doing=PLACES_MANAGE),
        "runs": runs,
        "may_run": source.kind in LISTED_KINDS,
        "composed": [set_source.knowledge_set for set_source in composed],
    }


def _runs(source: Source, *, scope: Scope) -> list[dict[str, Any]]:
    """The latest runs with their figures, for people: of a source that others manage, those that the person started.

    A report names files of the source. Of a run that read other sources, too, only what it says of this one is shown.
    """
    of_source = Q(source=source) | Q(run__work__arguments__sources__contains=[source.pk])
    jobs = IngestJob.objects.filter(of_source, tenant_id=source.tenant_id)
    if not sources_managed(scope=scope).filter(pk=source.pk).exists():
        jobs = jobs_readable(scope=scope).filter(of_source)
    jobs = jobs.exclude(report={}).select_related("run__work").order_by("-id")[:10]
    return [_run(job, source) for job in jobs]


def _run(job: IngestJob, source: Source) -> dict[str, Any]:
    is_shared, report = job.source_id != source.pk, job.report
    faults, notes = (
        [problem for problem in report.get(name, ()) if _is_of(problem, source, is_shared)] for name in SAID
    )
    return {
        "job": job,
        "is_open": hasattr(job, "run") and job.run.state != "done",
        "is_shared": is_shared,
        "state": job.run.state if hasattr(job, "run") else "",
        "has_failed": bool(faults),
        "figures": () if is_shared else [(label, report[name]) for name, label in FIGURES if report.get(name)],
        "refused": () if is_shared else report.get("refused", [])[:50],
        "said": [
            stored_message(problem["code"], problem["message"], problem.get("data")) for problem in (*faults, *notes)
        ],
    }


def _is_of(problem: dict[str, Any], source: Source, is_shared: bool) -> bool:
    return not is_shared or problem.get("source") == source.name
