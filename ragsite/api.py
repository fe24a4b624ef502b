"""Retrieval, answers and the OpenAI-compatible calls, in one ninja API."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from functools import wraps
from http import HTTPStatus
from inspect import iscoroutinefunction
from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from chat.api import attachments_router, dify_router, openai_router, rag_router, shares_router
from chat.api.auth import CallerAuth
from ragcore.errors import RagError
from ragsite.errors import Problem, body_for, problem_of, sent

View = Callable[..., Any]
WITH_BODY = ("POST", "PUT", "PATCH")
WITH_FILES = ("api/v1/rag/attachments",)  # addresses that take forms with files


def ninja_api() -> NinjaAPI:
    """The routers of the chat; documented together with the resources (ragsite.openapi)."""
    joined = NinjaAPI(
        title="Ragsite",
        version="1",
        urls_namespace="rag",
        auth=CallerAuth(),  # what a router forgets to protect is protected
        docs_url=None,  # it would load from a CDN
        openapi_url=None,
    )
    for kind in (RagError, HttpError, ValidationError, Http404, Exception):
        joined.add_exception_handler(kind, _answer)
    joined.add_router("/api/v1/rag/attachments", attachments_router)
    joined.add_router("/api/v1/rag/shares", shares_router)
    joined.add_router("/api/v1/rag", rag_router)
    joined.add_router("/api/v1/dify", dify_router)
    joined.add_router("/v1", openai_router)
    return joined


def _answer(request: HttpRequest, error: Any) -> HttpResponse:
    """ninja's hook: the same body and headers as everywhere else."""
    problem = problem_of(cast(Exception, error))
    answer = api.create_response(request, body_for(request.path, problem), status=problem.http_status)
    for name, value in problem.http_headers().items():
        answer[name] = value
    return answer


def in_envelope(view: View, *, json_only: bool = True) -> View:
    """Wraps a view so that 415 and 405, which the frameworks answer by themselves, leave in the API's error envelope.

    415 for a body in an encoding that nobody knows and, with `json_only`, for one that says it is something else than
    JSON (ninja would read it as JSON all the same; a body without a type is taken for JSON); 405 as JSON with `Allow`.
    """
    if not iscoroutinefunction(view):

        @wraps(view)
        def answered(request: HttpRequest, *args: Any, **values: Any) -> HttpResponseBase:
            refused = _type_refused(request, json_only=json_only)
            return _with_method_told(request, refused or view(request, *args, **values))

        return answered

    @wraps(view)
    async def answered_later(request: HttpRequest, *args: Any, **values: Any) -> HttpResponseBase:
        refused = _type_refused(request, json_only=json_only)
        return _with_method_told(request, refused or await view(request, *args, **values))

    return answered_later


def _type_refused(request: HttpRequest, *, json_only: bool) -> HttpResponse | None:
    kind, fault = request.content_type or "", ""
    if request.method not in WITH_BODY:
        return None
    if json_only and kind not in ("", "application/json") and not kind.endswith("+json"):
        fault = _("The body must be JSON: Content-Type: application/json.")
    try:
        codecs.lookup((request.content_params or {}).get("charset", "utf-8"))
    except LookupError:
        fault = _("Unsupported encoding. Use UTF-8.")
    return sent(request.path, Problem(code="unsupported_media_type", message=fault)) if fault else None


def _with_method_told(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    if answer.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        return answer
    problem = Problem(
        code="method_not_allowed",
        message=_("This address does not support this method."),
        headers={"Allow": answer.headers.get("Allow", "")},
    )
    return sent(request.path, problem)


def api_urls() -> tuple[list[URLPattern | URLResolver], str, str]:
    """The addresses of ninja's part for `urlpatterns`."""
    patterns, app, namespace = api.urls
    forms = [pattern for pattern in patterns if str(pattern.pattern) in WITH_FILES]
    other_patterns = [pattern for pattern in patterns if pattern not in forms]
    return [*in_envelopes(forms, json_only=False), *in_envelopes(other_patterns)], app, namespace


def in_envelopes(
    patterns: Iterable[URLPattern | URLResolver], *, json_only: bool = True
) -> list[URLPattern | URLResolver]:
    """The URL patterns with each view wrapped by `in_envelope`."""
    listed = list(patterns)
    for pattern in listed:
        assert isinstance(pattern, URLPattern)  # neither part nests another
        pattern.callback = in_envelope(pattern.callback, json_only=json_only)
    return listed


api = ninja_api()
