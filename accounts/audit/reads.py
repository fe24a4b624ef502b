"""Reading of confidential things is recorded, too."""

from __future__ import annotations

import logging
from typing import Literal

from redis.exceptions import RedisError

from accounts.audit.events import event_add
from accounts.models import ClearanceLevel, User
from accounts.redis_connection import connection

logger = logging.getLogger(__name__)

RECORDED_FROM = ClearanceLevel.CONFIDENTIAL
REPEAT_SECONDS = 600  # a page has pictures and parts: opening it is one view


def read_record(
    *, user_id: int, kind: Literal["view", "download"], document_id: int, title: str, clearance: int, tenant_id: int
) -> None:
    """Record that somebody has opened a document of clearance 2 or more; within ten minutes once a kind."""
    if clearance < RECORDED_FROM or not _is_first(f"audit:{kind}:{user_id}:{document_id}"):
        return
    event_add(
        actor=User.objects.get(pk=user_id),
        tenant_id=tenant_id,
        action=f"document.{kind}",
        target=title,
        data={"document": document_id, "clearance": clearance},
    )


def _is_first(key: str) -> bool:
    try:
        return bool(connection().set(key, 1, nx=True, ex=REPEAT_SECONDS))
    except RedisError as error:  # rather twice than not at all
        logger.warning("repeated views are recorded each time: %s", error)
        return True
