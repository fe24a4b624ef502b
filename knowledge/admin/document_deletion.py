"""Deleting documents in the admin: a page that says what goes and when it is final, and Undo afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page, page_response
from knowledge import services
from knowledge.admin.curation import CuratorAdmin, each_row, ids_of
from knowledge.admin.document_actions import about_documents, chosen_of
from knowledge.models import Document
from knowledge.selectors.keeping import documents_restorable
from knowledge.services.document_restore import document_restore

DELETED = "documents_deleted"  # in the session: ids of what the person deleted last


def each_document(request: HttpRequest, rows: Iterable[Document], service: Callable[..., Any]) -> list[int]:
    """Ids of the documents that the service was done for; the reasons of the others are told."""
    who: dict[str, Any] = {"scope": admin_scope(request), "actor": admin_user(request)}
    document_ids = each_row(request, rows, lambda row: service(document_id=row.pk, **who), name=lambda row: row.title)
    return [document.pk for document in document_ids]


class DocumentDeletion(CuratorAdmin):
    """The part of the page of documents that deletes and restores them."""

    list_before_template = "admin/knowledge/document/list_top.html"

    def has_delete_permission(self, request: HttpRequest, obj: Document | None = None) -> bool:
        return self.has_view_permission(request, obj)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Only the documents are named: the deletion is soft, and what citations point to is kept."""
        return [str(obj) for obj in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), []

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """With the documents that the person has just deleted, and that can be restored."""
        ids = request.session.get(DELETED, [])
        deleted = (
            documents_restorable(scope=admin_scope(request)).filter(pk__in=ids) if ids else Document.objects.none()
        )
        undo = {"just_deleted": about_documents(deleted)} if ids else {}
        page: HttpResponse = super().changelist_view(request, {**(extra_context or {}), **undo})
        return page

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """GET: what goes, and when it is final; POST: delete, and go to the list, which offers Undo."""
        document = self.get_object(request, object_id)
        if document is None or document.deleted is not None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if request.method != "POST":
            return self._delete_page(request, self.get_queryset(request).filter(pk=document.pk), address="")
        self._delete(request, [document])
        return redirect(reverse("admin:knowledge_document_changelist") + "?hands=all")

    @admin.action(description=_("Delete…"), permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Document]) -> HttpResponse | None:
        """In the place of Django's own, whose page repeats every id in a field of its own: a form has 1,000 at most."""
        if not request.POST.get("post"):
            address = reverse("admin:knowledge_document_changelist") + "?hands=all"
            return self._delete_page(request, queryset, address=address)
        self._delete(request, chosen_of(request, self.get_queryset(request)) if "ids" in request.POST else queryset)
        return None

    def _delete_page(self, request: HttpRequest, chosen: QuerySet[Document], *, address: str) -> TemplateResponse:
        variables = {
            **about_documents(chosen),
            "title": _("Delete documents"),
            "first": chosen.first(),
            "address": address,
            "days": settings.PURGE_AFTER_DAYS,
            "cited_stay": not settings.PURGE_CITED,
        }
        return page_response(request, "admin/knowledge/document/delete.html", variables)

    def _delete(self, request: HttpRequest, documents: Iterable[Document]) -> None:
        document_ids = each_document(request, documents, services.document_delete)
        request.session[DELETED] = document_ids
        if document_ids:
            text = ngettext("%(count)d document was deleted.", "%(count)d documents were deleted.", len(document_ids))
            messages.success(request, text % {"count": len(document_ids)})

    @admin_page("restore/", name="knowledge_document_restore")
    def restore(self, request: HttpRequest) -> HttpResponse:
        """POST: bring back the documents of the form that the person may bring back."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_delete_permission(request):
            raise PermissionDenied
        ids = ids_of(request.POST.get("ids", "").split(","))
        rows = documents_restorable(scope=admin_scope(request)).filter(pk__in=ids)
        restored = each_document(request, rows.order_by("pk"), document_restore)
        request.session[DELETED] = [pk for pk in request.session.get(DELETED, []) if pk not in restored]
        text = ngettext(
            "%(count)d document is being restored.", "%(count)d documents are being restored.", len(restored)
        )
        messages.info(request, text % {"count": len(restored)})
        return redirect(reverse("admin:knowledge_document_changelist") + "?hands=all")
