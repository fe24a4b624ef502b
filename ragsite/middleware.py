"""Middleware of the site, as far as possible on the event loop.

Django runs each hook of its own middleware in a thread, one after the other: twenty hops a request, which cost more
processor time than the hooks. None of them waits for anything, except in the cases that are named below.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from csp.middleware import CSPMiddleware
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware as DjangoAuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware as DjangoMessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware as DjangoSessionMiddleware
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware as DjangoXFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware as DjangoCommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware as DjangoCsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware as DjangoLocaleMiddleware
from django.middleware.security import SecurityMiddleware as DjangoSecurityMiddleware
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.text import compress_string
from django_prometheus.middleware import PrometheusAfterMiddleware as LibraryPrometheusAfterMiddleware
from django_prometheus.middleware import PrometheusBeforeMiddleware as LibraryPrometheusBeforeMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware

from chat.api.auth import Caller, access_of
from chat.concurrency.access_watch import until_ended
from ragsite.bad_values import has_nul, is_bad_value
from ragsite.views import bad_request, bad_value_answer

STYLED_PATHS = ("/admin/", "/api/docs")  # third-party pages that set inline styles
COMPRESSED_TYPES = ("text/html", "application/json")
COMPRESSED_FROM_BYTES = 1024  # shorter ones fit into one packet anyway
RANDOM_BYTES = 100  # as Django's own middleware
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

View = Callable[..., Any]
Next = Callable[[HttpRequest], Any]


class _Hooks(Protocol):
    get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class OnEventLoop:
    """Mixin of a MiddlewareMixin: its hooks run on the event loop, so they must not block.

    `response_blocks` names the requests whose response is processed in a thread.
    """

    def response_blocks(self, request: HttpRequest) -> bool:
        return False

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        hooks = cast(Any, self)
        early = hooks.process_request(request) if hasattr(hooks, "process_request") else None
        response = early or await cast(_Hooks, self).get_response(request)
        if not hasattr(hooks, "process_response"):
            return cast(HttpResponseBase, response)
        if self.response_blocks(request):
            return cast(HttpResponseBase, await sync_to_async(hooks.process_response)(request, response))
        return cast(HttpResponseBase, hooks.process_response(request, response))


class PrometheusBeforeMiddleware(OnEventLoop, LibraryPrometheusBeforeMiddleware):
    """Counts requests and their whole time."""


class PrometheusAfterMiddleware(OnEventLoop, LibraryPrometheusAfterMiddleware):
    """Counts requests by view, and the time of the view."""

    def __init__(self, get_response: Next) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            self.process_view = self._aprocess_view
            self.process_template_response = self._aprocess_template_response

    async def _aprocess_view(self, request: HttpRequest, view: View, args: Any, kwargs: Any) -> None:
        super().process_view(request, view, *args, **kwargs)

    async def _aprocess_template_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return cast(HttpResponseBase, super().process_template_response(request, response))


class SecurityMiddleware(OnEventLoop, DjangoSecurityMiddleware):
    """Headers that browsers keep to. No page of another origin embeds a picture or a file of this site."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return super().process_response(request, response)


class LocaleMiddleware(OnEventLoop, DjangoLocaleMiddleware):
    """The language of the request."""


class CommonMiddleware(OnEventLoop, DjangoCommonMiddleware):
    """The length of the response."""


class AuthenticationMiddleware(OnEventLoop, DjangoAuthenticationMiddleware):
    """`request.user`, which is read when it is first used."""


class XFrameOptionsMiddleware(OnEventLoop, DjangoXFrameOptionsMiddleware):
    """No page in a frame of another site."""


class SessionMiddleware(OnEventLoop, DjangoSessionMiddleware):
    """The session, which is read when it is first used. A changed one is stored: in a thread."""

    def response_blocks(self, request: HttpRequest) -> bool:
        session = getattr(request, "session", None)
        return session is not None and (session.modified or settings.SESSION_SAVE_EVERY_REQUEST)


