"""Pages on which people see which sets exist, ask for access, and decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.authentication import page, signed_in
from accounts.error_messages import error_message
from accounts.scope import Scope
from knowledge.models import AccessRequest, KnowledgeSet
from knowledge.selectors import sets_curated, sets_listed, sets_managed, sets_readable
from knowledge.selectors.access_requests import request_get, requests_of
from knowledge.selectors.set_documents import set_documents
from knowledge.services.access_requests import (
    access_request_approve,
    access_request_create,
    access_request_decline,
    access_request_withdraw,
)
from ragcore.errors import RagError

DOCUMENTS_A_PAGE = 50
MAX_WORDS = 128


class ReasonForm(forms.Form):
    """Why somebody asks, or what the person is told."""

    reason = forms.CharField(max_length=1000, required=False)


@dataclass(frozen=True, slots=True)
class SetEntry:
    """A set as everybody sees it, with what the reader may do about it."""

    row: KnowledgeSet
    owners: list[Any]
    may_read: bool
    request: AccessRequest | None  # the reader's newest one


@dataclass(frozen=True, slots=True)
class AxisEntries:
    """The sets of one axis."""

    name: str
    sets: list[SetEntry]


@require_safe
@never_cache
@page
def sets(request: HttpRequest, scope: Scope) -> HttpResponse:
    """All sets of the tenant by axis, with their owners."""
    return render(request, "knowledge/sets.html", {"axes": _axes(scope)})


@require_safe
@never_cache
@page
def set_page(request: HttpRequest, scope: Scope, set_id: int) -> HttpResponse:
    """A set that the reader may ask, with its documents; `?q=` words of a title."""
    words = request.GET.get("q", "").replace("\x00", "")[:MAX_WORDS].strip()
    page_of_set = set_documents(scope=scope, set_id=set_id, words=words)
    documents = Paginator(page_of_set.opened, DOCUMENTS_A_PAGE).get_page(request.GET.get("page"))
    is_curated = sets_curated(scope=scope).filter(pk=set_id).exists()
    context = {"shown": page_of_set, "page": documents, "words": words, "is_curated": is_curated}
    return render(request, "knowledge/set.html", context)


@require_POST
@page
def ask_for_access(request: HttpRequest, scope: Scope, set_id: int) -> HttpResponse:
    """Ask to become a member of a set."""
    form = ReasonForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    try:
        access_request_create(scope=scope, actor=signed_in(request), set_id=set_id, reason=reason)
        messages.success(request, _("Your request was sent to the owners of the knowledge set."))
    except RagError as error:
        messages.error(request, error_message(error))
    return redirect("knowledge:sets")


@require_POST
@page
def withdraw(request: HttpRequest, scope: Scope, request_id: int) -> HttpResponse:
    """Take back one's own request."""
    try:
        access_request_withdraw(scope=scope, actor=signed_in(request), request_id=request_id)
    except RagError as error:
        messages.error(request, error_message(error))
    return redirect("knowledge:sets")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@page
def access_request(request: HttpRequest, scope: Scope, request_id: int) -> HttpResponse:
    """One request: who asks for which set and why; its owners decide here."""
    request_row = request_get(scope=scope, request_id=request_id)
    if request.method == "POST":
        return _decided(request, scope, request_id)
    decides = sets_managed(scope=scope).filter(pk=request_row.knowledge_set_id).exists()
    is_open = request_row.state == AccessRequest.State.OPEN
    context = {"shown": request_row, "may_decide": decides and is_open}
    return render(request, "knowledge/access_request.html", context)


def _decided(request: HttpRequest, scope: Scope, request_id: int) -> HttpResponse:
    form = ReasonForm(request.POST)
    decide = access_request_approve if "approve" in request.POST else access_request_decline
    try:
        answer = form.cleaned_data["reason"] if form.is_valid() else ""
        decide(scope=scope, actor=signed_in(request), request_id=request_id, answer=answer)
        messages.success(request, _("Saved. The requester has been notified."))
    except RagError as error:
        messages.error(request, error_message(error))
    return redirect("knowledge:access-request", request_id)


def _axes(scope: Scope) -> list[AxisEntries]:
    rows = sets_listed(scope=scope).filter(tenant_id=scope.tenant_id).prefetch_related("owners").order_by("name")
    readable = set(sets_readable(scope=scope).values_list("pk", flat=True))
    newest: dict[int, AccessRequest] = {}
    for row in requests_of(scope=scope):  # newest first
        newest.setdefault(row.knowledge_set_id, row)
    entries = [SetEntry(row, list(row.owners.all()), row.pk in readable, newest.get(row.pk)) for row in rows]
    axes = (
        AxisEntries(str(axis.label), [entry for entry in entries if entry.row.axis == axis])
        for axis in KnowledgeSet.Axis
    )
    return [axis for axis in axes if axis.sets]
