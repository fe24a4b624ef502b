"""`/health`: readiness for whoever starts or balances processes, and with `?deep` the state of every part."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable
from http import HTTPStatus
from time import perf_counter
from typing import Any

import redis
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.authentication import bearer_token, request_user
from accounts.key_scopes import KeyScope
from accounts.selectors import scope_for
from chat.api.health import health_report
from knowledge.disk_space import worst_volume
from knowledge.model_setup import setup_now
from ragcore.errors import RagError
from ragcore.parsing.sandbox.process import sandbox_measures
from ragsite.errors import problem_of, sent
from ragsite.lifespan import is_preparing

logger = logging.getLogger(__name__)

PROBE_SECONDS = 2.0


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """Readiness: 200 when Postgres and Redis answer and the models are loaded, otherwise 503.

    `models` says why no language model that is set up is used (see `_language_models_state`); answers are quotations
    then, and the site is ready. `disk` does not count: "low" tells of little space, "full" and "read_only" that no
    files are accepted. A service that cannot write says `"reason": "storage_full"`.

    No authentication, and no details for strangers. Models that cannot be loaded do not make the site unready: the
    question that needs them says what is wrong. Administrators are told how the processes that read files are confined
    on this machine (`sandbox`). With `?deep` every part is asked, optional ones, too, which does not
    change the status; only from this machine or with a key, since it makes work for other servers.
    """
    models = {"status": "loading" if is_preparing() else "ok"}
    parts: dict[str, Any] = {"postgres": _probe(_ask_postgres), "redis": _probe(_ask_redis), "models": models}
    is_ready = all(part["status"] == "ok" for part in parts.values())
    if is_ready and (state := _language_models_state()):
        parts["models"] = state
    parts["disk"] = {"status": worst_volume().state}  # a full one takes no files; questions are answered all the same
    if "deep" in request.GET:
        try:
            if not is_local(request):
                request_user(request, scope=KeyScope.READ)
        except RagError as error:
            return sent(request.path, problem_of(error))
        parts["parts"] = async_to_sync(health_report)()
    if is_ready and _is_administrator(request):
        parts["sandbox"] = {"required": settings.REQUIRE_SANDBOX, **sandbox_measures()}
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    answer = JsonResponse({"status": "ok" if is_ready else "unavailable", **parts}, status=status)
    if not is_ready:
        answer["Retry-After"] = "2"
    return answer


def _language_models_state() -> dict[str, str]:
    """Why none of the language models that are set up is used: "test_failed", "untested", or of the model of LLM_FILE
    "file_loading" or "file_not_loaded" with the reason as a code. {} where one is used.
    """
    setup = setup_now()
    if setup.models or setup.local or not setup.unready:
        return {}
    states = [model.file_state for model in setup.unready.values() if model.file_state is not None]
    if states:
        reason = states[0].reason
        return {"status": "file_not_loaded", "reason": reason} if reason else {"status": "file_loading"}
    return {"status": "test_failed" if any(model.test_code for model in setup.unready.values()) else "untested"}


def is_local(request: HttpRequest) -> bool:
    """The peer is this machine and is no proxy that passes on a stranger's request."""
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _is_administrator(request: HttpRequest) -> bool:
    """Whether the credentials of a request, if it has any, are those of somebody who administers everything."""
    if bearer_token(request) is None and settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    try:
        return scope_for(request_user(request, scope=KeyScope.MANAGE)[0]).administers == "everything"
    except RagError:
        return False


def _probe(ask: Callable[[], None]) -> dict[str, Any]:
    started = perf_counter()
    try:
        ask()
    except (DatabaseError, redis.RedisError, OSError) as error:
        logger.warning("health: %s", error)
        if problem_of(error).code == "storage_full":
            return {"status": "unavailable", "reason": "storage_full"}
        return {"status": "unavailable"}
    return {"status": "ok", "latency_ms": round((perf_counter() - started) * 1000, 1)}


def _ask_postgres() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_redis() -> None:
    limits = {"socket_timeout": PROBE_SECONDS, "socket_connect_timeout": PROBE_SECONDS}
    with redis.Redis.from_url(settings.REDIS_URL, **limits) as client:
        client.ping()
