"""New versions of documents by upload: which document a file may belong to, and the page that takes one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.file_field import FileDropInput
from accounts.admin.pages import admin_page, page_response
from accounts.error_messages import error_message
from knowledge.admin.curation import ids_of, is_curator
from knowledge.models import Document
from knowledge.selectors.keeping import documents_kept
from knowledge.selectors.known_names import KnownName, documents_named
from knowledge.services import document_upload
from ragcore.errors import RagError

MOST_NAMES = 40  # of one request


@admin_page("upload/known/", of=Document, name="knowledge_document_known", allowed=is_curator)
def known_names_view(request: HttpRequest) -> JsonResponse:
    """GET `?name=…&set=…`: for each name the documents that it may be a new version of, the likeliest first.

    `sha256` is of the bytes of the newest version: the same file again is no new version.
    """
    sets = ids_of(request.GET.getlist("set"))
    names = list(dict.fromkeys(request.GET.getlist("name")))[:MOST_NAMES]
    return JsonResponse({name: _choices(request, name, sets) for name in names})


def _choices(request: HttpRequest, name: str, sets: list[int]) -> list[dict[str, Any]]:
    matches = documents_named(scope=admin_scope(request), name=name[:512].replace("\x00", ""), sets=sets)
    return [
        {"id": match.document.pk, "words": _words(match), "match": match.match, "sha256": match.document.sha256}
        for match in matches
    ]


def _words(match: KnownName) -> str:
    words = _("New version of “%(title)s” (%(file)s, version %(number)s)")
    return words % {"title": match.document.title, "file": match.file_name, "number": match.version_number}


class VersionForm(forms.Form):
    """One file."""

    file = forms.FileField(label=_("File"), widget=FileDropInput)


@admin_page("<int:pk>/version/", of=Document, name="knowledge_document_version")
def version_view(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: the form; POST: store the file as the next version, and go back to the document."""
    document = documents_kept(scope=admin_scope(request)).filter(pk=pk, deleted=None).first()
    if document is None:
        raise Http404
    form = VersionForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if form.is_bound and form.is_valid() and _stored(request, document, form):
        return redirect("admin:knowledge_document_change", pk)
    variables = {"title": _("Upload a new version"), "document": document, "form": form}
    return page_response(request, "admin/knowledge/document/version.html", variables)


def _stored(request: HttpRequest, document: Document, form: VersionForm) -> bool:
    file = form.cleaned_data["file"]
    try:
        uploaded = document_upload(
            scope=admin_scope(request),
            actor=admin_user(request),
            sets=(),
            name=file.name,
            content=file,
            new_version_of=document.pk,
        )
    except RagError as error:
        form.add_error("file", error_message(error))
        return False
    if uploaded.duplicate:
        messages.info(request, _("The file is the same as the newest version; nothing was changed."))
    else:
        messages.success(request, _("The new version is being processed; answers use the old one until it is done."))
    return True
