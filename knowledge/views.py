"""The source viewer. Rights are checked by the selectors at every opening."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from hashlib import sha256
from http import HTTPStatus
from pathlib import PurePath
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from accounts.authentication import page
from accounts.error_messages import error_message
from accounts.scope import Scope
from knowledge import view_models
from knowledge.file_errors import FileBusyError, FileDamagedError, FileMissingError, FileUnmakeableError
from knowledge.services.originals import original_open, stored_open
from knowledge.services.reading import document_read_record, passage_read_record, version_read_record
from knowledge.view_models import PDF
from ragcore.errors import CorruptDocumentError, RagError, ResourceLimitError, SandboxUnavailableError

PRIVATE = {"Cache-Control": "private, no-cache"}  # browsers keep it, but ask each time whether they still may


# of files that cannot be shown; 410: they were there once
STATUS_OF_FAULT: dict[type[RagError], int] = {
    FileMissingError: HTTPStatus.GONE,
    FileDamagedError: HTTPStatus.GONE,
    CorruptDocumentError: HTTPStatus.NOT_FOUND,
    ResourceLimitError: HTTPStatus.NOT_FOUND,
    FileBusyError: HTTPStatus.SERVICE_UNAVAILABLE,
    FileUnmakeableError: HTTPStatus.UNPROCESSABLE_ENTITY,
    SandboxUnavailableError: HTTPStatus.SERVICE_UNAVAILABLE,
}

View = Callable[..., HttpResponseBase]


def file_view(view: View) -> View:
    """A view of a stored file that says in words why it cannot be shown: a page, or plain text where none is asked for.

    Scripts show the text in the place of a picture, and try again after `Retry-After`.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **values: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **values)
        except tuple(STATUS_OF_FAULT) as error:
            return _fault(request, error, status=next(v for k, v in STATUS_OF_FAULT.items() if isinstance(error, k)))

    return wrapped


def _fault(request: HttpRequest, error: RagError, *, status: int) -> HttpResponse:
    message = error_message(error)
    if request.accepts("text/html") and "text/html" in request.headers.get("Accept", ""):
        answer = render(request, "knowledge/file_fault.html", {"message": message, "status": status}, status=status)
    else:
        answer = HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
    answer["Cache-Control"] = "no-store"  # browsers keep 404 and 410, and the file may come back
    if "retry_after_seconds" in error.data:
        answer["Retry-After"] = str(error.data["retry_after_seconds"])
    return answer


@require_safe
@page
def document(request: HttpRequest, scope: Scope, document_id: int) -> HttpResponse:
    """The text of a document as it was read; `?chunk=` opens the page with that passage."""
    view = view_models.document_view(
        scope=scope,
        document_id=document_id,
        number=_number(request, "page") or 1,
        chunk_id=_number(request, "chunk"),
    )
    document_read_record(scope=scope, document=view.document)
    return render(request, "knowledge/document.html", {"shown": view})


@require_safe
@page
@file_view
def original(request: HttpRequest, scope: Scope, document_id: int) -> HttpResponseBase:
    """The file as it was uploaded, `?version=` an earlier one; PDF and text are shown, all else is saved."""
    version = view_models.version_get(scope=scope, document_id=document_id, number=_number(request, "version"))
    content = original_open(version)
    document_read_record(scope=scope, document=version.document, kind="download")
    shown_as = None if "download" in request.GET else view_models.inline_type(version)
    response = FileResponse(
        content,
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
@file_view
def rendition(request: HttpRequest, scope: Scope, document_id: int) -> HttpResponseBase:
    """The PDF that was made of slides or a text, `?version=` of an earlier one."""
    version = view_models.rendition_get(scope=scope, document_id=document_id, number=_number(request, "version"))
    document_read_record(scope=scope, document=version.document, kind="download")
    name = f"{PurePath(version.file_name).stem}.pdf"
    response = FileResponse(stored_open(version.rendition), filename=name, content_type=PDF, headers=PRIVATE)
    response._csp_exempt = True  # type: ignore[attr-defined]  # as for originals
    return response


@require_safe
@page
@file_view
def page_picture(request: HttpRequest, scope: Scope, chunk_id: int) -> HttpResponseBase:
    """The page on which a passage stands, highlighted. Browsers keep it, but ask each time whether they still may."""
    png = view_models.page_picture(
        scope=scope,
        chunk_id=chunk_id,
        page=_number(request, "page"),
        marks=_numbers(request, "marks"),
        is_clip="clip" in request.GET,
    )
    passage_read_record(scope=scope, chunk_id=chunk_id)
    return _png(request, png)


@require_safe
@page
@file_view
def version_page(request: HttpRequest, scope: Scope, version_id: int, number: int) -> HttpResponseBase:
    """A page of a version as it looks, without highlights."""
    png = view_models.page_of_version(scope=scope, version_id=version_id, page=number)
    version_read_record(scope=scope, version_id=version_id)
    return _png(request, png)


@require_safe
@page
@file_view
def picture(request: HttpRequest, scope: Scope, version_id: int, name: str) -> HttpResponseBase:
    """A picture inside a document. It never changes, so that its name is its tag."""
    stored_picture = view_models.picture_get(scope=scope, version_id=version_id, name=name)
    version_read_record(scope=scope, version_id=version_id)
    etag = f'"{stored_picture.pk}"'
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None:
        return unchanged
    headers = {**PRIVATE, "ETag": etag, "X-Content-Type-Options": "nosniff", "Content-Disposition": "inline"}
    return FileResponse(stored_open(stored_picture.file), content_type=stored_picture.media_type, headers=headers)


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
