"""Conversation state in Redis and the part of it that a prompt has room for."""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace

from django.utils import timezone
from redis.exceptions import RedisError

from chat.branches import branches_of
from chat.concurrency.executors import run_db
from chat.concurrency.redis_client import client, redis_lock
from chat.errors import ConversationBusyError
from chat.models import Conversation, Message
from ragcore.ports import TokenCounter
from ragcore.types.answering import Turn

logger = logging.getLogger(__name__)

IDLE_SECONDS = 2 * 3600
KEPT_TURNS = 50
HISTORY_TOKENS = 4000
WAIT_SECONDS = 60
_MARKER = re.compile(r"(?<!\s)\s*\[\d{1,3}\]")


def session_key(*, user_id: int, conversation_id: uuid.UUID) -> str:
    return f"session:{user_id}:{conversation_id}"


@asynccontextmanager
async def session_turn(*, user_id: int, conversation_id: uuid.UUID) -> AsyncIterator[None]:
    """Turns of one conversation run one after another. Raises ConversationBusyError after a minute.

    Without Redis nothing keeps them apart: an answer beside another one is better than none.
    """
    name = f"{session_key(user_id=user_id, conversation_id=conversation_id)}:lock"
    async with AsyncExitStack() as stack:
        try:
            has_lock = await stack.enter_async_context(redis_lock(name, wait_seconds=WAIT_SECONDS))
        except RedisError as error:
            logger.warning("a turn goes on without the lock of its conversation: %s", error)
            has_lock = True
        if not has_lock:
            raise ConversationBusyError
        yield


async def session_history(*, user_id: int, conversation_id: uuid.UUID, until: uuid.UUID | None) -> tuple[Turn, ...]:
    """The turns of the branch that ends with the turn `until`, oldest first.

    The session in Redis holds one branch; another one, or one that has expired, is read from Postgres, as everything
    is where Redis does not answer.
    """
    if until is None:
        return ()
    key = session_key(user_id=user_id, conversation_id=conversation_id)
    pipe = client().pipeline(transaction=True)
    pipe.hget(key, "leaf")
    pipe.lrange(f"{key}:messages", 0, -1)
    try:
        leaf, stored = await pipe.execute()
    except RedisError as error:
        logger.warning("a conversation is read from Postgres: %s", error)
        return await run_db(_stored_turns, conversation_id, until)
    if stored and leaf == str(until):
        return tuple(Turn(**json.loads(turn)) for turn in stored)
    turns = await run_db(_stored_turns, conversation_id, until)
    if turns:
        await session_store(user_id=user_id, conversation_id=conversation_id, turns=turns, leaf=until)
    return turns


async def session_store(*, user_id: int, conversation_id: uuid.UUID, turns: Sequence[Turn], leaf: uuid.UUID) -> None:
    """Keep the turns of the branch that ends with `leaf`, not none; the session lives for two hours from now."""
    key = session_key(user_id=user_id, conversation_id=conversation_id)
    pipe = client().pipeline(transaction=True)
    pipe.delete(f"{key}:messages")
    pipe.rpush(f"{key}:messages", *(json.dumps(asdict(turn), ensure_ascii=False) for turn in turns))
    pipe.ltrim(f"{key}:messages", -KEPT_TURNS, -1)
    pipe.hset(
        key, mapping={"updated": timezone.now().isoformat(), "last_question": turns[-1].question, "leaf": str(leaf)}
    )
    pipe.expire(f"{key}:messages", IDLE_SECONDS)
    pipe.expire(key, IDLE_SECONDS)
    await pipe.execute()


def _stored_turns(conversation_id: uuid.UUID, until: uuid.UUID) -> tuple[Turn, ...]:
    conversation = Conversation.objects.filter(pk=conversation_id).first()
    path = branches_of(conversation).path_to(until) if conversation else []
    rows = (
        Message.objects.filter(pk__in=path, state__in=(Message.State.DONE, Message.State.STOPPED))
        .order_by("-created")
        .values_list("question", "answer", "metadata__understood")[:KEPT_TURNS]
    )
    return tuple(
        Turn(question=question, answer=answer, understood=understood or "")
        for question, answer, understood in reversed(rows)
    )


def history_window(
    turns: Sequence[Turn], *, fixed: str, counter: TokenCounter, budget_tokens: int = HISTORY_TOKENS
) -> tuple[Turn, ...]:
    """The turns that fit beside `fixed` (system prompt and question), oldest first.

    The last turn always stays; before it the oldest are dropped first. Markers of earlier answers are taken out,
    because their numbers mean other sources now.
    """
    plain = [replace(turn, answer=_MARKER.sub("", turn.answer)) for turn in turns]
    tokens_free = budget_tokens - counter.count(fixed)
    window: list[Turn] = []
    for turn in reversed(plain):
        tokens_free -= counter.count(turn.question) + counter.count(turn.answer)
        if window and tokens_free < 0:
            break
        window.append(turn)
    return tuple(reversed(window))
