"""The cookie by which a browser is known again: it signs nobody in, it only spares its owner the delays of others.

The idea is that of the OWASP "device cookies": whoever guesses from outside cannot make a name wait in the browsers
that its owner uses. The cookie is signed and holds a random id and digests of the names that have signed in there.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.crypto import salted_hmac

from accounts.models import User

COOKIE = "rs_browser"
SALT = "accounts.sign_in.browser"
MAX_AGE_SECONDS = 400 * 24 * 3600  # the longest that browsers keep a cookie
MAX_NAMES = 10


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser that somebody has signed in from."""

    id: str
    names: tuple[str, ...]

    def knows(self, username: str) -> bool:
        """Whether this name has signed in here."""
        return _digest(username) in self.names


def browser_of(request: HttpRequest) -> Browser | None:
    """The browser by its cookie; None for a new one and for a cookie that is not ours."""
    try:
        value: Any = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=MAX_AGE_SECONDS)
        return Browser(str(value["id"]), tuple(map(str, value["names"])))
    except (signing.BadSignature, KeyError, TypeError):
        return None


def browser_remember(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Note in the browser that this person has signed in with it."""
    browser = browser_of(request) or Browser(secrets.token_urlsafe(16), ())
    name = _digest(user.get_username())
    names = (name, *(other for other in browser.names if other != name))[:MAX_NAMES]
    response.set_cookie(
        COOKIE,
        signing.dumps({"id": browser.id, "names": names}, salt=SALT),
        max_age=MAX_AGE_SECONDS,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
        path="/sign-in",
    )


def client_address(request: HttpRequest) -> str:
    """The address of the client; a trusted proxy's word on it has been heard by the server already."""
    return str(request.META.get("REMOTE_ADDR") or "")


def _digest(username: str) -> str:
    return salted_hmac(SALT, username.casefold(), algorithm="sha256").hexdigest()[:24]
