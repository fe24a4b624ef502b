"""Documents: the list of what needs hands, and a page that shows what was made of one document.

Nothing is edited here behind the services' back: rows are read-only; deleting, retrying and uploading call services.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user, ago, badge
from accounts.admin.filters import OpenFirstFilter
from accounts.wording import worded
from knowledge import services
from knowledge.admin.rights import CuratorAdmin, documents_managed
from knowledge.admin.upload import upload_view
from knowledge.models import Chunk, Document, IngestItem
from ragcore.errors import RagError

CHUNKS_A_PAGE = 30
STATE_COLOURS = {"processing": "info", "live": "success", "failed": "danger"}


class HandsFilter(OpenFirstFilter):
    """Opens on failed documents and those in work."""

    title = _("what is shown")
    parameter_name = "hands"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        states = [state for state in Document.State if state != Document.State.DELETED]
        return [("open", _("Needs attention or in work")), *((state.value, state.label) for state in states)]

    def narrowed(self, rows: QuerySet[Document], choice: str) -> QuerySet[Document]:
        if choice == "open":
            return rows.filter(Q(state=Document.State.FAILED) | Q(state=Document.State.PROCESSING))
        return rows.filter(state=choice)


@admin.register(Document)
class DocumentAdmin(CuratorAdmin):
    """See the module."""

    list_display = ("title", "state_badge", "in_sets", "trouble", "clearance", "source", "changed")
    list_filter = (HandsFilter, "sets", "source", "clearance")
    list_select_related = ("source",)
    search_fields = ("title", "external_id")
    search_help_text = _("Title or external id")
    show_full_result_count = False
    actions = ("retry_selected",)
    readonly_fields = ("state_shown", "in_sets", "trouble")
    fieldsets = (
        (None, {"fields": ("title", ("state_shown", "trouble"), ("in_sets", "source"), ("external_id", "clearance"))}),
        (_("Attributes"), {"fields": ("tags", "metadata", ("created_by", "created", "updated"))}),
    )
    list_before_template = "admin/knowledge/document/list_top.html"
    change_form_outer_after_template = "admin/knowledge/document/content.html"

    # ── rows and rights ─────────────────────────────────────────────────────────────────────────

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        last = IngestItem.objects.filter(version__document=OuterRef("pk")).order_by("-id")
        rows = documents_managed(scope=admin_scope(request)).prefetch_related("sets")
        return rows.annotate(last_stage=Subquery(last.values("stage")[:1])).order_by(*self.get_ordering(request))

    def has_delete_permission(self, request: HttpRequest, obj: Document | None = None) -> bool:
        return self.has_view_permission(request, obj)

    def get_urls(self) -> list[URLPattern]:
        own = [
            path("upload/", self.admin_site.admin_view(self.upload), name="knowledge_document_upload"),
            path("<int:pk>/retry/", self.admin_site.admin_view(self.retry), name="knowledge_document_retry"),
        ]
        return [*own, *super().get_urls()]

    # ── columns ─────────────────────────────────────────────────────────────────────────────────

    @badge(description=_("state"), ordering="state", colours=STATE_COLOURS)
    def state_badge(self, document: Document) -> tuple[str, str]:
        stage = getattr(document, "last_stage", None)
        if document.state == Document.State.PROCESSING and stage:
            return document.state, f"{document.get_state_display()} · {IngestItem.Stage(stage).label}"
        return document.state, document.get_state_display()

    @admin.display(description=_("state"))
    def state_shown(self, document: Document) -> str:
        return str(self.state_badge(document)[1])

    @admin.display(description=_("changed"), ordering="updated")
    def changed(self, document: Document) -> SafeString:
        return ago(document.updated)

    @admin.display(description=_("knowledge sets"))
    def in_sets(self, document: Document) -> str:
        return ", ".join(row.name for row in document.sets.all()) or "–"

    @admin.display(description=_("what is wrong"))
    def trouble(self, document: Document) -> SafeString | str:
        if not document.error_code:
            return "–"
        words = worded(document.error_message)
        return format_html('<span class="rs-trouble">{} <code>{}</code></span>', words, document.error_code)

    # ── one document ────────────────────────────────────────────────────────────────────────────

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        document = self.get_object(request, object_id)
        extra = {} if document is None else self._content(request, document)
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

    def _content(self, request: HttpRequest, document: Document) -> dict[str, Any]:
        """Versions, the parsed text and one page of the passages of the live (or else the newest) version."""
        versions = list(document.versions.defer("markdown"))
        shown = document.live_version or document.versions.first()
        chunks = Chunk.objects.filter(version=shown).order_by("ordinal")
        return {
            "document": document,
            "versions": versions,
            "shown_version": shown,
            "chunks": Paginator(chunks, CHUNKS_A_PAGE).get_page(request.GET.get("passages")),
            "may_retry": document.state == Document.State.FAILED,
        }

    # ── what can be done ────────────────────────────────────────────────────────────────────────

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Only the documents are named: the deletion is soft, and what citations point to is kept."""
        return [str(obj) for obj in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), []

    def delete_model(self, request: HttpRequest, obj: Document) -> None:
        services.document_delete(scope=admin_scope(request), actor=admin_user(request), document_id=obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        for document in queryset:
            self.delete_model(request, document)

    @admin.action(description=_("Try again: ingest the failed ones among these"))
    def retry_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        found = list(queryset.filter(state=Document.State.FAILED))
        for document in found:
            self._retry(request, document.pk)
        text = ngettext("%(count)d document is tried again.", "%(count)d documents are tried again.", len(found))
        messages.info(request, text % {"count": len(found)})

    def retry(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """POST: try a failed document again."""

        document = get_object_or_404(self.get_queryset(request), pk=pk)
        if request.method == "POST" and self._retry(request, document.pk):
            messages.info(request, _("The document is tried again."))
        return redirect(reverse("admin:knowledge_document_change", args=[pk]))

    def _retry(self, request: HttpRequest, document_id: int) -> bool:
        try:
            services.document_retry(scope=admin_scope(request), actor=admin_user(request), document_id=document_id)
        except RagError as error:
            messages.error(request, worded(error.message))
            return False
        return True

    def upload(self, request: HttpRequest) -> HttpResponseBase:
        """The page for dropping files."""
        return upload_view(request, model_admin=self)
