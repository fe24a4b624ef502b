"""What the pages of those who judge quality share: who may open them, and what a request names."""

from __future__ import annotations

from typing import Any, TypeVar

from django import forms
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from accounts.admin.base import TenantAdmin, admin_scope, admin_user
from accounts.errors import NotAllowedError, NotFoundError
from chat.admin import is_reviewer
from evaluation.models import EvaluationRun, GoldenSet
from evaluation.selectors import golden_sets_kept, run_get
from knowledge.admin.curation import keeps_sets
from knowledge.models import KnowledgeSet
from knowledge.selectors import set_owned

FormT = TypeVar("FormT", bound=forms.Form)


def judges_quality(request: HttpRequest) -> bool:
    """Whether the person judges answers and searches: reviewers, and owners for their sets."""
    return keeps_sets(request) or is_reviewer(request)


class EvaluationAdmin(TenantAdmin):
    """Pages of those who judge quality: owners and reviewers."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return judges_quality(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)


# ── what a request names ──────────────────────────────────────────────────────────────────────────


def submitted_form(form: type[FormT], request: HttpRequest) -> FormT:
    """The form of a click. Raises Http404 where it holds what no page of ours sends."""
    filled = form(request.POST)
    if not filled.is_valid():
        raise Http404
    return filled


def requested_id(text: str) -> int:
    """The id in a parameter. Raises Http404 for what cannot be one."""
    if not (text.isdecimal() and len(text) < 18):
        raise Http404
    return int(text)


def requested_set(request: HttpRequest, text: str) -> KnowledgeSet:
    """The set of an id in a request, which the person owns. Raises Http404."""
    try:
        return set_owned(scope=admin_scope(request), set_id=requested_id(text))
    except (NotFoundError, NotAllowedError) as error:
        raise Http404 from error


def requested_golden_set(request: HttpRequest, pk: int) -> GoldenSet:
    """The golden set of the address, for those who keep it. Raises Http404."""
    kept = golden_sets_kept(scope=admin_scope(request), actor=admin_user(request))
    return get_object_or_404(kept.select_related("tenant"), pk=pk)


def requested_run(request: HttpRequest, pk: int) -> EvaluationRun:
    """The evaluation run of the address. Raises Http404."""
    try:
        return run_get(scope=admin_scope(request), run_id=pk)
    except NotFoundError as error:
        raise Http404(error.message) from error
