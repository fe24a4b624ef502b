"""Dropping many files at once into chosen sets.

The page's script sends one file a request to the public API; where the files are on their way is told by one list for
all of them, which the server makes, so that it is still there after a reload. Without scripts the form posts here.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Case, IntegerField, Value, When
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.admin.base import admin_scope, admin_user
from accounts.error_messages import error_message
from accounts.models import MAX_CLEARANCE
from knowledge import services
from knowledge.admin.curation import CuratorAdmin, ids_of, is_curator
from knowledge.admin.progress import open_among, rows_of, summary_of
from knowledge.models import IngestItem
from knowledge.selectors import sets_managed
from knowledge.selectors.dashboard import items_uploaded
from ragcore.errors import RagError

RECENT = timedelta(hours=12)
ROWS = 100  # of more uploads those that want attention come first


def upload_view(request: HttpRequest, *, model_admin: CuratorAdmin) -> HttpResponseBase:
    """GET: the page; POST: store the files of the form, each with its own result."""
    if not is_curator(request):
        raise PermissionDenied
    if request.method == "POST":
        _store(request)
        return redirect("admin:knowledge_document_upload")
    scope = admin_scope(request)
    context = {
        **model_admin.admin_site.each_context(request),
        **_recent(request),
        "title": _("Upload documents"),
        "sets": sets_managed(scope=scope).filter(tenant=scope.tenant_id),
        "chosen": set(ids_of(request.GET.getlist("set"))),
        "clearances": range(MAX_CLEARANCE + 1),
        "max_mb": settings.MAX_UPLOAD_BYTES // (1024 * 1024),
        "max_bytes": settings.MAX_UPLOAD_BYTES,
    }
    return TemplateResponse(request, "admin/knowledge/document/upload.html", context)


def recent_view(request: HttpRequest) -> HttpResponse:
    """The list of recent uploads alone, for the script that keeps it true."""
    if not is_curator(request):
        raise PermissionDenied
    return render(request, "admin/knowledge/document/recent.html", _recent(request))


def _recent(request: HttpRequest) -> dict[str, Any]:
    """Uploads of this person in the last hours, the last ones first."""
    items = items_uploaded(scope=admin_scope(request), since=timezone.now() - RECENT)
    stages = list(items.order_by().values_list("stage", flat=True))
    shown = items if len(stages) <= ROWS else items.order_by(_attention(), "-id")[:ROWS]
    rows = rows_of(scope=admin_scope(request), items=shown)
    return {
        "rows": rows,
        "summary": summary_of(stages),
        "hidden": len(stages) - len(rows),
        "open": open_among(rows),
    }


def _attention() -> Case:
    """Failed first, then what a worker holds, then what waits, then what is live."""
    return Case(
        When(stage=IngestItem.Stage.FAILED, then=Value(0)),
        When(finished=None, lease_until__isnull=False, then=Value(1)),
        When(finished=None, then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )


def _store(request: HttpRequest) -> None:
    clearance = request.POST.get("clearance", "0")
    stored = 0
    for file in request.FILES.getlist("files"):
        try:
            services.document_upload(
                scope=admin_scope(request),
                actor=admin_user(request),
                sets=ids_of(request.POST.getlist("sets")),
                name=file.name or "",
                content=file.read(),
                clearance=int(clearance) if clearance.isdecimal() else 0,
            )
            stored += 1
        except RagError as error:
            messages.error(request, f"{file.name}: {error_message(error)}")
    text = ngettext("%(count)d file is being processed.", "%(count)d files are being processed.", stored)
    messages.info(request, text % {"count": stored})
