"""The ingestion page: stage, place in the queue, sign of life, readable error, retry (B7)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import Case, Count, IntegerField, OuterRef, Q, QuerySet, Subquery, When
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user, ago, badge, is_administrator
from accounts.admin.filters import OpenFirstFilter
from accounts.wording import worded
from knowledge import services
from knowledge.admin.rights import CuratorAdmin, documents_managed
from knowledge.models import IngestItem, IngestJob
from ragcore.errors import RagError

SILENT_AFTER = timedelta(minutes=5)


class ProgressFilter(OpenFirstFilter):
    """Opens on what is not finished and what failed."""

    title = _("what is shown")
    parameter_name = "progress"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("open", _("In work or failed")),
            ("failed", _("Failed")),
            ("silent", _("No sign of life")),
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


def _queue_position() -> Case:
    """1 for the item that is taken next; null for items that a worker holds or that are over."""
    waiting = Q(finished=None, lease_until=None)
    ahead = IngestItem.objects.filter(finished=None, lease_until=None, id__lte=OuterRef("id")).order_by()
    return Case(When(waiting, then=CountRows(ahead.values("id"))), default=None, output_field=IntegerField())


class CountRows(Subquery):
    """`(SELECT count(*) FROM (…))` of a subquery."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS _rows)"
    output_field = IntegerField()


@admin.register(IngestItem)
class IngestItemAdmin(CuratorAdmin):
    """One row a document version on its way to being searchable."""

    tenant_path = "job__tenant"
    list_display = ("document_title", "stage_badge", "position", "attempt", "life", "trouble", "job")
    list_filter = (ProgressFilter, "stage", "error_code")
    list_select_related = ("version__document", "job")
    search_fields = ("version__document__title", "version__file_name")
    show_full_result_count = False
    ordering = ("-id",)
    actions = ("retry",)
    fields = (
        ("document_title", "version"),
        ("stage_shown", "position"),
        "trouble",
        ("attempt", "life"),
        ("not_before", "lease_until"),
        ("finished", "job"),
    )
    readonly_fields = ("document_title", "stage_shown", "position", "trouble", "life")

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestItem]:
        rows: QuerySet[IngestItem] = super().get_queryset(request).annotate(queue_position=_queue_position())
        if is_administrator(request):
            return rows
        return rows.filter(version__document__in=documents_managed(scope=admin_scope(request)))

    @admin.display(description=_("document"), ordering="version__document__title")
    def document_title(self, item: IngestItem) -> SafeString:
        url = reverse("admin:knowledge_document_change", args=[item.version.document_id])
        return format_html('<a class="rs-link" href="{}">{}</a>', url, item.version.document.title)

    @badge(
        description=_("stage"), ordering="stage", colours={"failed": "danger", "live": "success", "received": "warning"}
    )
    def stage_badge(self, item: IngestItem) -> tuple[str, str]:
        return item.stage, item.get_stage_display()

    @admin.display(description=_("stage"))
    def stage_shown(self, item: IngestItem) -> str:
        return str(item.get_stage_display())

    @admin.display(description=_("place in the queue"))
    def position(self, item: Any) -> str:
        return str(item.queue_position) if item.queue_position else "–"

    @admin.display(description=_("last sign of life"), ordering="heartbeat")
    def life(self, item: IngestItem) -> SafeString | str:
        return "–" if item.heartbeat is None else ago(item.heartbeat)

    @admin.display(description=_("what is wrong"), ordering="error_code")
    def trouble(self, item: IngestItem) -> SafeString | str:
        if not item.error_code:
            return "–"
        words = worded(item.error_message)
        return format_html('<span class="rs-trouble">{} <code>{}</code></span>', words, item.error_code)

    @admin.action(description=_("Try again: the failed ones among these"))
    def retry(self, request: HttpRequest, queryset: QuerySet[IngestItem]) -> None:
        done = 0
        for item in queryset.filter(stage=IngestItem.Stage.FAILED).select_related("version"):
            try:
                services.document_retry(
                    scope=admin_scope(request), actor=admin_user(request), document_id=item.version.document_id
                )
                done += 1
            except RagError as error:
                messages.error(request, worded(error.message))
        text = ngettext("%(count)d document is tried again.", "%(count)d documents are tried again.", done)
        messages.info(request, text % {"count": done})


@admin.register(IngestJob)
class IngestJobAdmin(CuratorAdmin):
    """One request to ingest, of one file or of many."""

    list_display = ("name", "total", "done", "failed", "created_by", "created")
    list_select_related = ("created_by",)
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestJob]:
        rows: QuerySet[IngestJob] = super().get_queryset(request)
        if not is_administrator(request):
            rows = rows.filter(created_by=admin_scope(request).user_id)
        failed = Q(items__stage=IngestItem.Stage.FAILED)
        return rows.annotate(
            total_count=Count("items"),
            done_count=Count("items", filter=Q(items__finished__isnull=False) & ~failed),
            failed_count=Count("items", filter=failed),
        )

    @admin.display(description=_("job"), ordering="id")
    def name(self, job: IngestJob) -> str:
        return f"#{job.pk}"

    @admin.display(description=_("documents"), ordering="total_count")
    def total(self, job: Any) -> SafeString:
        url = f"{reverse('admin:knowledge_ingestitem_changelist')}?job__id__exact={job.pk}&progress=all"
        return format_html('<a class="rs-link rs-number" href="{}">{}</a>', url, job.total_count)

    @admin.display(description=_("finished"), ordering="done_count")
    def done(self, job: Any) -> int:
        return int(job.done_count)

    @admin.display(description=_("failed"), ordering="failed_count")
    def failed(self, job: Any) -> int:
        return int(job.failed_count)