class MessageMiddleware(OnEventLoop, DjangoMessageMiddleware):
    """Messages to the next page. Where there are any they may stand in the session: in a thread."""

    def response_blocks(self, request: HttpRequest) -> bool:
        storage = getattr(request, "_messages", None)
        return storage is not None and (storage.used or storage.added_new)


class CsrfViewMiddleware(OnEventLoop, DjangoCsrfViewMiddleware):
    """The token of forms. Looking for it reads the body of the request: in a thread."""

    def __init__(self, get_response: Next) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            self.process_view = self._aprocess_view  # type: ignore[assignment]

    async def _aprocess_view(self, request: HttpRequest, view: View, args: Any, kwargs: Any) -> Any:
        check = super().process_view
        if request.method in SAFE_METHODS or getattr(view, "csrf_exempt", False):
            return check(request, view, args, kwargs)
        return await sync_to_async(check)(request, view, args, kwargs)


class ContentSecurityPolicyMiddleware(OnEventLoop, CSPMiddleware):
    """One policy for scripts everywhere: files of this site only. Some third-party pages may set styles."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if request.path.startswith(STYLED_PATHS):
            response._csp_replace = settings.CONTENT_SECURITY_POLICY_STYLED  # type: ignore[attr-defined]
        return super().process_response(request, response)


class CompressedPagesMiddleware(OnEventLoop, MiddlewareMixin):
    """gzip for pages of the site: HTML and JSON that is there as a whole, for browsers that take it.

    Streams pass as they are, so that no word of an answer waits. A random length is added against guessing secrets by
    the size of a page (BREACH).
    """

    def process_response(self, request: HttpRequest, response: Any) -> HttpResponseBase:
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        if response.streaming or kind not in COMPRESSED_TYPES or "Content-Encoding" in response.headers:
            return cast(HttpResponseBase, response)
        patch_vary_headers(response, ("Accept-Encoding",))
        if len(response.content) < COMPRESSED_FROM_BYTES or not accepts_gzip(request):
            return cast(HttpResponseBase, response)
        response.content = compress_string(response.content, max_random_bytes=RANDOM_BYTES)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.content))
        return cast(HttpResponseBase, response)


def accepts_gzip(request: HttpRequest) -> bool:
    """Whether the browser takes gzip; `gzip;q=0` says that it does not."""
    for offer in request.headers.get("Accept-Encoding", "").split(","):
        name, _separator, quality = offer.strip().partition(";")
        if name.strip() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0")
    return False


class BadValuesMiddleware(OnEventLoop, MiddlewareMixin):
    """400 for requests with values that the database cannot hold (`ragsite.bad_values`)."""

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        return bad_request(request, SuspiciousOperation("NUL")) if has_nul(request) else None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        return bad_value_answer(request, error) if is_bad_value(error) else None


class EndedAccessMiddleware:
    """Ends API streams when their session, key or person loses access."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._acall(request) if iscoroutinefunction(self) else self.get_response(request)

    async def _acall(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = await self.get_response(request)
        caller = getattr(request, "auth", None)
        if isinstance(response, StreamingHttpResponse) and response.is_async and isinstance(caller, Caller):
            access = access_of(caller, request.session.session_key)
            response.streaming_content = until_ended(aiter(response.streaming_content), access)  # type: ignore[arg-type]
        return response


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise for requests below the static path; others pass without a thread."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Next) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if not iscoroutinefunction(self):
            return super().__call__(request)
        if request.path_info.startswith(self.static_prefix):
            return self._aserve(request)
        return self.get_response(request)

    async def _aserve(self, request: HttpRequest) -> Any:
        static_file = await sync_to_async(self._find)(request.path_info)
        if static_file is None:
            return await self.get_response(request)
        return await sync_to_async(self.serve)(static_file, request)

    def _find(self, path: str) -> Any:
        return self.find_file(path) if self.autorefresh else self.files.get(path)
