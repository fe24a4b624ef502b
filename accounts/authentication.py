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
from accounts.errors import NotAllowedError, NotAuthenticatedError, NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import api_key_user, scope_for


def bearer_token(request: HttpRequest) -> str | None:
    """The key of an `Authorization: Bearer` header; None if there is no such header."""
    kind, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else None


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <key>`."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        key = bearer_token(request)
        return None if key is None else (api_key_user(key), None)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class BrowserAuthentication(SessionAuthentication):
    """The session cookie of a signed-in browser; unsafe methods need the CSRF token."""


def request_user(request: HttpRequest) -> User:
    """The user of a key or of a session. Raises NotAuthenticatedError."""
    key = bearer_token(request)
    if key is not None:
        return api_key_user(key)
    if isinstance(request.user, User) and request.user.is_active:
        return request.user
    raise NotAuthenticatedError


P = ParamSpec("P")
View = Callable[..., HttpResponseBase]


def page(view: Callable[Concatenate[HttpRequest, Scope, P], HttpResponseBase]) -> View:
    """A view for signed-in people that gets their scope; what they may not see is a 404 page."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, scope_for(signed_in(request)), *args, **kwargs)
        except NotFoundError as error:
            raise Http404(error.message) from error
        except NotAllowedError as error:
            raise PermissionDenied(error_message(error)) from error

    return cast(View, login_required(wrapped))


def signed_in(request: HttpRequest) -> User:
    """The user of a view behind `page`."""
    return cast(User, request.user)
