"""Middleware on the event loop: what it does stays, and requests of asynchronous views need no thread for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, override_settings
from django.urls import path
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt
async def exempt(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"asynchronous {request.LANGUAGE_CODE}")  # type: ignore[attr-defined]


async def protected(request: HttpRequest) -> HttpResponse:
    return HttpResponse("changed")


def stores(request: HttpRequest) -> HttpResponse:
    request.session["seen"] = request.session.get("seen", 0) + 1
    messages.info(request, "stored")
    return HttpResponse(str(request.session["seen"]))


urlpatterns = [path("exempt", exempt), path("protected", protected), path("stores", stores)]


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of what was run in a thread."""
    seen: list[str] = []
    call = SyncToAsync.__call__

    async def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(getattr(self.func, "__qualname__", str(self.func)))
        return await call(self, *args, **kwargs)

    monkeypatch.setattr(SyncToAsync, "__call__", counted)
    with override_settings(ROOT_URLCONF=__name__):
        yield seen


def of_middleware(hops: list[str]) -> list[str]:
    return [name for name in hops if "process_" in name or "serve" in name]


async def test_a_request_of_an_asynchronous_view_passes_all_middleware_without_a_thread(hops: list[str]) -> None:
    answer = await AsyncClient().post("/exempt", headers={"accept-language": "zh-hans"})

    assert answer.content == b"asynchronous zh-hans"
    assert of_middleware(hops) == []
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Content-Language"] == "zh-hans"
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert answer["Content-Length"] == str(len(answer.content))


async def test_a_form_without_its_token_is_refused(hops: list[str]) -> None:
    answer = await AsyncClient(enforce_csrf_checks=True).post("/protected")

    assert answer.status_code == 403
    assert of_middleware(hops) == ["CsrfViewMiddleware.process_view"]


@pytest.mark.django_db(transaction=True)
async def test_a_changed_session_is_stored(hops: list[str]) -> None:
    client = AsyncClient()

    first, second = await client.get("/stores"), await client.get("/stores")

    assert (first.content, second.content) == (b"1", b"2")
    assert settings.SESSION_COOKIE_NAME in first.cookies
    assert "SessionMiddleware.process_response" in of_middleware(hops)


async def test_static_files_are_served_and_missing_ones_are_not_found(hops: list[str]) -> None:
    found, missing = await AsyncClient().get("/static/favicon.svg"), await AsyncClient().get("/static/none.svg")

    assert found.status_code == 200
    assert found["Content-Type"] == "image/svg+xml"
    assert missing.status_code == 404
