"""The list of documents that are wanted: owners say what became of each."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user, badge
from accounts.selectors import person_name
from chat.admin import ReviewerAdmin
from evaluation.admin.base import judges_quality
from evaluation.models import WantedDocument
from evaluation.services.wanted_documents import (
    wanted_document_close,
    wanted_document_withdraw,
    wanted_documents_shown,
)
from knowledge.admin.curation import each_row

COLOURS = {"open": "warning", "added": "success", "declined": "danger", "withdrawn": "info"}


@admin.register(WantedDocument)
class WantedDocumentAdmin(ReviewerAdmin):
    """Requests that one made, and those to the sets that one owns."""

    tenant_path = "knowledge_set__tenant"
    list_display = ("text_shown", "knowledge_set", "state_badge", "who", "created")
    list_filter = ("state",)
    list_select_related = ("knowledge_set", "asked_by")
    search_fields = ("text",)
    ordering = ("-created",)
    show_full_result_count = False
    actions = ("added", "declined", "withdrawn")
    fields = ("text", ("knowledge_set", "state_shown"), ("who", "created", "closed"))
    readonly_fields = ("text", "knowledge_set", "state_shown", "who", "created", "closed")

    def get_queryset(self, request: HttpRequest) -> QuerySet[WantedDocument]:
        return wanted_documents_shown(scope=admin_scope(request))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return judges_quality(request)

    def has_view_permission(self, request: HttpRequest, obj: WantedDocument | None = None) -> bool:
        return self.has_module_permission(request)

    @admin.display(description=_("what is missing"))
    def text_shown(self, row: WantedDocument) -> str:
        return row.text[:200]

    @badge(description=_("state"), ordering="state", colours=COLOURS)
    def state_badge(self, row: WantedDocument) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @admin.display(description=_("state"))
    def state_shown(self, row: WantedDocument) -> str:
        return str(row.get_state_display())

    @admin.display(description=_("asked for by"))
    def who(self, row: WantedDocument) -> str:
        return person_name(row.asked_by) if row.asked_by else "–"

    @admin.action(description=_("The document was added"))
    def added(self, request: HttpRequest, queryset: QuerySet[WantedDocument]) -> None:
        self._close(request, queryset, WantedDocument.State.ADDED)

    @admin.action(description=_("The document will not be added"))
    def declined(self, request: HttpRequest, queryset: QuerySet[WantedDocument]) -> None:
        self._close(request, queryset, WantedDocument.State.DECLINED)

    @admin.action(description=_("Withdraw the request"))
    def withdrawn(self, request: HttpRequest, queryset: QuerySet[WantedDocument]) -> None:
        self._close(request, queryset, WantedDocument.State.WITHDRAWN)

    def _close(self, request: HttpRequest, rows: QuerySet[WantedDocument], state: str) -> None:
        who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}

        def close(row: WantedDocument) -> None:
            if state == WantedDocument.State.WITHDRAWN:
                wanted_document_withdraw(wanted_id=row.pk, **who)
            else:
                wanted_document_close(wanted_id=row.pk, state=state, **who)

        done = len(each_row(request, rows, close))
        messages.info(request, ngettext("%(n)d request closed.", "%(n)d requests closed.", done) % {"n": done})
