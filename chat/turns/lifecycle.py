"""Runs a turn: inside the request, or as a task of the web process whose events readers follow."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.db import Error as DatabaseError
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from accounts.errors import RateLimitedError
from accounts.models import User
from accounts.scope import Scope
from chat import metrics
from chat.answering.answer_config import HISTORY_TOKENS
from chat.answering.context import Deadline, build_context
from chat.answering.pipeline import answer
from chat.concurrency.admission import Place, take_place
from chat.concurrency.executors import run_db
from chat.concurrency.redis_client import client, events_key, stop_key
from chat.conversations.memory import session_history, session_store, session_turn
from chat.conversations.summaries import summary_request
from chat.errors import AnswerTimeoutError, BusyError, TurnFailedError
from chat.models import Conversation, Message
from chat.selectors import message_get
from chat.serializers import serialize_citation, serialize_metadata
from chat.turns.heartbeats import heartbeats, show_alive
from chat.turns.message_store import message_fail, message_finish, message_open, message_place, message_prepare
from chat.turns.stream_hub import hub
from chat.turns.stream_log import TurnLog
from chat.turns.stream_reader import interrupted_message
from chat.types import AnswerRecord, AnswerRequest, EventSink, ignore_event
from ragcore.errors import PermanentError, RagError
from ragcore.text.request_cache import request_cache
from ragcore.types.answering import Turn

logger = logging.getLogger(__name__)

ANSWER_LIMIT_SECONDS = 60  # without the time in which a model writes
TURN_LIMIT_SECONDS = 300  # likewise; a reader sees a long text grow and can stop it
STOP_SECONDS = 60
SHUTDOWN_SECONDS = 10

_running: dict[uuid.UUID, RunningTurn] = {}
CONCURRENT = 4
BUSY_TRIES = 20
BUSY_WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """An answer with the message that keeps it."""

    message: Message
    request: AnswerRequest
    record: AnswerRecord


@dataclass(slots=True)
class RunningTurn:
    """A turn of this process."""

    task: asyncio.Task[None]
    stop: asyncio.Event


async def answer_now(
    *, scope: Scope, user: User, request: AnswerRequest, key: str = "", channel: str = Conversation.Channel.API
) -> StoredAnswer:
    """Answer a question in the request that asked it, and store its message.

    Raises BusyError, RateLimitedError, NotFoundError, AnswerTimeoutError, ConversationBusyError, and what
    `answering.pipeline.answer` raises.
    """
    async with await take_place(user, key=key):
        deadline = Deadline()
        message = await run_db(message_prepare, scope=scope, user=user, request=request, channel=channel)
        try:
            async with _time_limit(ANSWER_LIMIT_SECONDS, deadline):
                record = await _answer_and_store(
                    scope=scope, user=user, request=request, message=message, events=ignore_event, deadline=deadline
                )
        except RagError as error:
            await _store_failure(message, error)
            raise
    return StoredAnswer(message=message, request=request, record=record)


async def turn_start(
    *,
    scope: Scope,
    user: User,
    request: AnswerRequest,
    channel: str,
    key: str = "",
    message_id: uuid.UUID | None = None,
) -> Message:
    """Store the message, start its turn and return; `chat.turns.stream_reader.read_events` tells what happens.

    `message_id`: its primary key, None: a new one. Raises BusyError, RateLimitedError, NotFoundError, IntegrityError
    where the key is taken.
    """
    place = await take_place(user, key=key)
    try:
        with place.steps():
            message = await run_db(
                message_open, scope=scope, user=user, request=request, channel=channel, message_id=message_id
            )
        await show_alive(message.pk)
    except BaseException:
        await asyncio.shield(place.release())
        raise
    stop = asyncio.Event()
    hub().adopt(events_key(message.pk))
    task = asyncio.create_task(
        _run_turn(scope=scope, user=user, request=request, message=message, stop=stop, place=place),
        name=f"turn {message.pk}",
    )
    _running[message.pk] = RunningTurn(task, stop)
    task.add_done_callback(lambda _task: _forget(message.pk))
    return message


def _forget(message_id: uuid.UUID) -> None:
    _running.pop(message_id, None)
    hub().abandon(events_key(message_id))


async def turn_stop(*, scope: Scope, message_id: uuid.UUID | str) -> None:
    """Ask a turn to stop; what was written is kept. Harmless when it is over. Raises NotFoundError."""
    message = await run_db(message_get, scope=scope, message_id=message_id)
    if running := _running.get(message.pk):
        running.stop.set()
    elif message.state == Message.State.RUNNING:
        await client().set(stop_key(message.pk), "1", ex=STOP_SECONDS)


async def turns_shutdown() -> None:
    """Let running turns end, then end them: their messages are marked, and their readers get an error event."""
    tasks = [running.task for running in _running.values()]
    if not tasks:
        return
    _done, late = await asyncio.wait(tasks, timeout=SHUTDOWN_SECONDS)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)


# ── one turn ────────────────────────────────────────────────────────────────────────────────────


async def _run_turn(
    *, scope: Scope, user: User, request: AnswerRequest, message: Message, stop: asyncio.Event, place: Place
) -> None:
    """Run a turn to its last event, whatever happens on the way."""
    async with place, heartbeats().of(message.pk, stop), TurnLog(message.pk) as log:
        try:
            deadline = Deadline()
            async with _time_limit(TURN_LIMIT_SECONDS, deadline):
                record = await _answer_and_store(
                    scope=scope,
                    user=user,
                    request=request,
                    message=message,
                    events=log,
                    deadline=deadline,
                    stop=stop,
                    is_streaming=True,
                )
            await _report_end(log, record, message)
        except RagError as error:
            await _store_failure(message, error)
            await log("error", **_error_event(error))
        except asyncio.CancelledError:
            await asyncio.shield(_report_interruption(message, log))
            raise
        except Exception as error:
            logger.exception("a turn failed")
            failure = TurnFailedError("internal", _("Something went wrong. It has been logged."))
            await _store_failure(message, failure)
            await log("error", code=failure.code, message=failure.message, kind=type(error).__name__)


async def _answer_and_store(
    *,
    scope: Scope,
    user: User,
    request: AnswerRequest,
    message: Message,
    events: EventSink,
    deadline: Deadline,
    stop: asyncio.Event | None = None,
    is_streaming: bool = False,
) -> AnswerRecord:
    """Answer, store the answer, remember the turn; serially within a conversation that the client continues."""

    budget_tokens = HISTORY_TOKENS

    async def compute(history: tuple[Turn, ...]) -> AnswerRecord:
        nonlocal budget_tokens
        with request_cache():
            context = await build_context(
                scope=scope,
                user=user,
                request=request,
                message=message,
                events=events,
                history=history,
                stop=stop,
                deadline=deadline,
                is_streaming=is_streaming,
            )
            budget_tokens = context.config.history_tokens
            return await answer(context)

    if request.conversation_id is None:
        return await _store(message, await compute(request.history), scope)
    async with session_turn(user_id=user.pk, conversation_id=message.conversation_id):
        if message._state.adding:  # turns that ended while it waited stand before it
            await run_db(message_place, message)
        earlier = await session_history(
            user_id=user.pk, conversation_id=message.conversation_id, until=message.parent_id
        )
        record = await _store(message, await compute((*earlier, *request.history)), scope)
        turn = Turn(question=message.question, answer=record.text, understood=record.metadata.understood or "")
        try:
            await session_store(
                user_id=user.pk, conversation_id=message.conversation_id, turns=[*earlier, turn], leaf=message.pk
            )
        except RedisError:  # the answer stands; the next turn does without this one
            logger.exception("a turn is missing in its session")
        await _have_summarised(message, budget_tokens)
    return record


async def _have_summarised(message: Message, budget_tokens: int) -> None:
    """Its failure costs the reader nothing but the summary."""
    try:
        await run_db(summary_request, message=message, budget_tokens=budget_tokens)
    except (DatabaseError, RagError):
        logger.exception("a conversation was not summarised")


async def _store(message: Message, record: AnswerRecord, scope: Scope) -> AnswerRecord:
    return await run_db(message_finish, message=message, record=record, scope=scope)


async def _report_end(log: TurnLog, record: AnswerRecord, message: Message) -> None:
    """The last events; `html` is the whole answer with its support states, which replaces the blocks."""
    await log("citations", citations=[serialize_citation(citation) for citation in record.cited])
    await log(
        "done",
        message_id=str(message.pk),
        status=record.status,
        state=message.state,
        confidence=record.confidence,
        metadata=serialize_metadata(record),
        html=record.html,
    )


async def _store_failure(message: Message, error: RagError) -> None:
    """Store the failure. A database that is down must not hide the error that the reader is to see."""
    metrics.FAILURES.labels(error.code).inc()
    try:
        await run_db(message_fail, message=message, error=error)
    except DatabaseError:
        logger.exception("a failed turn could not be stored")


async def _report_interruption(message: Message, log: TurnLog) -> None:
    error = TurnFailedError("interrupted", interrupted_message())
    await _store_failure(message, error)
    await log("error", code=error.code, message=error.message)


def _error_event(error: RagError) -> dict[str, Any]:
    """An error as the data of an event; `permanent` and `data` let a reader raise it again as what it was."""
    plain = {key: value for key, value in error.data.items() if isinstance(value, (bool, int, float, str))}
    permanent = isinstance(error, PermanentError)
    return {
        "code": error.code,
        "message": error.message,
        "message_data": error.message_data(),
        "permanent": permanent,
        "data": plain,
    }


@asynccontextmanager
async def _time_limit(seconds: float, deadline: Deadline) -> AsyncIterator[None]:
    """Raises AnswerTimeoutError where the block takes longer, not counting what `deadline` does not count."""
    try:
        async with asyncio.timeout(seconds) as deadline.request_limit:
            yield
    except TimeoutError:
        raise AnswerTimeoutError from None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """The fate of one question: a result or an error."""

    index: int
    result: StoredAnswer | None = None
    error: RagError | None = None


async def answer_batch(
    *, scope: Scope, user: User, queries: Sequence[str | RagError], request: AnswerRequest, key: str = ""
) -> list[BatchItem]:
    """Answer each question on its own, a few at a time, in the order given. One that fails does not hurt the others.

    `queries`: an error in the place of a question that was refused before is its result.
    """
    places = asyncio.Semaphore(CONCURRENT)

    async def one(index: int, query: str | RagError) -> BatchItem:
        if isinstance(query, RagError):
            return BatchItem(index=index, error=query)
        async with places:
            try:
                one_request = replace(request, query=query)
                result = await _answer_when_free(scope=scope, user=user, request=one_request, key=key)
            except RagError as error:
                return BatchItem(index=index, error=error)
            except Exception:
                logger.exception("a question of a batch failed")
                return BatchItem(index=index, error=TurnFailedError("internal", _("Something went wrong.")))
            return BatchItem(index=index, result=result)

    return list(await asyncio.gather(*(one(index, query) for index, query in enumerate(queries))))


async def _answer_when_free(*, scope: Scope, user: User, request: AnswerRequest, key: str) -> StoredAnswer:
    """A batch has time: it waits for a free place instead of failing half of its questions."""
    for _try in range(BUSY_TRIES):
        try:
            return await answer_now(scope=scope, user=user, request=request, key=key)
        except (BusyError, RateLimitedError):
            await asyncio.sleep(BUSY_WAIT_SECONDS)
    return await answer_now(scope=scope, user=user, request=request, key=key)
