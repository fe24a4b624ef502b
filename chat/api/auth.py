"""Authentication of API calls by API key or browser session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from django.http import HttpRequest
from ninja.security.http import HttpAuthBase
from ninja.utils import check_csrf

from accounts.access_events import Access
from accounts.authentication import bearer_token, request_user
from accounts.key_scopes import KeyScope
from accounts.models import ApiKey, User
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.sessions import session_reference
from chat.concurrency.executors import run_db
from chat.errors import CsrfFailedError


@dataclass(frozen=True, slots=True)
class Caller:
    """The asker with the rights of this moment."""

    user: User
    scope: Scope
    key: ApiKey | None = None  # None: a browser

    @property
    def key_tag(self) -> str:
        """The tag under which questions of the key are counted; "" for a browser."""
        return "" if self.key is None else str(self.key.pk)


class CallerAuth(HttpAuthBase):
    """Sets `request.auth` to a Caller. Raises NotAuthenticatedError; MissingScopeError for a key that does not have
    `scope`; CsrfFailedError for unsafe calls of a browser.

    Runs in our own threads, so that a streaming request holds no database connection.
    """

    openapi_scheme = "bearer"

    def __init__(self, scope: KeyScope | None = None) -> None:
        super().__init__()
        self.scope = scope

    async def __call__(self, request: HttpRequest) -> Caller:
        caller = await run_db(_caller, request, self.scope)  # first: nobody gets 401, with or without a token
        if bearer_token(request) is None and check_csrf(request) is not None:
            raise CsrfFailedError
        return caller


def _caller(request: HttpRequest, scope: KeyScope | None) -> Caller:
    user, key = request_user(request, scope=scope)
    _ = user.tenant  # read here, where there is a connection
    return Caller(user, scope_for(user), key)


def caller_of(request: HttpRequest) -> Caller:
    """The caller of an authenticated request."""
    return cast(Caller, request.auth)  # type: ignore[attr-defined]


def access_of(caller: Caller, session_key: str | None = None) -> Access:
    """The access (key or browser session) that a stream of the caller depends on."""
    if caller.key is not None:
        return Access(user_id=caller.user.pk, key=caller.key.pk)
    return Access(user_id=caller.user.pk, session=session_reference(session_key))
