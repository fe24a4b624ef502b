"""From a right password to a session: code, new password, second factor, each where it is wanted.

Nobody is signed in before the last step. What is known until then stands in the session, for a quarter of an hour.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from accounts.audit.events import event_add
from accounts.languages import interface_language
from accounts.models import User
from accounts.services import audit_record, tenant_ensure_default
from accounts.sessions import CLIENT
from accounts.sign_in.browsers import browser_remember, client_address
from accounts.sign_in.second_factor import has_second_factor, needs_second_factor
from accounts.sign_in.sessions import MAX_AGENT

PENDING = "_sign_in"
MAX_SECONDS = 15 * 60

Step = Literal["code", "password", "setup"]
PAGES: dict[Step, str] = {
    "code": "accounts:sign_in_code",
    "password": "accounts:sign_in_password",  # nosec B105 - the name of a page
    "setup": "accounts:sign_in_setup",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """Somebody whose password or identity was right, on the way to a session."""

    user_id: int
    backend: str
    method: str  # for the audit log: password, oidc, ldap
    next_url: str
    since: float
    password_hash: str  # changes when the password is changed elsewhere
    has_code: bool = False  # a second factor was given, here or to the provider


def sign_in_begin(
    request: HttpRequest, user: User, *, method: str, next_url: str = "", has_code: bool = False
) -> HttpResponse:
    """Go on with the first step that is wanted, or sign in."""
    request.session.cycle_key()  # who knew the key of the anonymous session must not share what comes
    pending = PendingSignIn(
        user_id=user.pk,
        backend=user.backend,
        method=method,
        next_url=next_url,
        since=time.time(),
        password_hash=user.get_session_auth_hash(),
        has_code=has_code,
    )
    return sign_in_continue(request, user, pending)


def pending_of(request: HttpRequest) -> tuple[User, PendingSignIn] | None:
    """Who is on the way in; None after MAX_SECONDS, and when the person or password has changed meanwhile."""
    value: Any = request.session.get(PENDING)
    if not value or time.time() - value["since"] > MAX_SECONDS:
        return None
    pending = PendingSignIn(**value)
    user = User.objects.select_related("tenant").filter(pk=pending.user_id, is_active=True, is_service=False).first()
    if user is None or not constant_time_compare(user.get_session_auth_hash(), pending.password_hash):
        return None
    user.backend = pending.backend
    return user, pending


def wanted_step(user: User, pending: PendingSignIn) -> Step | None:
    """What is still missing; the proof of identity comes before anything is changed."""
    if not pending.has_code and has_second_factor(user):
        return "code"
    if user.must_change_password and pending.method == "password":
        return "password"
    if not pending.has_code and needs_second_factor(user):
        return "setup"
    return None


def sign_in_continue(
    request: HttpRequest, user: User, pending: PendingSignIn, *, has_code: bool | None = None
) -> HttpResponse:
    """After a step: to the next one, or signed in and to the page that was wanted."""
    if has_code is not None:
        pending = replace(pending, has_code=has_code)
    pending = replace(pending, password_hash=user.get_session_auth_hash())
    step = wanted_step(user, pending)
    if step is not None:
        request.session[PENDING] = asdict(pending)
        return redirect(PAGES[step])
    request.session.pop(PENDING, None)
    is_first = user.last_login is None
    login(request, user, backend=pending.backend)
    request.session[CLIENT] = {
        "address": client_address(request),
        "agent": request.headers.get("User-Agent", "")[:MAX_AGENT],
    }
    audit_record(
        actor=user,
        action="sign_in.done",
        target=user.username,
        method=pending.method,
        second_factor=pending.has_code,
        address=client_address(request),
    )
    response = redirect(_landing(user, pending, is_first=is_first))
    browser_remember(request, response, user)
    _speak(request, response, user)
    return response


def _speak(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Pages in the language of the person, unless another was chosen in this browser."""
    language = interface_language(user.locale)
    if language is not None and settings.LANGUAGE_COOKIE_NAME not in request.COOKIES:
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            language,
            secure=settings.LANGUAGE_COOKIE_SECURE,
            httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
            samesite=cast(Literal["Lax"], settings.LANGUAGE_COOKIE_SAMESITE),
        )


def _landing(user: User, pending: PendingSignIn, *, is_first: bool) -> str:
    """The page that was wanted; where none was, staff begin their first day in the administration."""
    home = resolve_url(settings.LOGIN_REDIRECT_URL)
    if pending.next_url not in ("", home):
        return pending.next_url
    return reverse("admin:index") if is_first and user.is_staff else home


def sign_in_failed(request: HttpRequest, *, username: str, reason: str) -> None:
    """Note a failed attempt with the tenant of the name; a name that nobody has may be a password and is left out."""
    username = username.replace("\x00", "")  # which the database does not take
    user = User.objects.filter(username=username).first()
    event_add(
        actor=None,
        tenant_id=user.tenant_id if user else tenant_ensure_default().pk,
        action="sign_in.fail",
        target=username if user else "",
        data={"reason": reason, "address": client_address(request)},
    )
