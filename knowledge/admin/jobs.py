"""The ingestion pages: stage, place in the queue, sign of life, readable error, retry, pause, cancel (B7)."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import OpenFirstFilter, admin_scope, admin_user, ago, badge
from knowledge import services
from knowledge.admin.curation import CuratorAdmin, run_action
from knowledge.admin.progress import SILENT_AFTER, open_among, rows_of, summary_of
from knowledge.models import IngestItem, IngestJob
from knowledge.selectors.dashboard import items_of_job, items_shown, jobs_counted
from knowledge.services.jobs import job_cancel, job_pause, job_resume, job_retry

ROWS_OF_A_JOB = 200
JOB_COLOURS = {"open": "info", "paused": "warning", "failed": "danger", "live": "success", "cancelled": "warning"}
FIGURES = {  # of the report of a synchronisation
    "found": _("found"),
    "new": _("new"),
    "changed": _("changed"),
    "unchanged": _("unchanged"),
    "left_out": _("skipped"),
    "deleted": _("deleted"),
}
VERBS = {
    "pause": (job_pause, _("Paused. Documents being processed right now are finished first.")),
    "resume": (job_resume, _("Resumed.")),
    "cancel": (job_cancel, _("Cancelled. Documents that are already searchable stay.")),
    "retry": (job_retry, _("Failed and cancelled documents are retried in a new job.")),
}


class ProgressFilter(OpenFirstFilter):
    """Opens on what is not finished and what failed."""

    title = _("show")
    parameter_name = "progress"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("open", _("Processing or failed")),
            ("failed", _("Failed")),
            ("silent", _("Not responding")),
            ("done", _("Finished")),
        ]

    def narrowed(self, rows: QuerySet[IngestItem], choice: str) -> QuerySet[IngestItem]:
        failed = Q(stage=IngestItem.Stage.FAILED)
        silent = Q(finished=None, heartbeat__lt=timezone.now() - SILENT_AFTER)
        conditions = {
            "open": Q(finished=None) | failed,
            "failed": failed,
            "silent": silent,
            "done": Q(finished__isnull=False) & ~failed,
        }
        return rows.filter(conditions[choice])


@admin.register(IngestItem)
class IngestItemAdmin(CuratorAdmin):
    """One row a document version on its way to being searchable; the page keeps itself true."""

    tenant_path = "job__tenant"
    list_display = ("__str__",)
    list_filter = (ProgressFilter, "queue", "stage", "error_code")
    search_fields = ("version__document__title", "version__file_name")
    show_full_result_count = False
    list_before_template = "admin/knowledge/ingestitem/list_top.html"
    change_list_template = "admin/knowledge/ingestitem/list.html"

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        return ("place", "turn")

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestItem]:
        return items_shown(scope=admin_scope(request)).order_by(*self.get_ordering(request))

    def get_urls(self) -> list[URLPattern]:
        retry = path("<int:pk>/retry/", self.admin_site.admin_view(self.retry), name="knowledge_ingestitem_retry")
        return [retry, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: Any = super().changelist_view(request, extra_context)
        if changes := getattr(response, "context_data", {}).get("cl"):
            rows = rows_of(scope=admin_scope(request), items=changes.result_list)
            response.context_data |= {"rows": rows, "open": open_among(rows)}
        return response

    def retry(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: try a failed item again, from `stage` on."""
        item = get_object_or_404(self.get_queryset(request), pk=pk)
        return run_action(
            request,
            lambda: services.document_retry(
                scope=admin_scope(request),
                actor=admin_user(request),
                document_id=item.version.document_id,
                **stage_of(request),
            ),
            done=_("The document is being retried."),
            back=reverse("admin:knowledge_ingestitem_changelist"),
        )


def stage_of(request: HttpRequest) -> dict[str, Any]:
    """The stage of a retry, where the form names one."""
    stage = request.POST.get("stage", "")
    return {"stage": stage} if stage in IngestItem.Stage.values else {}


