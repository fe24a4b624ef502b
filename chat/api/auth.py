"""Who calls: an API key, or the session of a browser."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import cast

from django.http import HttpRequest
from ninja.security.http import HttpAuthBase
from ninja.utils import check_csrf

from accounts.authentication import bearer_token, request_user
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.errors import CsrfFailedError
from chat.executors import run_db


@dataclass(frozen=True, slots=True)
class Caller:
    """The asker with the rights of this moment."""

    user: User
    scope: Scope
    key: str = ""  # a tag of the API key, by which its questions are counted


class CallerAuth(HttpAuthBase):
    """Sets `request.auth` to a Caller. Raises NotAuthenticatedError; CsrfFailedError for unsafe calls of a browser.

    Runs in our own threads, so that a streaming request holds no database connection.
    """

    openapi_scheme = "bearer"

    async def __call__(self, request: HttpRequest) -> Caller:
        caller = await run_db(_caller, request)  # first: whoever is nobody gets 401, with or without a token
        if bearer_token(request) is None and check_csrf(request) is not None:
            raise CsrfFailedError
        return caller


def _caller(request: HttpRequest) -> Caller:
    user = request_user(request)
    _ = user.tenant  # read here, where there is a connection
    return Caller(user, scope_for(user), key_tag(bearer_token(request)))


def key_tag(key: str | None) -> str:
    """A name for a key that does not tell it; empty for a browser."""
    return sha256(key.encode()).hexdigest()[:16] if key else ""


def caller_of(request: HttpRequest) -> Caller:
    """The caller of an authenticated request."""
    return cast(Caller, request.auth)  # type: ignore[attr-defined]
