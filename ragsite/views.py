"""Addresses of the site itself: readiness, metrics, the API's description, errors."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any, cast

import redis
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView

from accounts.authentication import request_user
from accounts.errors import NotAllowedError
from accounts.selectors import scope_for
from ragcore.errors import RagError
from ragsite.errors import Problem, problem_of
from ragsite.lifespan import is_preparing
from ragsite.openapi import merged_schema

logger = logging.getLogger(__name__)

API_PATHS = ("/api/", "/v1/")
PROBE_SECONDS = 2.0


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """Readiness: 200 when Postgres and Redis answer and the models are loaded, otherwise 503.

    No authentication, and no details for strangers. Models that cannot be loaded do not make the site unready: the
    question that needs them says what is wrong.
    """
    models = {"status": "loading" if is_preparing() else "ok"}
    parts = {"postgres": _probe(_ask_postgres), "redis": _probe(_ask_redis), "models": models}
    is_ready = all(part["status"] == "ok" for part in parts.values())
    answer = JsonResponse({"status": "ok" if is_ready else "unavailable", **parts}, status=200 if is_ready else 503)
    if not is_ready:
        answer["Retry-After"] = "2"
    return answer


def _probe(ask: Callable[[], None]) -> dict[str, Any]:
    started = perf_counter()
    try:
        ask()
    except (DatabaseError, redis.RedisError, OSError) as error:
        logger.warning("health: %s", error)
        return {"status": "unavailable"}
    return {"status": "ok", "latency_ms": round((perf_counter() - started) * 1000, 1)}


def _ask_postgres() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_redis() -> None:
    limits = {"socket_timeout": PROBE_SECONDS, "socket_connect_timeout": PROBE_SECONDS}
    with redis.Redis.from_url(settings.REDIS_URL, **limits) as client:
        client.ping()


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus metrics: for a scraper on this machine, and for administrators of the whole site with a key."""
    try:
        if not _is_local(request) and scope_for(request_user(request)).administers != "everything":
            raise NotAllowedError
    except RagError as error:
        return _sent(problem_of(error))
    return cast(HttpResponse, ExportToDjangoView(request))


def _is_local(request: HttpRequest) -> bool:
    """The peer is this machine and is no proxy that passes on a stranger's request."""
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


@never_cache
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """One sign-in for the whole site; who is signed in and comes here may not use the administration."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME, str(settings.ADMIN_HOME)))


@require_safe
def schema(request: HttpRequest) -> JsonResponse:
    """The OpenAPI description."""
    return JsonResponse(merged_schema())


# ── errors outside the views of the API ─────────────────────────────────────────────────────────


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400, as JSON below the API."""
    return _api_answer(request, exception) or defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403, as JSON below the API."""
    return _api_answer(request, exception) or defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404, as JSON below the API."""
    return _api_answer(request, exception) or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, as JSON below the API; Django has logged the traceback."""
    problem = Problem(code="internal", message="Something went wrong on our side.")
    return _sent(problem) if request.path.startswith(API_PATHS) else defaults.server_error(request)


def _api_answer(request: HttpRequest, exception: Exception) -> HttpResponse | None:
    return _sent(problem_of(exception)) if request.path.startswith(API_PATHS) else None


def _sent(problem: Problem) -> JsonResponse:
    return JsonResponse(problem.body(), status=problem.http_status, headers=problem.http_headers())
