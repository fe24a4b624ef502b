"""The source viewer. Rights are checked by the selectors at every opening (B3, B6)."""

from __future__ import annotations

from hashlib import sha256
from pathlib import PurePath

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from accounts.authentication import page
from accounts.scope import Scope
from knowledge import view_models
from knowledge.services.reading import document_read_record, passage_read_record, version_read_record
from knowledge.view_models import PDF
from ragcore.errors import CorruptDocumentError, ResourceLimitError

PRIVATE = {"Cache-Control": "private, no-cache"}  # browsers keep it, but ask each time whether they still may


@require_safe
@page
def document(request: HttpRequest, scope: Scope, document_id: int) -> HttpResponse:
    """The text of a document as it was read; `?chunk=` opens the page with that passage."""
    shown = view_models.document_view(
        scope=scope,
        document_id=document_id,
        number=_number(request, "page") or 1,
        chunk_id=_number(request, "chunk"),
    )
    document_read_record(scope=scope, document=shown.document)
    return render(request, "knowledge/document.html", {"shown": shown})


@require_safe
@page
def original(request: HttpRequest, scope: Scope, document_id: int) -> HttpResponseBase:
    """The file as it was uploaded, `?version=` an earlier one; PDF and text are shown, all else is saved."""
    version = view_models.version_get(scope=scope, document_id=document_id, number=_number(request, "version"))
    document_read_record(scope=scope, document=version.document, kind="download")
    shown_as = None if "download" in request.GET else view_models.inline_type(version)
    response = FileResponse(
        version.file.open("rb"),
        as_attachment=shown_as is None,
        filename=version.file_name,
        content_type=shown_as or "application/octet-stream",
        headers=PRIVATE,
    )
    if shown_as == PDF:  # runs no script of ours, and our policy would keep the browser's viewer from opening it
        response._csp_exempt = True  # type: ignore[attr-defined]  # read by django-csp
    return response


@require_safe
@page
def rendition(request: HttpRequest, scope: Scope, document_id: int) -> HttpResponseBase:
    """The PDF that was made of slides or a text, `?version=` of an earlier one."""
    version = view_models.rendition_get(scope=scope, document_id=document_id, number=_number(request, "version"))
    document_read_record(scope=scope, document=version.document, kind="download")
    name = f"{PurePath(version.file_name).stem}.pdf"
    response = FileResponse(version.rendition.open("rb"), filename=name, content_type=PDF, headers=PRIVATE)
    response._csp_exempt = True  # type: ignore[attr-defined]  # as for originals
    return response


@require_safe
@page
def page_picture(request: HttpRequest, scope: Scope, chunk_id: int) -> HttpResponseBase:
    """The page on which a passage stands, highlighted. Browsers keep it, but ask each time whether they still may."""
    try:
        png = view_models.page_picture(
            scope=scope,
            chunk_id=chunk_id,
            page=_number(request, "page"),
            marks=_numbers(request, "marks"),
            is_clip="clip" in request.GET,
        )
        passage_read_record(scope=scope, chunk_id=chunk_id)
    except (CorruptDocumentError, ResourceLimitError) as error:
        raise Http404(error.message) from error
    return _png(request, png)


@require_safe
@page
def version_page(request: HttpRequest, scope: Scope, version_id: int, number: int) -> HttpResponseBase:
    """A page of a version as it looks, without highlights."""
    try:
        png = view_models.page_of_version(scope=scope, version_id=version_id, page=number)
        version_read_record(scope=scope, version_id=version_id)
    except (CorruptDocumentError, ResourceLimitError) as error:
        raise Http404(error.message) from error
    return _png(request, png)


@require_safe
@page
def picture(request: HttpRequest, scope: Scope, version_id: int, name: str) -> HttpResponseBase:
    """A picture inside a document (D26). It never changes, so that its name is its tag."""
    found = view_models.picture_get(scope=scope, version_id=version_id, name=name)
    version_read_record(scope=scope, version_id=version_id)
    etag = f'"{found.pk}"'
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None:
        return unchanged
    headers = {**PRIVATE, "ETag": etag, "X-Content-Type-Options": "nosniff", "Content-Disposition": "inline"}
    return FileResponse(found.file.open("rb"), content_type=found.media_type, headers=headers)


def _png(request: HttpRequest, png: bytes) -> HttpResponseBase:
    response = HttpResponse(png, content_type="image/png", headers=PRIVATE)
    response["ETag"] = f'"{sha256(png).hexdigest()[:32]}"'
    return get_conditional_response(request, etag=response["ETag"], response=response) or response


def _numbers(request: HttpRequest, name: str) -> tuple[int, ...]:
    """Whole numbers of the query string with commas between them; what is none is left out."""
    parts = request.GET.get(name, "")[:200].split(",")
    return tuple(int(part) for part in parts if part.isdecimal() and len(part) < 6)


def _number(request: HttpRequest, name: str) -> int | None:
    """A positive whole number of the query string; None where there is none."""
    value = request.GET.get(name, "")
    return int(value) if value.isdecimal() and 0 < len(value) < 18 else None
