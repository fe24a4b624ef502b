"""Sessions of embedded chats: begun by a token, held by a bearer that only the frame knows, never by a cookie."""

from __future__ import annotations

import hashlib
import logging
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone
from redis.exceptions import RedisError

from accounts.access_events import Access, access_ended_publish
from accounts.audit.events import event_add
from accounts.errors import NotAuthenticatedError, NotFoundError, RateLimitedError
from accounts.models import User
from accounts.redis_connection import connection
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.sign_in.sessions import OVER
from accounts.sliding_window import COUNT_OR_WAIT, WINDOW_SECONDS
from chat.embeds.errors import EmbedRefusedError
from chat.embeds.tokens import Vouched, token_read
from chat.models import Embed, EmbedKey, EmbedSession
from knowledge.selectors import sets_readable

logger = logging.getLogger(__name__)

BEARER_PREFIX = "rse_"
REFUSALS_PER_MINUTE = 60  # from one address that leave a trace; whoever has a good token gets in all the same
SESSIONS_PER_MINUTE = 30  # of one person
KEPT_AFTER = timedelta(minutes=15)  # longer than any token is valid: it stays known as used


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A new session with its bearer, which is not stored and cannot be shown again."""

    session: EmbedSession
    bearer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who asks in an embedded chat, with the rights of this moment: the person's own, in the sets of the chat."""

    session: EmbedSession
    user: User
    scope: Scope


def embed_get(code: str) -> Embed:
    """The chat of this code, if it is enabled. Raises NotFoundError."""
    embed = Embed.objects.select_related("tenant").prefetch_related("keys").filter(code=code, is_active=True).first()
    if embed is None:
        raise NotFoundError("embed")
    return embed


def session_begin(*, embed: Embed, token: str, origin: str, site_origin: str, address: str) -> Begun:
    """Let the person in for whom a page vouches. Raises EmbedRefusedError, RateLimitedError.

    `origin`: of the page around the frame, as the frame has seen it; `site_origin`: ours, for previews.
    """
    try:
        return _begin(embed, token, origin, site_origin)
    except EmbedRefusedError as error:
        _count(f"embed:refused:{embed.pk}:{address}", REFUSALS_PER_MINUTE)
        _note_refusal(embed, error)
        raise


def _begin(embed: Embed, token: str, origin: str, site_origin: str) -> Begun:
    vouched = token_read(embed=embed, token=token)
    allowed = embed.origins if vouched.key is not None else [site_origin]
    if origin not in allowed:
        raise EmbedRefusedError("origin", origin=origin[:100])
    user = _person(embed, vouched)
    if not readable_sets(embed=embed, scope=scope_for(user)):
        raise EmbedRefusedError("sets")
    _count(f"embed:sessions:{user.pk}", SESSIONS_PER_MINUTE)
    bearer = BEARER_PREFIX + secrets.token_urlsafe(32)
    now = timezone.now()
    try:
        with transaction.atomic():  # the constraint decides, also between two requests with the same token
            session = EmbedSession.objects.create(
                embed=embed,
                key=vouched.key,
                user=user,
                digest=bearer_digest(bearer),
                token_digest=vouched.digest,
                origin=origin,
                expires=now + embed.session_length,
            )
            Embed.objects.filter(pk=embed.pk).update(last_used=now)
            if vouched.key is not None:
                EmbedKey.objects.filter(pk=vouched.key.pk).update(last_used=now)
            event_add(actor=user, action="embed.enter", target=embed.name, data={"origin": origin})
    except IntegrityError:
        raise EmbedRefusedError("used") from None
    return Begun(session=session, bearer=bearer)


def session_visitor(bearer: str) -> Visitor:
    """Who this bearer stands for at this moment. Raises NotAuthenticatedError where nothing of it holds any more."""
    row = (
        EmbedSession.objects.select_related("embed", "user__tenant")
        .filter(_holds(), digest=bearer_digest(bearer))
        .first()
    )
    if row is None or (row.key_id is not None and row.origin not in row.embed.origins):
        raise NotAuthenticatedError
    scope = scope_for(row.user)
    sets = readable_sets(embed=row.embed, scope=scope)
    return Visitor(session=row, user=row.user, scope=scope.within(sets=sets, embed=row.embed_id))


def session_access(session: EmbedSession) -> Access:
    """What a connection of this session depends on."""
    return Access(user_id=session.user_id, session=session.reference, embed=session.pk)