@admin.register(IngestJob)
class IngestJobAdmin(CuratorAdmin):
    """One request to ingest, of one file or of many; its page is its report."""

    list_display = ("name", "content", "kind_label", "state_badge", "total", "live", "failed", "created_by", "started")
    list_filter = ("kind",)
    list_select_related = ("created_by", "source")
    search_fields = ("items__version__document__title", "items__version__file_name")
    ordering = ("-id",)
    show_full_result_count = False
    change_form_template = "admin/knowledge/ingestjob/report.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestJob]:
        return jobs_counted(scope=admin_scope(request)).order_by(*self.get_ordering(request))

    def get_urls(self) -> list[URLPattern]:
        act = self.admin_site.admin_view(self.act)
        own = [path(f"<int:pk>/{verb}/", act, {"verb": verb}, name=f"knowledge_ingestjob_{verb}") for verb in VERBS]
        return [*own, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        job = self.get_object(request, object_id)
        extra = {} if job is None else self._report(request, job)
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

    def _report(self, request: HttpRequest, job: IngestJob) -> dict[str, Any]:
        items = items_of_job(scope=admin_scope(request), job_id=job.pk)
        return {
            "job": job,
            "summary": summary_of(items.order_by().values_list("stage", flat=True)),
            "rows": rows_of(scope=admin_scope(request), items=items[:ROWS_OF_A_JOB]),
            "more": max(0, items.count() - ROWS_OF_A_JOB),
            "over": sum(getattr(job, f"{kind}_count") for kind in ("live", "failed", "cancelled")),
            "figures": [(words, job.report[name]) for name, words in FIGURES.items() if job.report.get(name)],
            "refused": job.report.get("refused", [])[:ROWS_OF_A_JOB],
        }

    def act(self, request: HttpRequest, pk: int, verb: str) -> HttpResponse:
        """POST: pause, resume, cancel or repeat a job."""
        job = get_object_or_404(self.get_queryset(request), pk=pk)
        service, done = VERBS[verb]
        return run_action(
            request,
            lambda: service(scope=admin_scope(request), actor=admin_user(request), job_id=job.pk),
            done=done,
            back=reverse("admin:knowledge_ingestjob_change", args=[pk]),
        )

    # ── columns ─────────────────────────────────────────────────────────────────────────────────

    @admin.display(description=_("job"), ordering="id")
    def name(self, job: IngestJob) -> str:
        return f"#{job.pk}"

    @admin.display(description=_("documents"), ordering="first_title")
    def content(self, job: Any) -> str:
        if job.total_count < 2:
            return job.first_title or "–"
        others = job.total_count - 1
        text = ngettext("%(title)s and %(count)d more", "%(title)s and %(count)d more", others)
        return text % {"title": job.first_title, "count": others}

    @admin.display(description=_("kind"), ordering="kind")
    def kind_label(self, job: IngestJob) -> str:
        return f"{job.get_kind_display()} · {job.source}" if job.source else job.get_kind_display()

    @badge(description=_("state"), ordering="paused", colours=JOB_COLOURS)
    def state_badge(self, job: Any) -> tuple[str, Any]:
        if job.cancelled:
            return "cancelled", _("Cancelled")
        if job.paused and job.open_count:
            return "paused", _("Paused")
        if job.open_count:
            return "open", _("In progress")
        return ("failed", _("With failures")) if job.failed_count else ("live", _("Finished"))

    @admin.display(description=_("started"), ordering="created")
    def started(self, job: IngestJob) -> SafeString:
        return ago(job.created)

    @admin.display(description=_("documents"), ordering="total_count")
    def total(self, job: Any) -> SafeString:
        return format_html('<span class="rs-number">{}</span>', job.total_count)

    @admin.display(description=_("searchable"), ordering="live_count")
    def live(self, job: Any) -> int:
        return int(job.live_count)

    @admin.display(description=_("failed"), ordering="failed_count")
    def failed(self, job: Any) -> int:
        return int(job.failed_count)
