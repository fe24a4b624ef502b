"""Pages of their own below the addresses of golden cases: the lab, use and quality, experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase

from accounts.admin.base import admin_scope
from accounts.errors import NotAllowedError, NotFoundError
from knowledge.models import KnowledgeSet
from knowledge.selectors import set_owned

if TYPE_CHECKING:
    from evaluation.admin.golden import GoldenCaseAdmin

View = Callable[..., HttpResponseBase]
FormT = TypeVar("FormT", bound=forms.Form)


def opener(
    model_admin: GoldenCaseAdmin, *, allowed: Callable[[HttpRequest], bool] | None = None
) -> Callable[[View], Any]:
    """Wraps a view of `(request, context=…)` as a page of the admin; 403 for whom `allowed` turns away.

    Without `allowed` whoever sees golden cases may open it.
    """

    def opened(view: View) -> Any:
        def checked(request: HttpRequest) -> HttpResponseBase:
            if not (allowed or model_admin.has_module_permission)(request):
                raise PermissionDenied
            return view(request, context=model_admin.admin_site.each_context(request))

        return model_admin.admin_site.admin_view(checked)

    return opened


def posted(form: type[FormT], request: HttpRequest) -> FormT:
    """The form of a click. Raises Http404 where it holds what no page of ours sends."""
    filled = form(request.POST)
    if not filled.is_valid():
        raise Http404
    return filled


def set_asked(request: HttpRequest, text: str) -> KnowledgeSet:
    """The set of a number in a request, which the person owns. Raises Http404."""
    if not (text.isdecimal() and len(text) < 18):
        raise Http404
    try:
        return set_owned(scope=admin_scope(request), set_id=int(text))
    except (NotFoundError, NotAllowedError) as error:
        raise Http404 from error
