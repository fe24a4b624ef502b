"""The ingestion pages: stage, place in the queue, sign of life, progress, readable error, retry, pause, cancel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.admin.base import LabelledValuesFilter, StateListFilter, admin_scope, admin_user, ago, badge
from accounts.admin.pages import admin_page
from accounts.error_messages import code_message
from accounts.scope import Scope
from knowledge import services
from knowledge.admin.curation import CuratorAdmin, run_action
from knowledge.models import IngestItem, IngestJob
from knowledge.selectors.dashboard import items_named, items_of_job, items_shown, jobs_counted
from knowledge.selectors.jobs import items_progress
from knowledge.selectors.waiting import queues_busy
from knowledge.services.jobs import job_cancel, job_pause, job_resume, job_retry

Stage = IngestItem.Stage
State = Literal["waiting", "working", "paused", "live", "failed", "cancelled", "deleted"]

SILENT_AFTER = timedelta(minutes=5)
ORDER = [
    *(Stage.RECEIVED, Stage.PARSED, Stage.RECOGNISED, Stage.CLEANED),
    *(Stage.CHUNKED, Stage.REPRESENTED, Stage.EMBEDDED),
]
DOING = {  # by the stage that has been reached: what is being done now
    Stage.RECEIVED: gettext_lazy("Reading"),
    Stage.PARSED: gettext_lazy("Reading images (OCR)"),
    Stage.RECOGNISED: gettext_lazy("Cleaning"),
    Stage.CLEANED: gettext_lazy("Splitting into passages"),
    Stage.CHUNKED: gettext_lazy("Enriching and embedding"),
    Stage.REPRESENTED: gettext_lazy("Embedding"),
    Stage.EMBEDDED: gettext_lazy("Indexing"),
}
WORDS = {
    "waiting": gettext_lazy("Waiting"),
    "paused": gettext_lazy("Paused"),
    "live": gettext_lazy("Searchable"),
    "failed": gettext_lazy("Failed"),
    "cancelled": gettext_lazy("Cancelled"),
    "deleted": gettext_lazy("Deleted"),
}
WAITS = {  # by the queue in which it waits, where something has been done already
    IngestItem.Queue.INGEST: gettext_lazy("Waiting"),
    IngestItem.Queue.OCR: gettext_lazy("Waiting for character recognition (OCR)"),
    IngestItem.Queue.EMBED: gettext_lazy("Waiting for enriching and embedding"),
}
ICONS = {
    "waiting": "hourglass_empty",
    "working": "autorenew",
    "paused": "pause_circle",
    "live": "check_circle",
    "failed": "error",
    "cancelled": "cancel",
    "deleted": "delete",
}

ROWS_OF_A_JOB = 200
JOB_COLOURS = {"open": "info", "paused": "warning", "failed": "danger", "live": "success", "cancelled": "warning"}
FIGURES = {  # of the report of a synchronisation
    "found": gettext_lazy("found"),
    "new": gettext_lazy("new"),
    "changed": gettext_lazy("changed"),
    "unchanged": gettext_lazy("unchanged"),
    "left_out": gettext_lazy("skipped"),
    "deleted": gettext_lazy("deleted"),
}
VERBS = {
    "pause": (job_pause, gettext_lazy("Paused. Documents being processed right now are finished first.")),
    "resume": (job_resume, gettext_lazy("Resumed.")),
    "cancel": (job_cancel, gettext_lazy("Cancelled. Documents that are already searchable stay.")),
    "retry": (job_retry, gettext_lazy("Failed and cancelled documents are retried in a new job.")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One row of the desk."""

    item: IngestItem
    state: State
    words: str
    icon: str
    share: int  # 0 to 100 of the way
    detail: str  # 12 of 40 pages
    position: int | None  # in its queue
    busy: int  # documents that the workers of that queue have in hand
    silent: bool  # held by a worker that has not been heard of for minutes
    put_off: datetime | None  # tried again then, after a passing fault
    stages: tuple[tuple[str, str], ...]  # from which it can be tried again: value, words


def rows_of(*, scope: Scope, items: Iterable[IngestItem]) -> list[Progress]:
    """The rows of some items, each with its place in the queue."""
    listed = list(items)
    places = {progress.id: progress.position for progress in items_progress(scope=scope, items=listed)}
    busy = queues_busy() if places else {}
    return [progress_of(item, position=places.get(item.pk), busy=busy.get(item.queue, 0)) for item in listed]


