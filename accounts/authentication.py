"""Who calls: API keys and browser sessions for the API, and signed-in people for HTML views."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from accounts.error_messages import error_message
from accounts.errors import MissingRightError, MissingScopeError, NotAllowedError, NotAuthenticatedError, NotFoundError
from accounts.key_rate import count_request_or_raise
from accounts.key_scopes import KeyScope
from accounts.models import ApiKey, User
from accounts.scope import Scope
from accounts.selectors import api_key_get, scope_for

P = ParamSpec("P")
View = Callable[..., HttpResponseBase]


def bearer_token(request: HttpRequest) -> str | None:
    """The key of an `Authorization: Bearer` header; None if there is no such header."""
    kind, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else None


def api_key_admit(secret: str) -> ApiKey:
    """The key of a request, which is counted. Raises NotAuthenticatedError, RateLimitedError."""
    key = api_key_get(secret)
    count_request_or_raise(key)
    return key


def scope_require(key: ApiKey | None, scope: KeyScope | None) -> None:
    """Raise MissingScopeError unless the key has the scope. None for the key: a browser, which may do all.

    None for the scope: the route has not said which one it needs, so no key opens it.
    """
    if key is not None and scope not in key.scopes:
        raise MissingScopeError("needed", scope=str(scope or "")) if scope else MissingScopeError


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <key>`; `request.auth` is the key."""

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        secret = bearer_token(request)
        if secret is None:
            return None
        key = api_key_admit(secret)
        return key.user, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class BrowserAuthentication(SessionAuthentication):
    """The session cookie of a signed-in browser; unsafe methods need the CSRF token."""


def request_user(request: HttpRequest, *, scope: KeyScope | None) -> tuple[User, ApiKey | None]:
    """The user of a key with this scope, and the key; or the user of a session.

    Raises NotAuthenticatedError, MissingScopeError, RateLimitedError.
    """
    secret = bearer_token(request)
    if secret is not None:
        key = api_key_admit(secret)
        scope_require(key, scope)
        return key.user, key
    return _session_user(request), None


def require_known(request: HttpRequest) -> None:
    """Raise NotAuthenticatedError for strangers. Any valid key will do, and the request is not counted."""
    secret = bearer_token(request)
    if secret is None:
        _session_user(request)
    else:
        api_key_get(secret)


def _session_user(request: HttpRequest) -> User:
    if isinstance(request.user, User) and request.user.is_active:
        return request.user
    raise NotAuthenticatedError


def page(view: Callable[Concatenate[HttpRequest, Scope, P], HttpResponseBase]) -> View:
    """A view for signed-in people that gets their scope; what they may not see is a 404 page."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, scope_for(signed_in(request)), *args, **kwargs)
        except NotFoundError as error:
            raise Http404(error.message) from error
        except (NotAllowedError, MissingRightError) as error:
            raise PermissionDenied(error_message(error)) from error

    return cast(View, login_required(wrapped))


def signed_in(request: HttpRequest) -> User:
    """The user of a view behind `page`."""
    return cast(User, request.user)
