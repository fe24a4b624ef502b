"""Limit the concurrent requests of background work to a model server, over all processes.

A slot is a member of a sorted set in Redis with the time when it expires, so the slot of a killed worker becomes free
by itself. Only ingestion waits for slots; people's questions do not.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from django.conf import settings
from redis import Redis

from knowledge.model_registry import judge_model, light_model
from knowledge.model_setup import setup_now, setup_refresh
from ragcore.llm.client import with_short_retries
from ragcore.llm.model_profile import profile_of
from ragcore.llm.request_fields import with_fields
from ragcore.model_limits import limits_of
from ragcore.ports import ChatMessage, ChatModel, GenerationEvent

LEASE_SECONDS = 240.0  # longer than a request may be silent; one that flows renews it
RENEW_SECONDS = 60.0
WAIT_SECONDS = (0.05, 0.25)  # between two tries, random, so that waiting workers do not try at the same time

TAKE = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
"""


def embedding_slot(*, alive: Callable[[], None]) -> AbstractContextManager[None]:
    """Hold a slot at the embedding endpoint; none is needed if vectors are computed in this process."""
    return model_slot("embedding", alive=alive) if setup_now().embedder.is_remote else nullcontext()


def background_model(*, is_patient: bool = True) -> ChatModel | None:
    """The configured language model for background work, or None. Unless it is patient, it retries once and soon."""
    setup_refresh()
    model = light_model()
    return None if model is None else SlottedChatModel(model if is_patient else with_short_retries(model))


def background_json_model() -> ChatModel | None:
    """The same, not patient, for work that needs JSON; None also where the model's profile says that it writes none."""
    model = background_model(is_patient=False)
    return None if model is None or profile_of(model).json == "none" else model


def background_judge() -> ChatModel | None:
    """The language model for judging, for background work; None where none of its own is configured.

    It retries once and soon: rules decide where it does not answer.
    """
    setup_refresh()
    model = judge_model()
    return None if model is None else SlottedChatModel(with_short_retries(model))


class SlottedChatModel:
    """A ChatModel that sends requests only while it holds a slot."""

    def __init__(self, model: ChatModel) -> None:
        self.name = model.name
        self.limits = limits_of(model)
        self.profile = profile_of(model)
        self._model = model

    def with_fields(self, fields: Mapping[str, Any]) -> SlottedChatModel:
        """The same model with further fields of its requests."""
        return SlottedChatModel(with_fields(self._model, fields))

    async def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float, max_tokens: int
    ) -> AsyncIterator[GenerationEvent]:
        """See ports.ChatModel."""
        token = uuid.uuid4().hex
        while not await asyncio.to_thread(_take, "llm", token):  # noqa: ASYNC110 (another process gives it back)
            await asyncio.sleep(_pause())
        renewed = time.monotonic()
        try:
            async for event in self._model.stream(messages, temperature=temperature, max_tokens=max_tokens):
                yield event
                if time.monotonic() - renewed > RENEW_SECONDS:
                    renewed = time.monotonic()
                    await asyncio.to_thread(_renew, "llm", token)
        finally:
            await asyncio.shield(asyncio.to_thread(_give, "llm", token))


@contextmanager
def model_slot(endpoint: str, *, alive: Callable[[], None]) -> Iterator[None]:
    """Wait for a slot and hold it. `alive` is called meanwhile, and may end the wait by raising."""
    token = uuid.uuid4().hex
    while not _take(endpoint, token):
        alive()
        time.sleep(_pause())
    try:
        yield
    finally:
        _give(endpoint, token)


def _pause() -> float:
    return random.uniform(*WAIT_SECONDS)  # noqa: S311 (not a secret)


def _take(endpoint: str, token: str) -> bool:
    return bool(_redis().eval(TAKE, 1, _key(endpoint), token, settings.MODEL_CONCURRENCY, int(LEASE_SECONDS)))


def _renew(endpoint: str, token: str) -> None:
    now = int(_redis().time()[0])  # type: ignore[index]  # of the synchronous client
    _redis().zadd(_key(endpoint), {token: now + LEASE_SECONDS}, xx=True)
    _redis().expire(_key(endpoint), int(LEASE_SECONDS))


def _give(endpoint: str, token: str) -> None:
    _redis().zrem(_key(endpoint), token)


def _key(endpoint: str) -> str:
    return f"model-slots:{endpoint}"


@cache
def _redis() -> Redis:
    return Redis.from_url(settings.REDIS_URL)
