"""Dropping many files at once into chosen sets.

The page's script sends one file a request to the public API and follows each job; without scripts the form posts
all files here at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user
from accounts.models.people import MAX_CLEARANCE
from accounts.wording import worded
from knowledge import services
from knowledge.admin.rights import is_curator
from knowledge.selectors import sets_managed
from ragcore.errors import RagError

if TYPE_CHECKING:
    from knowledge.admin.documents import DocumentAdmin


def upload_view(request: HttpRequest, *, model_admin: DocumentAdmin) -> HttpResponseBase:
    """GET: the page; POST: store the files of the form, each with its own result."""
    if not is_curator(request):
        raise PermissionDenied
    if request.method == "POST":
        _store(request)
        return redirect("admin:knowledge_document_changelist")
    scope = admin_scope(request)
    context = {
        **model_admin.admin_site.each_context(request),
        "title": _("Upload documents"),
        "sets": sets_managed(scope=scope).filter(tenant=scope.tenant_id),
        "chosen": {int(value) for value in request.GET.getlist("set") if value.isdigit()},
        "clearances": range(MAX_CLEARANCE + 1),
        "max_mb": settings.MAX_UPLOAD_BYTES // (1024 * 1024),
        "max_bytes": settings.MAX_UPLOAD_BYTES,
    }
    return TemplateResponse(request, "admin/knowledge/document/upload.html", context)


def _store(request: HttpRequest) -> None:
    sets = [int(value) for value in request.POST.getlist("sets") if value.isdigit()]
    clearance = request.POST.get("clearance", "0")
    stored = 0
    for file in request.FILES.getlist("files"):
        try:
            services.document_upload(
                scope=admin_scope(request),
                actor=admin_user(request),
                sets=sets,
                name=file.name or "",
                content=file.read(),
                clearance=int(clearance) if clearance.isdigit() else 0,
            )
            stored += 1
        except RagError as error:
            messages.error(request, f"{file.name}: {worded(error.message)}")
    text = ngettext("%(count)d file is being ingested.", "%(count)d files are being ingested.", stored)
    messages.info(request, text % {"count": stored})
