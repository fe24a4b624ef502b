"""API keys and browser sessions for Django REST framework."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from accounts.errors import NotAuthenticatedError
from accounts.models import User
from accounts.selectors import api_key_user


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
