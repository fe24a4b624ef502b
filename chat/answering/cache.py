"""The exact answer cache (D17): the same question under the same rights is answered once."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace

from redis.exceptions import RedisError

from chat.answering.context import AnswerContext, profile_key
from chat.answering.grounding import UNCHECKED
from chat.redis_client import client, redis_lock
from chat.types import AnswerRecord
from knowledge.selectors import corpus_epoch, sets_readable
from ragcore.text.normalise import normalise_query

logger = logging.getLogger(__name__)

TTL_SECONDS = 24 * 3600
POLL_SECONDS = (0.02, 0.05, 0.1)  # the last one is repeated
WAIT_SECONDS = 60
UNSHARED = "unshared"  # the first answer is not for others: each request computes its own
UNSHARED_SECONDS = 2
CACHED_STATUSES = frozenset({"answered", "refused", "search_results"})

# How an answer is shown or kept has no part in what it says.
_NOT_IN_KEY = frozenset(
    {"query", "cache", "conversation_id", "tenant_id", "strict", "given", "history", "include_citations"}
    | {"include_inline", "citation_format"}
)


def cache_key(context: AnswerContext, *, understood: str) -> str:
    """Where the answer to this question is kept: everything that it may depend on is part of the key.

    `understood`: the question with its days and people resolved. Users without a profile in the search share their
    answers. Uses the ORM.
    """
    scope, request = context.scope, context.request
    values = asdict(request)
    parts = {
        "question": normalise_query(request.query).casefold(),
        "understood": understood.casefold(),
        "options": {key: values[key] for key in sorted(values.keys() - _NOT_IN_KEY)},
        "tenant": scope.tenant_id,
        "clearance": scope.clearance,
        "readable": sorted(sets_readable(scope=scope).values_list("pk", flat=True)),
        "profile": profile_key(context.profile),
        "history": [asdict(turn) for turn in context.history],
        "epoch": corpus_epoch(scope=scope),
        "configuration": context.config.sha256(),
    }
    return f"answer:{hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()}"


async def through_cache(
    key: str,
    *,
    is_usable: Callable[[AnswerRecord], Awaitable[bool]],
    compute: Callable[[], Awaitable[AnswerRecord]],
    is_stopped: Callable[[], bool] = lambda: False,
) -> tuple[AnswerRecord, bool]:
    """The answer and whether it came from the cache; of several requests at once one computes it, the others wait.

    `is_usable` is asked before a kept answer is given out. Without Redis each request computes its own. A stopped
    request does not wait: `compute` knows how to end.
    """
    deadline, tries = time.monotonic() + WAIT_SECONDS, 0
    while time.monotonic() < deadline and not is_stopped():
        try:
            kept = await client().get(key)
        except RedisError:
            logger.exception("the answer cache cannot be read")
            break
        if kept == UNSHARED:
            break
        if record := await _load_usable(kept, is_usable):
            return record, True
        async with redis_lock(f"{key}:lock", wait_seconds=0) as first:
            if first:
                since = await client().get(key)  # the holder of the lock may have ended since the first look
                if since != kept and (record := await _load_usable(since, is_usable)):
                    return record, True
                return await _compute_and_keep(key, compute), False
        await asyncio.sleep(POLL_SECONDS[min(tries, len(POLL_SECONDS) - 1)])
        tries += 1
    return await compute(), False


async def _load_usable(
    kept: str | bytes | None, is_usable: Callable[[AnswerRecord], Awaitable[bool]]
) -> AnswerRecord | None:
    if kept is None or kept == UNSHARED:
        return None
    record = AnswerRecord.from_json(json.loads(kept))
    return record if await is_usable(record) else None


async def _compute_and_keep(key: str, compute: Callable[[], Awaitable[AnswerRecord]]) -> AnswerRecord:
    """Compute and keep an answer; those who wait learn of a failure, too."""
    kept, seconds = UNSHARED, UNSHARED_SECONDS
    try:
        record = await compute()
        if is_cacheable(record):
            kept, seconds = json.dumps(record.to_json(), ensure_ascii=False), TTL_SECONDS
    finally:
        await asyncio.shield(_keep(key, kept, seconds))
    return record


async def _keep(key: str, value: str, seconds: int) -> None:
    """An answer that cannot be kept is an answer all the same."""
    try:
        await client().set(key, value, ex=seconds)
    except RedisError:
        logger.exception("an answer could not be kept")


def is_cacheable(record: AnswerRecord) -> bool:
    """Whole answers only: a degraded, stopped or unchecked one is worse than the next try."""
    is_unchecked = UNCHECKED in record.metadata.notes
    return record.status in CACHED_STATUSES and not record.metadata.stopped and not is_unchecked


def from_cache(record: AnswerRecord, *, seconds: float) -> AnswerRecord:
    """A kept answer with the figures of this request: nothing was generated, nothing was spent."""
    metadata = replace(
        record.metadata,
        cache="exact",
        total_time=round(seconds, 4),
        rewrite_time=None,
        retrieve_time=None,
        rerank_time=None,
        generate_time=None,
        first_token_time=None,
        stage_times={},
        cost=0.0,
        usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        usage_by_purpose={},
    )
    return replace(record, metadata=metadata)
