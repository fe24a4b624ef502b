"""What surrounds the tools in a process that serves nothing else."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chat import redis_client
from chat.turns.lifecycle import turns_shutdown
from chat.turns.stream_hub import close_hub
from knowledge import model_registry

logger = logging.getLogger(__name__)


@asynccontextmanager
async def prepared() -> AsyncIterator[None]:
    """Begin to load the models, so that the first call does not wait for all of it; let running turns end."""
    threading.Thread(target=_load, name="start-up", daemon=True).start()
    try:
        yield
    finally:
        await turns_shutdown()
        await close_hub()
        await redis_client.close()


def _load() -> None:
    try:
        model_registry.warm()
    except Exception:
        logger.exception("the models could not be loaded in advance; the first call loads them")
