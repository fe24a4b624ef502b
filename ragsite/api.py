"""Retrieval, answers and the OpenAI-compatible calls, in one ninja API."""

from __future__ import annotations

from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from chat.api import openai_router, rag_router
from chat.api.auth import CallerAuth
from ragcore.errors import RagError
from ragsite.errors import problem_of


def ninja_api() -> NinjaAPI:
    """The routers of the chat; documented together with the resources (ragsite.openapi)."""
    made = NinjaAPI(
        title="Ragsite",
        version="1",
        urls_namespace="rag",
        auth=CallerAuth(),  # what a router forgets to protect is protected
        docs_url=None,  # it would load from a CDN
        openapi_url=None,
    )
    for kind in (RagError, HttpError, ValidationError, Http404, Exception):
        made.add_exception_handler(kind, _answer)
    made.add_router("/api/v1/rag", rag_router)
    made.add_router("/v1", openai_router)
    return made


def _answer(request: HttpRequest, error: Any) -> HttpResponse:
    """ninja's hook: the same body and headers as everywhere else."""
    problem = problem_of(cast(Exception, error))
    answer = api.create_response(request, problem.body(), status=problem.http_status)
    for name, value in problem.http_headers().items():
        answer[name] = value
    return answer


api = ninja_api()
