"""Addresses of the site itself: metrics, the API's description, errors."""

from __future__ import annotations

import sys

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views import defaults
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularSwaggerSplitView
from prometheus_client import CONTENT_TYPE_LATEST

from accounts.authentication import request_user, require_known
from accounts.errors import NotAllowedError
from accounts.key_scopes import KeyScope
from accounts.selectors import scope_for
from ragcore.errors import RagError
from ragsite.errors import Problem, bad_value, is_outage, problem_of, sent
from ragsite.health import is_local
from ragsite.metrics_page import metrics_page
from ragsite.openapi import merged_schema

API_PATHS = ("/api/", "/v1/")
RELOAD_SECONDS = 5  # after which a page that could not be shown is asked for again

_swagger = SpectacularSwaggerSplitView.as_view(url_name="schema")


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus metrics: for a scraper on this machine, and for platform administrators with a key."""
    try:
        if (
            not is_local(request)
            and scope_for(request_user(request, scope=KeyScope.MANAGE)[0]).administers != "everything"
        ):
            raise NotAllowedError
    except RagError as error:
        return sent(request.path, problem_of(error))
    return HttpResponse(metrics_page(), content_type=CONTENT_TYPE_LATEST)


@never_cache
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """One sign-in for the whole site; who is signed in and comes here may not use the administration."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME, str(settings.ADMIN_HOME)))


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """The OpenAPI description: for whoever is known, and for everybody where API_DOCS_OPEN says so."""
    try:
        _require_reader(request)
    except RagError as error:
        return sent(request.path, problem_of(error))
    return JsonResponse(merged_schema())


@require_safe
def api_docs(request: HttpRequest) -> HttpResponseBase:
    """The page of the API, for the same readers; its script has an address of its own, as the policy wants."""
    try:
        _require_reader(request)
    except RagError:
        return redirect_to_login(request.get_full_path())
    return _swagger(request)


def _require_reader(request: HttpRequest) -> None:
    """Raises NotAuthenticatedError."""
    if not settings.API_DOCS_OPEN:
        require_known(request)


# ── errors outside the views of the API ─────────────────────────────────────────────────────────


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, as JSON below the API."""
    return _api_answer(request, exception) or defaults.bad_request(request, exception)


def bad_value_answer(request: HttpRequest, error: Exception) -> HttpResponse:
    """400 for a value that the database refused, as JSON below the API."""
    problem = bad_value(error)
    return sent(request.path, problem) if request.path.startswith(API_PATHS) else bad_request(request, error)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403, as JSON below the API."""
    return _api_answer(request, exception) or defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404, as JSON below the API."""
    return _api_answer(request, exception) or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, as JSON below the API; 503 or 507 where a service or the disk is at fault. Django has logged the error."""
    error = sys.exc_info()[1]  # Django calls this while it handles the error
    if isinstance(error, Exception) and is_outage(error):
        return outage(request, error)
    problem = Problem(code="internal", message=_("Something went wrong on our side."))
    return sent(request.path, problem) if request.path.startswith(API_PATHS) else defaults.server_error(request)


def outage(request: HttpRequest, error: Exception) -> HttpResponse:
    """The response for an unavailable service: JSON below the API, else a page that reloads itself after GET."""
    problem = problem_of(error)
    if request.path.startswith(API_PATHS):
        return sent(request.path, problem)
    context: dict[str, object] = {
        "status": problem.http_status,
        "reload_seconds": RELOAD_SECONDS if request.method == "GET" else 0,
    }
    if problem.code != "unavailable":
        context["message"] = problem.message
    page = render_to_string("503.html", context)
    return HttpResponse(page, status=problem.http_status, headers=problem.http_headers())


def _api_answer(request: HttpRequest, exception: Exception) -> HttpResponse | None:
    return sent(request.path, problem_of(exception)) if request.path.startswith(API_PATHS) else None
