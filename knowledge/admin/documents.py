"""Documents: the list, and a page that shows what was made of one document.

Nothing is edited here behind the services' back: rows are read-only; every button calls a service.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import ClearanceFilter, StateListFilter, admin_scope, admin_user, ago, badge, is_administrator
from accounts.admin.pages import admin_page
from accounts.error_messages import error_message, stored_message
from accounts.errors import NotFoundError
from accounts.relative_time import exact_day
from knowledge import services
from knowledge.admin.curation import ids_of, run_action
from knowledge.admin.document_actions import (
    review_page,
    transfer_page,
    weigh_page,
)
from knowledge.admin.document_deletion import DocumentDeletion, each_document
from knowledge.admin.document_filters import OriginalFilter
from knowledge.admin.document_page import attributes_of, diff_page, pipeline_of, report_of
from knowledge.admin.document_relations import relations_shown
from knowledge.admin.jobs import DOING, rows_of, stage_of, words_of
from knowledge.admin.passages import spread_of
from knowledge.admin.representation_retries import notice_of
from knowledge.models import Document, DocumentVersion, IngestItem
from knowledge.selectors.dashboard import documents_managed, items_shown
from knowledge.selectors.keeping import documents_restorable, is_kept, versions_listed
from knowledge.selectors.representation_retries import retries_of_document
from knowledge.selectors.reviews import SOON, reviews_due
from knowledge.services.originals import original_fault
from knowledge.services.reading import document_read_record
from knowledge.services.registration import is_open
from knowledge.services.reingest import document_rebuild

SETS_NAMED = 2  # in a row of the list; the others are counted
STATE_COLOURS = {"processing": "info", "live": "success", "failed": "danger", "deleted": "warning"}
VIEWS = {"passages": _("Passages"), "about": _("Details"), "versions": _("Versions")}


class HandsFilter(StateListFilter):
    """By state; what needs attention is one choice. Administrators also find the deleted ones."""

    title = _("state")
    parameter_name = "hands"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        states = [s for s in Document.State if s != Document.State.DELETED or is_administrator(request)]
        return [("open", _("Needs attention or processing")), *((state.value, state.label) for state in states)]

    def queryset(self, request: Any, queryset: Any) -> Any:
        rows = super().queryset(request, queryset)
        return rows if self.choice == Document.State.DELETED else rows.filter(deleted=None)

    def narrowed(self, rows: QuerySet[Document], choice: str) -> QuerySet[Document]:
        if choice == "open":
            return rows.filter(Q(state=Document.State.FAILED) | Q(state=Document.State.PROCESSING))
        return rows.filter(state=choice)


class ReviewFilter(StateListFilter):
    """By the date by which a document is to be reviewed."""

    title = _("review")
    parameter_name = "review"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [("due", _("Due")), ("soon", _("Due within 30 days")), ("planned", _("With a date"))]

    def queryset(self, request: Any, queryset: Any) -> Any:
        if self.choice not in ("due", "soon"):
            return super().queryset(request, queryset)
        horizon = SOON if self.choice == "soon" else timedelta(0)
        return reviews_due(scope=admin_scope(request), documents=queryset, horizon=horizon)

    def narrowed(self, rows: QuerySet[Document], choice: str) -> QuerySet[Document]:
        return rows.filter(review__review_by__isnull=False)


@admin.register(Document)
class DocumentAdmin(DocumentDeletion):
    """See the module."""

    list_display = ("title", "state_badge", "trouble", "in_sets", "came_from", "changed")
    list_filter = (HandsFilter, ReviewFilter, OriginalFilter, "sets", "source", ("clearance", ClearanceFilter))
    list_select_related = ("source", "review")
    search_fields = ("title", "external_id")
    search_help_text = _("Search titles and IDs")
    show_full_result_count = False
    actions = (
        *("move_selected", "copy_selected", "remove_selected"),
        *("retry_selected", "rebuild_selected", "weigh_selected", "review_selected", "delete_selected"),
    )
    change_form_template = "admin/knowledge/document/page.html"

    # ── rows and rights ─────────────────────────────────────────────────────────────────────────

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        last = IngestItem.objects.filter(version__document=OuterRef("pk")).order_by("-id")
        rows = documents_managed(scope=admin_scope(request), deleted=True).prefetch_related("sets")
        columns = {f"last_{name}": Subquery(last.values(name)[:1]) for name in ("stage", "queue", "lease_until")}
        return rows.annotate(**columns).order_by(*self.get_ordering(request))

    # ── columns ─────────────────────────────────────────────────────────────────────────────────

    @badge(description=_("state"), ordering="state", colours=STATE_COLOURS)
    def state_badge(self, document: Document) -> tuple[str, str]:
        stage = getattr(document, "last_stage", None)
        if document.state == Document.State.PROCESSING and stage in DOING:
            is_held = getattr(document, "last_lease_until", None) is not None
            words = words_of(stage, getattr(document, "last_queue", ""), "working" if is_held else "waiting")
            return document.state, f"{document.get_state_display()} · {words}"
        return document.state, document.get_state_display()

    @admin.display(description=_("changed"), ordering="updated")
    def changed(self, document: Document) -> SafeString:
        day = getattr(getattr(document, "review", None), "review_by", None)
        if day is None or day > timezone.localdate():
            return ago(document.updated)
        due = _("review due since %(day)s") % {"day": exact_day(day)}
        return format_html('{}<br><span class="rs-trouble">{}</span>', ago(document.updated), due)

    @admin.display(description=_("knowledge sets"))
    def in_sets(self, document: Document) -> SafeString | str:
        names = [row.shown_name for row in document.sets.all()]
        if len(names) <= SETS_NAMED:
            return ", ".join(names) or "–"
        visible_names, every = ", ".join(names[:SETS_NAMED]), ", ".join(names)
        return format_html('<span title="{}">{} +{}</span>', every, visible_names, len(names) - SETS_NAMED)

    @admin.display(description=_("source"), ordering="source")
    def came_from(self, document: Document) -> SafeString | str:
        if not document.clearance:
            return str(document.source)
        needed = _("clearance: %(level)s") % {"level": document.clearance_label}
        return format_html('{}<br><span class="rs-quiet">{}</span>', document.source, needed)

    @admin.display(description=_("error"))
    def trouble(self, document: Document) -> SafeString | str:
        if not document.error_code:
            return "–"
        words = stored_message(document.error_code, document.error_message, document.error_data)
        return format_html('<span class="rs-trouble" data-code="{}">{}</span>', document.error_code, words)

    # ── one document ────────────────────────────────────────────────────────────────────────────

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        document = self.get_object(request, object_id)
        extra = {} if document is None else self._content(request, document)
        if document is not None:
            document_read_record(scope=admin_scope(request), document=document)
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

    def _content(self, request: HttpRequest, document: Document) -> dict[str, Any]:
        """What all views of the page show, and what the chosen one does."""
        view = request.GET.get("view", "passages")
        view = view if view in VIEWS else "passages"
        scope = admin_scope(request)
        versions = list(versions_listed(scope=scope, document=document))
        if not versions:  # on its way, and kept by others
            raise Http404
        numbers = ids_of([request.GET.get("version", "")])
        version = next((v for v in versions if v.number in numbers), None) or document.live_version or versions[0]
        items = items_shown(scope=scope).filter(version__document=document, finished=None)
        failed = items_shown(scope=scope).filter(version=versions[0], stage=IngestItem.Stage.FAILED).order_by("-id")
        last_failed = failed[:1] if document.state == Document.State.FAILED else []
        return {
            "title": document.title,
            "subtitle": None,
            "document": document,
            "version": version,
            "versions": versions,
            "file_fault": original_fault(version),
            "views": [(code, words, code == view) for code, words in VIEWS.items()],
            "view": view,
            "rows": rows_of(scope=scope, items=[*items, *last_failed]),
            "may_edit": self._may_edit(request, document),
            "may_restore": documents_restorable(scope=scope).filter(pk=document.pk).exists(),
            "takes_versions": is_open(document.source),
            "retries": notice_of(retries_of_document(scope=scope, document=document)),
            **self._view(request, document, version, view),
        }

    def _view(self, request: HttpRequest, document: Document, version: DocumentVersion, view: str) -> dict[str, Any]:
        scope = admin_scope(request)
        if view == "about":
            facts = {"groups": attributes_of(scope=scope, document=document, version=version)}
            pipeline = pipeline_of(scope=scope, document=document, version=version)
            relations = relations_shown(scope=scope, document=document)
            return {**facts, **pipeline, "report": report_of(version), "relations": relations}
        if view == "versions":
            return {}
        number, ordinal = (ids_of([request.GET.get(name, "")]) for name in ("page", "ordinal"))
        spread = spread_of(
            scope=scope,
            document=document,
            version=version,
            number=next(iter(number), 1),
            ordinal=next(iter(ordinal), None),
            may_edit=self._may_edit(request, document),
        )
        return {"spread": spread}

    def _may_edit(self, request: HttpRequest, document: Document) -> bool:
        return document.deleted is None and is_kept(scope=admin_scope(request), document=document)

    # ── what can be done ────────────────────────────────────────────────────────────────────────

    @admin.action(description=_("Move to another knowledge set…"))
    def move_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> HttpResponse:
        return transfer_page(request, "move", chosen=queryset)

    @admin.action(description=_("Add to another knowledge set…"))
    def copy_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> HttpResponse:
        return transfer_page(request, "copy", chosen=queryset)

    @admin.action(description=_("Remove from a knowledge set…"))
    def remove_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> HttpResponse:
        return transfer_page(request, "remove", chosen=queryset)

    @admin.action(description=_("Retry failed documents"))
    def retry_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        retried = each_document(request, queryset.filter(state=Document.State.FAILED), services.document_retry)
        text = ngettext("%(count)d document is being retried.", "%(count)d documents are being retried.", len(retried))
        messages.info(request, text % {"count": len(retried)})

    @admin.action(description=_("Re-process with current settings"))
    def rebuild_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        retried = each_document(request, queryset.filter(state=Document.State.LIVE), document_rebuild)
        text = ngettext(
            "%(count)d document is being re-processed.", "%(count)d documents are being re-processed.", len(retried)
        )
        messages.info(request, text % {"count": len(retried)})

    @admin.action(description=_("Set weight…"))
    def weigh_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> HttpResponse:
        return weigh_page(request, chosen=queryset)

    @admin.action(description=_("Set review date…"))
    def review_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> HttpResponse:
        return review_page(request, chosen=queryset)

    @admin_page("<int:pk>/retry/", name="knowledge_document_retry")
    def retry(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: try a failed document again, from `stage` on."""
        more = stage_of(request)
        return self._act(request, pk, services.document_retry, done=_("The document is being retried."), **more)

    @admin_page("<int:pk>/rebuild/", name="knowledge_document_rebuild")
    def rebuild(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: make a new version of the same bytes with the present options."""
        message = _("The document is being re-processed; answers use the old passages until it is done.")
        return self._act(request, pk, document_rebuild, done=message)

    def _act(
        self, request: HttpRequest, pk: int, service: Callable[..., Any], *, done: Any, **more: Any
    ) -> HttpResponse:
        document = get_object_or_404(self.get_queryset(request), pk=pk)
        return run_action(
            request,
            lambda: service(scope=admin_scope(request), actor=admin_user(request), document_id=document.pk, **more),
            done=done,
            back=reverse("admin:knowledge_document_change", args=[pk]),
        )

    @admin_page("<int:pk>/diff/", name="knowledge_document_diff")
    def diff(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What changed between two versions."""
        document = get_object_or_404(self.get_queryset(request), pk=pk)
        try:
            return diff_page(request, scope=admin_scope(request), document=document)
        except NotFoundError as error:
            messages.error(request, error_message(error))
            return redirect("admin:knowledge_document_change", pk)
