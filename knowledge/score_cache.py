"""Scores of rerankers in Redis, so that a question asked again, or worded the same by others, costs no model (D5)."""

from __future__ import annotations

import logging
import math
import struct
from collections.abc import Mapping, Sequence

from redis import Redis, RedisError

logger = logging.getLogger(__name__)

TTL_SECONDS = 6 * 3600
TIMEOUT_SECONDS = 0.5
_NUMBER = struct.Struct("<d")


class RedisScoreCache:
    """Implements ScoreCache of ragcore.reranking.pairs: a hash for each question, which expires as a whole.

    Without Redis nothing is known, and nothing fails.
    """

    def __init__(self, url: str, *, ttl_seconds: int = TTL_SECONDS) -> None:
        self._redis: Redis = Redis.from_url(url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS)
        self._ttl_seconds = ttl_seconds

    def get(self, question: str, texts: Sequence[str]) -> list[float | None]:
        """Known scores in the order of the digests."""
        try:
            return [_number(value) for value in self._redis.hmget(_key(question), list(texts))]
        except RedisError as error:
            logger.warning("scores of the reranker cannot be read: %s", error)
            return [None] * len(texts)

    def put(self, question: str, scores: Mapping[str, float]) -> None:
        """Keep scores by digest."""
        if not scores:
            return
        key = _key(question)
        try:
            with self._redis.pipeline() as pipeline:
                pipeline.hset(key, mapping={text: _NUMBER.pack(score) for text, score in scores.items()})
                pipeline.expire(key, self._ttl_seconds)
                pipeline.execute()
        except RedisError as error:
            logger.warning("scores of the reranker cannot be kept: %s", error)


def _key(question: str) -> str:
    return f"rerank:{question}"


def _number(value: bytes | str | None) -> float | None:
    """None for what is missing or was not written by us."""
    if not isinstance(value, bytes) or len(value) != _NUMBER.size:
        return None
    number = float(_NUMBER.unpack(value)[0])
    return number if math.isfinite(number) else None