def progress_of(item: IngestItem, *, position: int | None = None, busy: int = 0) -> Progress:
    """The row of one item."""
    state = _state(item)
    now = timezone.now()
    working = state == "working"
    return Progress(
        item=item,
        state=state,
        words=words_of(item.stage, item.queue, state),
        icon=ICONS[state],
        share=_share(item, state),
        detail=_detail(item) if working else "",
        position=position if state == "waiting" else None,
        busy=busy if state == "waiting" else 0,
        silent=working and item.heartbeat is not None and item.heartbeat < now - SILENT_AFTER,
        put_off=item.not_before if state == "waiting" and item.not_before and item.not_before > now else None,
        stages=_stages(item) if state in ("failed", "cancelled") else (),
    )


def words_of(stage: str, queue: str, state: State) -> str:
    """What is being done, or what is waited for: a stage alone says what has been done."""
    if state == "working":
        return str(DOING[Stage(stage)])
    return str(WAITS[IngestItem.Queue(queue)] if state == "waiting" else WORDS[state])


def open_among(rows: Iterable[Progress]) -> int:
    """How many rows will change without anybody doing anything, so that a page asks often."""
    return sum(row.state in ("waiting", "working", "paused") for row in rows)


def summary_of(stages: Iterable[str]) -> str:
    """`12 live · 1 failed · 3 in work`, from the stages of all items."""
    counts = Counter(_kind(stage) for stage in stages)
    words = {
        "live": ngettext("%(count)d searchable", "%(count)d searchable", counts["live"]),
        "failed": ngettext("%(count)d failed", "%(count)d failed", counts["failed"]),
        "cancelled": ngettext("%(count)d cancelled", "%(count)d cancelled", counts["cancelled"]),
        "open": ngettext("%(count)d processing", "%(count)d processing", counts["open"]),
    }
    return " · ".join(words[kind] % {"count": counts[kind]} for kind in words if counts[kind])


def _kind(stage: str) -> str:
    return str(stage) if stage in (Stage.LIVE, Stage.FAILED, Stage.CANCELLED) else "open"


def _state(item: IngestItem) -> State:
    if item.finished is not None and item.version.document.deleted is not None:
        return "deleted"
    if item.stage == Stage.FAILED:
        return "failed"
    if item.stage == Stage.CANCELLED or (item.finished is None and item.job.cancelled is not None):
        return "cancelled"
    if item.finished is not None:
        return "live"
    if item.lease_until is not None:
        return "working"
    return "paused" if item.job.paused is not None else "waiting"


def _share(item: IngestItem, state: State) -> int:
    if state == "live":
        return 100
    if item.stage not in ORDER:
        return 0
    share_done = min(item.progress_done / item.progress_total, 1.0) if item.progress_total else 0.0
    return round(100 * (ORDER.index(Stage(item.stage)) + share_done) / len(ORDER))


def _detail(item: IngestItem) -> str:
    """How much of the stage is done."""
    if not item.progress_total:
        return ""
    numbers = {"done": item.progress_done, "total": item.progress_total}
    if item.queue == IngestItem.Queue.EMBED:
        return _("%(done)d of %(total)d passages") % numbers
    return _("%(done)d of %(total)d pages") % numbers


def _stages(item: IngestItem) -> tuple[tuple[str, str], ...]:
    """Reading anew is always possible; what comes after it only where the text that was read is kept."""
    stages = ((str(Stage.RECEIVED), _("Retry from the beginning")),)
    if not item.version.parsed:
        return stages
    return (*stages, (str(Stage.CHUNKED), _("Retry from chunking")))


class ErrorFilter(LabelledValuesFilter):
    """By error, in words."""

    def words(self, value: str) -> str:
        return code_message(value)


