"""Start and stop of a web process."""

from __future__ import annotations

import logging
import threading

from django.db import Error as DatabaseError
from django.db import connections
from redis.exceptions import RedisError

from chat import redis_client
from chat.services import turns_shutdown, turns_sweep
from chat.streaming import close_hub
from knowledge import engines

logger = logging.getLogger(__name__)


def start_up() -> None:
    """Begin to load the models, and mark turns that an earlier process left behind; requests need not wait for it."""
    threading.Thread(target=_prepare, name="start-up", daemon=True).start()


async def shut_down() -> None:
    """Let running turns end, tell the readers of those that cannot."""
    await turns_shutdown()
    await close_hub()
    await redis_client.close()


def _prepare() -> None:
    try:
        turns_sweep()
    except (DatabaseError, RedisError):
        logger.exception("turns of an earlier process could not be marked")
    finally:
        connections.close_all()
    try:
        engines.warm()
    except Exception:
        logger.exception("the models could not be loaded in advance; the first question loads them")
