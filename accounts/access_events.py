"""Tells all web processes at once that somebody's access has ended; `chat.concurrency.access_watch` listens."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from dataclasses import asdict, dataclass

from django.db import transaction
from redis.exceptions import RedisError

from accounts.redis_connection import connection

logger = logging.getLogger(__name__)

CHANNEL = "access:ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """By what a connection was opened: a session, an API key of the person, or a session of an embedded chat."""

    user_id: int
    session: str = ""  # accounts.sessions.session_reference; empty: not by a session
    key: int = 0  # the id of an API key; 0: not by a key
    embed: int = 0  # the id of a session of an embedded chat, which `session` then names; 0: not by one


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessEnded:
    """One session, one key, all sessions but some, or everything of a person."""

    user_id: int
    session: str = ""  # empty: all
    key: int = 0  # given: this key, and no session
    kept: tuple[str, ...] = ()
    with_keys: bool = False

    def concerns(self, access: Access) -> bool:
        """Whether a connection has to end."""
        if access.user_id != self.user_id:
            return False
        if self.key:
            return access.key == self.key
        if not access.session:
            return self.with_keys
        return self.session in ("", access.session) and access.session not in self.kept


def access_ended_publish(
    *, user_id: int, session: str = "", key: int = 0, except_sessions: Collection[str] = (), with_keys: bool = False
) -> None:
    """Connections that this concerns are closed as soon as the transaction is committed."""
    ended = AccessEnded(user_id=user_id, session=session, key=key, kept=tuple(except_sessions), with_keys=with_keys)
    transaction.on_commit(lambda: _publish(ended))


def _publish(ended: AccessEnded) -> None:
    try:
        connection().publish(CHANNEL, json.dumps(asdict(ended)))
    except RedisError as error:  # listeners check everything again when their connection to Redis is back
        logger.warning("open connections of user %d are not told that they ended: %s", ended.user_id, error)


def access_ended_parse(text: str) -> AccessEnded:
    """A message of the channel."""
    values = json.loads(text)
    return AccessEnded(**{**values, "kept": tuple(values["kept"])})