class ProgressFilter(StateListFilter):
    """By progress; what is not finished or failed is one choice."""

    title = gettext_lazy("progress")
    parameter_name = "progress"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("open", gettext_lazy("Processing or failed")),
            ("failed", gettext_lazy("Failed")),
            ("silent", gettext_lazy("Not responding")),
            ("done", gettext_lazy("Finished")),
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
    list_filter = (ProgressFilter, "queue", "stage", ("error_code", ErrorFilter))
    search_fields = ("version__document__title", "version__file_name")
    show_full_result_count = False
    list_before_template = "admin/knowledge/ingestitem/list_top.html"
    change_list_template = "admin/knowledge/ingestitem/list.html"

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        return ("place", "turn")

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestItem]:
        return items_shown(scope=admin_scope(request)).order_by(*self.get_ordering(request))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: Any = super().changelist_view(request, extra_context)
        if changes := getattr(response, "context_data", {}).get("cl"):
            rows = rows_of(scope=admin_scope(request), items=changes.result_list)
            response.context_data |= {"rows": rows, "open": open_among(rows)}
        return response

    @admin_page("<int:pk>/retry/", name="knowledge_ingestitem_retry")
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
            done=gettext_lazy("The document is being retried."),
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
    search_fields = ("items__version__document__title", "items__version__file_name")  # see get_search_results
    ordering = ("-id",)
    show_full_result_count = False
    change_form_template = "admin/knowledge/ingestjob/report.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestJob]:
        return jobs_counted(scope=admin_scope(request)).order_by(*self.get_ordering(request))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[IngestJob], search_term: str
    ) -> tuple[QuerySet[IngestJob], bool]:
        """Jobs by titles and file names of documents that the person may see."""
        if not search_term.strip():
            return queryset, False
        items = items_named(scope=admin_scope(request), words=search_term.split())
        return queryset.filter(pk__in=items.order_by().values("job")), False

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

    @admin_page("<int:pk>/pause/", name="knowledge_ingestjob_pause", verb="pause")
    @admin_page("<int:pk>/resume/", name="knowledge_ingestjob_resume", verb="resume")
    @admin_page("<int:pk>/cancel/", name="knowledge_ingestjob_cancel", verb="cancel")
    @admin_page("<int:pk>/retry/", name="knowledge_ingestjob_retry", verb="retry")
    def act(self, request: HttpRequest, pk: int, verb: str) -> HttpResponse:
        """POST: pause, resume, cancel or repeat a job."""
        job = get_object_or_404(self.get_queryset(request), pk=pk)
        service, message = VERBS[verb]
        return run_action(
            request,
            lambda: service(scope=admin_scope(request), actor=admin_user(request), job_id=job.pk),
            done=message,
            back=reverse("admin:knowledge_ingestjob_change", args=[pk]),
        )

    # ── columns ─────────────────────────────────────────────────────────────────────────────────

    @admin.display(description=gettext_lazy("job"), ordering="id")
    def name(self, job: IngestJob) -> str:
        return f"#{job.pk}"

    @admin.display(description=gettext_lazy("documents"), ordering="first_title")
    def content(self, job: Any) -> str:
        if job.total_count < 2:
            return job.first_title or "–"
        further = job.total_count - 1
        text = ngettext("%(title)s and %(count)d more", "%(title)s and %(count)d more", further)
        return text % {"title": job.first_title, "count": further}

    @admin.display(description=gettext_lazy("kind"), ordering="kind")
    def kind_label(self, job: IngestJob) -> str:
        return f"{job.get_kind_display()} · {job.source}" if job.source else job.get_kind_display()

    @badge(description=gettext_lazy("state"), ordering="paused", colours=JOB_COLOURS)
    def state_badge(self, job: Any) -> tuple[str, Any]:
        if job.cancelled:
            return "cancelled", gettext_lazy("Cancelled")
        if job.paused and job.open_count:
            return "paused", gettext_lazy("Paused")
        if job.open_count:
            return "open", gettext_lazy("In progress")
        return ("failed", gettext_lazy("With failures")) if job.failed_count else ("live", gettext_lazy("Finished"))

    @admin.display(description=gettext_lazy("started"), ordering="created")
    def started(self, job: IngestJob) -> SafeString:
        return ago(job.created)

    @admin.display(description=gettext_lazy("documents"), ordering="total_count")
    def total(self, job: Any) -> SafeString:
        return format_html('<span class="rs-number">{}</span>', job.total_count)

    @admin.display(description=gettext_lazy("searchable"), ordering="live_count")
    def live(self, job: Any) -> int:
        return int(job.live_count)

    @admin.display(description=gettext_lazy("failed"), ordering="failed_count")
    def failed(self, job: Any) -> int:
        return int(job.failed_count)
