"""Where people are signed in, and ending it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone

from accounts.access_events import Access, access_ended_publish
from accounts.compiled_queries import CompiledQuery
from accounts.errors import NotFoundError
from accounts.models import ApiKey, User
from accounts.services import audit_record
from accounts.sessions import session_reference
from accounts.sign_in.models import BrowserSession

MAX_AGENT = 300
# The first that matches counts: Edge and Chrome name those before them, too.
PROGRAMS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "HarmonyOS": "HarmonyOS",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}

SessionsEnd = Callable[[User], int]
_others_end: list[SessionsEnd] = []  # of other apps
OVER = datetime.min.replace(tzinfo=UTC)  # the end of an access that holds no longer
_SESSION_END = CompiledQuery(
    lambda session, person: BrowserSession.objects.filter(
        reference=session, user_id=person, user__is_active=True
    ).values_list("expire_date", flat=True)[:1],
    session=str,
    person=int,
)
_KEY_END = CompiledQuery(
    lambda key, person: ApiKey.objects.filter(
        Q(user__service_owner=None) | Q(user__service_owner__is_active=True),
        pk=key,
        user_id=person,
        user__is_active=True,
        revoked=None,
    ).values_list("expires", flat=True)[:1],
    key=int,
    person=int,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedInPlace:
    """One line of "Where you are signed in"."""

    reference: str
    browser: str
    address: str
    last_seen: datetime
    is_current: bool


def sessions_of(user: User, *, current: str) -> list[SignedInPlace]:
    """Living sessions of a person, the one that asks first, then the latest."""
    rows = BrowserSession.objects.filter(user=user, expire_date__gt=timezone.now()).order_by("-last_seen")
    places = [
        SignedInPlace(
            reference=row.reference,
            browser=browser_name(row.agent),
            address=row.address,
            last_seen=row.last_seen,
            is_current=row.reference == current,
        )
        for row in rows
    ]
    return sorted(places, key=lambda place: not place.is_current)


def browser_name(agent: str) -> str:
    """Program and system of a User-Agent header, for people; its beginning where neither is known."""
    names = [next((name for part, name in words.items() if part in agent), "") for words in (PROGRAMS, SYSTEMS)]
    return " · ".join(filter(None, names)) or agent[:40]


def current_reference(request: HttpRequest) -> str:
    """The session of a request."""
    return session_reference(request.session.session_key)


@transaction.atomic
def session_revoke(*, user: User, reference: str, actor: User) -> None:
    """End one session at once, with its sockets and streams. Raises NotFoundError."""
    deleted, _ = BrowserSession.objects.filter(user=user, reference=reference).delete()
    if not deleted:
        raise NotFoundError("session")
    access_ended_publish(user_id=user.pk, session=reference)
    audit_record(actor=actor, action="session.revoke", target=user.username)


@transaction.atomic
def session_end(*, user: User, reference: str) -> None:
    """After signing out: what the session had opened ends, too."""
    access_ended_publish(user_id=user.pk, session=reference)
    audit_record(actor=user, action="sign_in.out", target=user.username)


def ends_with_sessions(end: SessionsEnd) -> SessionsEnd:
    """Call this, too, when the sessions of a person are ended: for sessions that are none of a browser."""
    if end not in _others_end:
        _others_end.append(end)
    return end


@transaction.atomic
def sessions_end(*, user: User, actor: User, except_sessions: Collection[str] = (), with_keys: bool = False) -> int:
    """End all sessions of a person but some; `with_keys`: open streams of keys, too. Returns how many there were."""
    rows = BrowserSession.objects.filter(user=user).exclude(reference__in=except_sessions)
    ended, _ = rows.delete()
    ended += sum(end(user) for end in _others_end)
    access_ended_publish(user_id=user.pk, except_sessions=except_sessions, with_keys=with_keys)
    if ended:
        audit_record(actor=actor, action="session.end_all", target=user.username, sessions=ended)
    return ended


def access_end(access: Access) -> datetime | None:
    """Until when it holds as things stand: a moment of the past where it is over, None where it has no end.

    The session has to be there and not to have expired, a key not to be revoked or expired, the person to be active.
    """
    if access.session:
        return _SESSION_END.first(session=access.session, person=access.user_id) or OVER
    if access.key:
        row = _KEY_END(key=access.key, person=access.user_id)
        return row[0] if row else OVER
    return None if User.objects.filter(pk=access.user_id, is_active=True).exists() else OVER


def sessions_purge() -> int:
    """Delete sessions that have expired; returns how many."""
    return BrowserSession.objects.filter(expire_date__lt=timezone.now()).delete()[0]
