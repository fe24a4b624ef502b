"""The outermost ASGI layer: bodies that are too large, or whose sender is unknown, are refused before they are read.

Django keeps the whole body of a request, in memory or on disk, before it asks who sends it. nginx limits only size, not
size by sender; `content-size-limit-asgi` raises errors into the application and sends no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import quote

from csp.utils import build_policy
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.authentication import bearer_token, require_known
from accounts.errors import NotAuthenticatedError
from chat import metrics
from chat.concurrency.executors import run_db
from chat.embeds.sessions import session_visitor
from knowledge.disk_space import disk_fault, space_require
from knowledge.file_errors import StorageFullError
from ragsite.body_limits import LONG_JSON_BYTES, STRANGER_BYTES, BodyLimit, body_limit
from ragsite.errors import Problem, problem_of, sent

EMBED_PATHS = "/embed/"
API_PATHS = ("/api/", "/v1/", "/mcp")
LINGER_SECONDS = 10.0  # for which a body that nobody wants is thrown away, so that its sender reads the answer
LINGER_IDLE_SECONDS = 2.0

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class RequestBodies:
    """An ASGI application in front of another one; enforces `ragsite.body_limits`.

    A declared length over the limit is answered at once (413), one that only a known caller may send is answered when
    the caller is not known (401, pages: the sign-in). A body without a declared length is counted while it comes.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        declared = _declared_bytes(headers)
        if declared == 0:
            await self._application(scope, receive, send)
            return
        limit = body_limit(scope["method"].upper(), scope["path"])
        refusal = await _refusal(scope, limit, declared)
        if refusal is not None:
            will_come = headers.get(b"expect", b"").lower() != b"100-continue"
            await _answer(refusal, receive if will_come else None, send)
        elif declared is None:
            await _Counted(scope, receive, send, limit.limit_bytes).run(self._with_full_disk_told)
        else:
            await self._with_full_disk_told(scope, receive, send)

    async def _with_full_disk_told(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Django keeps bodies in temporary files, and lets the errors of writing them pass: 507 then."""
        is_answered = False

        async def noting(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._application(scope, receive, noting)
        except OSError as error:
            fault = disk_fault(error)
            if is_answered or fault is None:
                raise
            await _answer(_no_room(scope, fault), receive, send)


class _Counted:
    """A request whose body tells its length only at its end."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit_bytes: int) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._left = limit_bytes
        self._is_over = self._is_answered = False

    async def run(self, application: Application) -> None:
        """Runs the application; a body beyond the limit ends as a disconnect for it and as 413 for the client."""
        await application(self._scope, self._counted, self._unless_over)
        if self._is_over and not self._is_answered:
            await _answer(_too_large(self._scope), self._receive, self._send)

    async def _counted(self) -> Message:
        if self._is_over:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        self._is_over = self._left < 0
        return {"type": "http.disconnect"} if self._is_over else message

    async def _unless_over(self, message: Message) -> None:
        if not self._is_over or self._is_answered:
            self._is_answered = True
            await self._send(message)


def _declared_bytes(headers: MutableMapping[bytes, bytes] | dict[bytes, bytes]) -> int | None:
    """The length of the body; None where it will be known only at its end."""
    if b"transfer-encoding" in headers:
        return None
    try:
        return int(headers.get(b"content-length", b"0"))
    except ValueError:
        return None


async def _refusal(scope: Scope, limit: BodyLimit, declared: int | None) -> HttpResponse | None:
    if declared is not None and declared > limit.limit_bytes:
        return _too_large(scope)
    if limit.limit_bytes > LONG_JSON_BYTES and (declared is None or declared > STRANGER_BYTES):
        try:
            await asyncio.to_thread(space_require, declared or 0)
        except StorageFullError as error:
            return _no_room(scope, error)
    if limit.is_open or (declared is not None and declared <= STRANGER_BYTES):
        return None
    try:
        await run_db(_raise_for_strangers, scope)
    except Exception as error:  # noqa: BLE001 (the border: every error becomes an answer)
        return _unknown_sender(scope, error)
    return None


def _raise_for_strangers(scope: Scope) -> None:
    """Uses the ORM. Raises NotAuthenticatedError."""
    request = _request(scope)
    if request.path.startswith(EMBED_PATHS):
        session_visitor(bearer_token(request) or "")  # cookies open nothing there
        return
    SessionMiddleware(lambda _request: HttpResponse()).process_request(request)
    request.user = get_user(request)
    require_known(request)


def _request(scope: Scope) -> ASGIRequest:
    return ASGIRequest(scope, BytesIO())


def _too_large(scope: Scope) -> HttpResponse:
    metrics.BODIES_REFUSED.labels("body_too_large").inc()
    request = _request(scope)
    with translation.override(translation.get_language_from_request(request)):
        message = _("The request body is larger than this address accepts.")
        if request.path.startswith(EMBED_PATHS):
            body = {"code": "body_too_large", "message": message}
            return JsonResponse(body, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if not request.path.startswith(API_PATHS):
            return HttpResponse(render_to_string("413.html"), status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return sent(request.path, Problem(code="body_too_large", message=message))


def _no_room(scope: Scope, error: StorageFullError) -> HttpResponse:
    """507 before the body is read: what is read would be stored meanwhile, too."""
    metrics.BODIES_REFUSED.labels(error.code).inc()
    request = _request(scope)
    with translation.override(translation.get_language_from_request(request)):
        problem = problem_of(error)
        if request.path.startswith(API_PATHS):
            return sent(request.path, problem)
        page = render_to_string("503.html", {"message": problem.message, "status": problem.http_status})
        return HttpResponse(page, status=problem.http_status)


def _unknown_sender(scope: Scope, error: Exception) -> HttpResponse:
    request = _request(scope)
    with translation.override(translation.get_language_from_request(request)):
        if isinstance(error, NotAuthenticatedError):
            metrics.BODIES_REFUSED.labels(error.code).inc()
            if request.path.startswith(EMBED_PATHS):
                return JsonResponse({"code": error.code}, status=HTTPStatus.UNAUTHORIZED)
            if not request.path.startswith(API_PATHS):
                return HttpResponseRedirect(f"{settings.LOGIN_URL}?next={quote(request.path)}")
        return sent(request.path, problem_of(error))


async def _answer(response: HttpResponse, receive: Receive | None, send: Send) -> None:
    """Send the whole answer, throw away what still comes, and close the connection.

    Closed at once, a connection with unread bytes is reset, and its client may lose the answer.
    """
    response["Connection"] = "close"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = build_policy()
    response["Content-Length"] = str(len(response.content))
    headers = [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content, "more_body": True})
    if receive is not None:
        await _throw_away(receive)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _throw_away(receive: Receive) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while True:
                message = await asyncio.wait_for(receive(), LINGER_IDLE_SECONDS)
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return
