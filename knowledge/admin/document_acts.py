"""Acts on one document that change who may read what: its clearance, and withdrawing a version."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from accounts.error_messages import error_message
from accounts.models import ClearanceLevel
from knowledge.models import Document
from knowledge.selectors.keeping import documents_kept
from knowledge.services.documents import document_clearance_set
from knowledge.services.withdrawal import version_withdraw
from ragcore.errors import RagError


def clearance_view(request: HttpRequest, pk: int, *, context: dict[str, Any]) -> HttpResponse:
    """GET: which level; POST: set it, and go back to the document."""
    document = _kept(request, pk)
    own = admin_scope(request).clearance
    if request.method == "POST":
        given = request.POST.get("clearance", "")
        wanted = int(given) if given in map(str, ClearanceLevel.values) else document.clearance
        try:
            document_clearance_set(
                scope=admin_scope(request), actor=admin_user(request), document_id=pk, clearance=wanted
            )
            messages.success(request, _("The clearance was changed."))
        except RagError as error:
            messages.error(request, error_message(error))
        return redirect(f"{reverse('admin:knowledge_document_change', args=[pk])}?view=about")
    levels = [(value, label) for value, label in ClearanceLevel.choices if value <= max(own, document.clearance)]
    found = {**context, "title": _("Document clearance"), "document": document, "levels": levels}
    return TemplateResponse(request, "admin/knowledge/document/clearance.html", found)


def withdraw_view(request: HttpRequest, pk: int, number: int, *, context: dict[str, Any]) -> HttpResponse:
    """GET: what it means; POST: withdraw the version, and go back to the document."""
    document = _kept(request, pk)
    version = get_object_or_404(document.versions.defer("markdown", "sketch"), number=number, withdrawn=None)
    if request.method == "POST":
        try:
            version_withdraw(
                scope=admin_scope(request), actor=admin_user(request), document_id=pk, number=version.number
            )
            messages.success(request, _("The version was withdrawn."))
        except RagError as error:
            messages.error(request, error_message(error))
        return redirect(f"{reverse('admin:knowledge_document_change', args=[pk])}?view=versions")
    found = {**context, "title": _("Withdraw a version"), "document": document, "version": version}
    return TemplateResponse(request, "admin/knowledge/document/withdraw.html", found)


def _kept(request: HttpRequest, pk: int) -> Document:
    """The document, if the person keeps it."""
    found = documents_kept(scope=admin_scope(request)).filter(pk=pk).first()
    if found is None:
        raise Http404
    return found
