"""Start and stop of a web process."""

from __future__ import annotations

import logging
import threading

from django.db import Error as DatabaseError
from django.db import connections
from redis.exceptions import RedisError

from chat import redis_client
from chat.turns.lifecycle import turns_shutdown
from chat.turns.message_store import turns_sweep
from chat.turns.stream_hub import close_hub
from knowledge import model_registry

logger = logging.getLogger(__name__)


_preparation: threading.Thread | None = None


def start_up() -> None:
    """Begin to load the models, and mark turns that an earlier process left behind."""
    global _preparation  # noqa: PLW0603 (one per process, as the event loop has one start)
    _preparation = threading.Thread(target=_prepare, name="start-up", daemon=True)
    _preparation.start()


def is_preparing() -> bool:
    """Whether the models are still being loaded; until then a question would wait for them."""
    return _preparation is not None and _preparation.is_alive()


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
        model_registry.warm()
    except Exception:
        logger.exception("the models could not be loaded in advance; the first question loads them")