def session_access_end(access: Access) -> datetime:
    """Until when it holds as things stand; a moment of the past where it is over."""
    rows = EmbedSession.objects.filter(_holds(), pk=access.embed, user_id=access.user_id)
    return rows.values_list("expires", flat=True).first() or OVER


def session_end(session: EmbedSession) -> None:
    """The frame goes on with another session, or has left. The token stays used."""
    EmbedSession.objects.filter(pk=session.pk, ended=None).update(ended=timezone.now())
    access_ended_publish(user_id=session.user_id, session=session.reference)


def sessions_end_of(user: User) -> int:
    """All of a person: where their other sessions end, too. Returns how many were open."""
    return EmbedSession.objects.filter(user=user, ended=None, expires__gt=timezone.now()).update(ended=timezone.now())


def sessions_end_in(embed: Embed, *, key: EmbedKey | None = None) -> None:
    """All of a chat, or those that a key has begun."""
    rows = EmbedSession.objects.filter(embed=embed, ended=None, expires__gt=timezone.now())
    rows = rows.filter(key=key) if key is not None else rows
    sessions = list(rows)
    EmbedSession.objects.filter(pk__in=[session.pk for session in sessions]).update(ended=timezone.now())
    for session in sessions:
        access_ended_publish(user_id=session.user_id, session=session.reference)


def sessions_expire() -> int:
    """Delete sessions that are over and whose tokens cannot be used again; how many."""
    return EmbedSession.objects.filter(
        Q(expires__lt=timezone.now()) | Q(ended__isnull=False), created__lt=timezone.now() - KEPT_AFTER
    ).delete()[0]


def readable_sets(*, embed: Embed, scope: Scope) -> frozenset[int]:
    """Ids of the chat's sets that the person may read at this moment."""
    of_chat = embed.sets.order_by().values("pk")
    rows = sets_readable(scope=scope).filter(pk__in=of_chat, tenant_id=embed.tenant_id)
    return frozenset(rows.order_by().values_list("pk", flat=True))


def bearer_digest(bearer: str) -> str:
    """As stored. Bearers have 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(bearer.encode("utf-8", "replace")).hexdigest()


def _holds() -> Q:
    """A session that is not over, of an enabled chat, whose person is active and of its tenant."""
    return Q(
        ended=None,
        expires__gt=timezone.now(),
        embed__is_active=True,
        user__is_active=True,
        user__is_service=False,
        user__tenant=F("embed__tenant"),
    )


def _person(embed: Embed, vouched: Vouched) -> User:
    """The one active person of the chat's tenant whom the subject names; nobody where it could be two."""
    subject, kind = vouched.subject, embed.subject
    if vouched.key is None:
        condition = Q(pk=int(subject)) if subject.isdecimal() and len(subject) < 18 else Q(pk=None)
    elif kind == Embed.Subject.USERNAME:
        condition = Q(username=subject)
    elif kind == Embed.Subject.EMAIL:
        condition = Q(email__iexact=subject)
    elif kind == Embed.Subject.DIRECTORY:
        condition = Q(directory_entry__external_id=subject, directory_entry__removed_at=None)
    else:
        condition = Q(identities__subject=subject, identities__issuer=settings.OIDC_ISSUER)
    people = User.objects.select_related("tenant").filter(condition, tenant_id=embed.tenant_id)
    active = list(people.filter(is_active=True, is_service=False).distinct()[:2])
    if len(active) != 1:
        raise EmbedRefusedError("person")
    return active[0]


def _note_refusal(embed: Embed, error: EmbedRefusedError) -> None:
    """For the page of the administrators, who look for what is wrong; the log has no words of the token."""
    logger.info("embedded chat %s: refused, %s", embed.code, error.reason)
    Embed.objects.filter(pk=embed.pk).update(last_refused=timezone.now(), last_reason=error.reason)


def _count(name: str, limit: int) -> None:
    """Count one act of the last minute. Raises RateLimitedError; Redis that is away counts nothing."""
    try:
        wait = int(connection().eval(COUNT_OR_WAIT, 1, name, WINDOW_SECONDS * 1_000_000, 1, limit)[0])  # type: ignore[index]
    except RedisError as error:
        logger.warning("an embedded chat is not counted: %s", error)
        return
    if wait > 0:
        raise RateLimitedError(retry_after_seconds=ceil(wait / 1_000_000), requests_per_minute=limit)
