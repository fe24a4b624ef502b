"""The audit log in the admin: who did what, filtered and exported."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RangeDateFilter

from accounts.admin.base import AdministratorAdmin, ReadOnlyMixin, admin_user, is_administrator
from accounts.admin.pages import admin_page
from accounts.audit.actions import ACTIONS
from accounts.audit.csv_export import csv_lines
from accounts.audit.words import PAGES, details_in_words, outcome_in_words, target_in_words
from accounts.models import AuditEvent
from accounts.relative_time import exact_day
from accounts.services import audit_record

EXPORT_AT_A_TIME = 2000


class ActionFilter(admin.SimpleListFilter):
    """One kind of act; the choices are known without looking through the log."""

    title = _("action")
    parameter_name = "action"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return sorted(ACTIONS.items(), key=lambda pair: str(pair[1]))

    def queryset(self, request: Any, queryset: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        return queryset.filter(action=self.value()) if self.value() else queryset


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyMixin, AdministratorAdmin):
    """Who did what, and when."""

    list_display = ("action_shown", "target_shown", "actor_name", "at", "tenant")
    list_filter = (ActionFilter, ("at", RangeDateFilter), "tenant")
    list_filter_submit = True
    list_display_links = ("action_shown",)
    list_select_related = ("tenant",)
    list_before_template = "admin/accounts/auditevent/list_top.html"
    search_fields = ("target", "actor_name")
    search_help_text = _("Target or actor")
    show_full_result_count = False
    fields = (("action_shown", "target_shown"), ("actor_name", "at"), "tenant", "details_shown")
    readonly_fields = ("action_shown", "target_shown", "details_shown")

    @admin_page("export/", name="accounts_auditevent_export", allowed=is_administrator)
    def export_view(self, request: HttpRequest) -> StreamingHttpResponse:
        """What the list shows under its filters, as CSV."""
        events = self.get_changelist_instance(request).get_queryset(request).select_related("tenant")
        audit_record(actor=admin_user(request), action="audit.export", target="", filters=dict(request.GET.lists()))
        now = timezone.now()
        lines = csv_lines(events.filter(at__lte=now).iterator(chunk_size=EXPORT_AT_A_TIME))
        name = f"audit-{exact_day(now)}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)

    @admin.display(description=_("action"), ordering="action")
    def action_shown(self, event: AuditEvent) -> str:
        """The act in words, with what it came to; the code itself where it has none."""
        words, outcome = str(ACTIONS.get(event.action, event.action)), outcome_in_words(event.action, event.data)
        return f"{words}: {outcome}" if outcome else words

    @admin.display(description=_("target"), ordering="target")
    def target_shown(self, event: AuditEvent) -> SafeString | str:
        """What it was done to, with a link to its page where the event names a row; the page checks rights itself.

        What was deleted has no page, but for documents, which can be restored there.
        """
        words = target_in_words(event.target) or "–"
        if event.action.endswith(".delete") and event.action != "document.delete":
            return words
        for name, page in PAGES.items():
            if isinstance(number := event.data.get(name), int):
                return format_html('<a class="rs-link" href="{}">{}</a>', reverse(page, args=[number]), words)
        return words if words == event.target else format_html('<span title="{}">{}</span>', event.target, words)

    @admin.display(description=_("details"))
    def details_shown(self, event: AuditEvent) -> SafeString | str:
        lines = details_in_words(event.data)
        if not lines:
            return "–"
        rows = format_html_join("", '<tr><th scope="row">{}</th><td>{}</td></tr>', lines)
        return format_html('<table class="rs-table">{}</table>', rows)
