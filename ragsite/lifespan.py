"""Start and stop of a web process."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

from django.db import Error as DatabaseError
from django.db import connections
from redis.exceptions import RedisError

from chat.answering.rehearsal import rehearse, rehearse_searches
from chat.concurrency import redis_client
from chat.concurrency.admission import close_places
from chat.concurrency.open_sockets import close_open_sockets
from chat.turns.lifecycle import turns_shutdown
from chat.turns.message_store import turns_sweep
from chat.turns.stream_hub import close_hub
from knowledge import model_registry
from knowledge.model_setup import is_file_loading
from knowledge.services.model_tests import models_test_untested
from ragsite.env import env
from ragsite.garbage import freeze_loaded
from ragsite.warm_pages import warm_pages
from ragsite.web_server import is_complete, mark_ready

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0  # at a model that is being loaded

_preparation: threading.Thread | None = None


async def start_up() -> None:
    """Load models and pages, and mark turns that an earlier process left behind.

    One of several web processes returns when that is done: it listens afterwards, and until then the others answer.
    """
    global _preparation  # noqa: PLW0603 (one per process, as the event loop has one start)
    _preparation = threading.Thread(target=_prepare, name="start-up", daemon=True)
    _preparation.start()
    if env.PROMETHEUS_MULTIPROC_DIR is not None:
        await asyncio.to_thread(_preparation.join)
        mark_ready(env.PROMETHEUS_MULTIPROC_DIR)


def is_preparing() -> bool:
    """Whether this or, at the start of all, another web process still loads the models."""
    if _preparation is not None and _preparation.is_alive():
        return True
    return not is_complete(env.PROMETHEUS_MULTIPROC_DIR, env.WEB_PROCESSES)


async def shut_down() -> None:
    """Waits for running turns and marks those that cannot end as interrupted."""
    await turns_shutdown()
    await close_hub()
    await close_places()
    await close_open_sockets()
    await redis_client.close()


def _test_models() -> None:
    """Beside the start: a server that does not answer takes its time. A model file is loaded first."""
    try:
        models_test_untested()
        if is_file_loading():
            while is_file_loading():
                time.sleep(LOOK_SECONDS)
            models_test_untested()
    except Exception:
        logger.exception("the language models could not be tested")
    finally:
        connections.close_all()


def _prepare() -> None:
    try:
        turns_sweep()
    except (DatabaseError, RedisError):
        logger.exception("turns of an earlier process could not be marked")
    finally:
        connections.close_all()
    threading.Thread(target=_test_models, name="model-tests", daemon=True).start()
    try:
        model_registry.warm()
        rehearse()
    except Exception:
        logger.exception("the models could not be loaded in advance; the first question loads them")
    try:
        rehearse_searches()
    except Exception:
        logger.exception("the searches could not be rehearsed; the first question of each connection takes longer")
    try:
        warm_pages()
    except Exception:
        logger.exception("the pages could not be prepared; the first reader of each waits for it")
    freeze_loaded()
