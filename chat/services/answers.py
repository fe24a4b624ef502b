"""One answer, from the cache or made (architecture: "A question")."""

from __future__ import annotations

import asyncio
import time

from accounts.models import User
from accounts.scope import Scope
from chat import metrics
from chat.executors import run_cpu, run_db
from chat.models import Message
from chat.selectors import documents_still_askable
from chat.services.cache import cache_key, from_cache, through_cache
from chat.services.making import Turn, answer_made, context_told, text_shown
from chat.services.patience import Patience
from chat.services.profiles import profile_of
from chat.services.prompting import manner_of
from chat.services.questions import question_of, standalone_by_rules_of
from chat.types import AnswerRecord, AnswerRequest, Emit, Exchange
from ragcore.text.once import computed_once


async def answer_run(
    *,
    scope: Scope,
    user: User,
    request: AnswerRequest,
    message: Message,
    emit: Emit,
    stop: asyncio.Event | None = None,
    history: tuple[Exchange, ...] = (),
    streaming: bool = False,
    patience: Patience | None = None,
) -> AnswerRecord:
    """Answer a question, reporting `context`, `step`, `chunk` (web: `block`, `tail`) events on the way.

    Does not store the answer. Raises what the search raises, and ModelUnavailableError only for strict clients;
    everything else that can go wrong with a model gives a degraded answer. `patience`: the time that there is, if it
    runs already.
    """
    with computed_once():
        return await _run(
            scope=scope,
            user=user,
            request=request,
            message=message,
            emit=emit,
            stop=stop or asyncio.Event(),
            history=history,
            streaming=streaming,
            patience=patience or Patience(),
        )


async def _run(
    *,
    scope: Scope,
    user: User,
    request: AnswerRequest,
    message: Message,
    emit: Emit,
    stop: asyncio.Event,
    history: tuple[Exchange, ...],
    streaming: bool,
    patience: Patience,
) -> AnswerRecord:
    profile = await run_db(profile_of, user, sets=request.sets) if request.personal else None
    turn = Turn(
        scope=scope,
        user=user,
        request=request,
        message=message,
        emit=emit,
        stop=stop,
        manner=await run_db(manner_of, scope=scope, request=request),
        question=question_of(request, history=history, profile=profile, user=user),
        profile=profile,
        history=history,
        streaming=streaming,
        patience=patience,
    )
    record = await (_cached(turn) if request.cache else answer_made(turn))
    metrics.ANSWERS.labels(record.status, record.metadata["cache"]).inc()
    return record


async def _cached(turn: Turn) -> AnswerRecord:
    start = time.perf_counter()

    async def usable(record: AnswerRecord) -> bool:
        """Rights are part of the key; the documents are checked again all the same."""
        documents = {citation.document_id for citation in record.citations}
        return await run_db(documents_still_askable, scope=turn.scope, document_ids=documents)

    key = await run_db(
        cache_key,
        scope=turn.scope,
        request=turn.request,
        # days and people that the question speaks of stand in it, so that it is another question tomorrow
        understood=await run_cpu(standalone_by_rules_of, turn.question),
        profile=turn.profile,
        history=turn.history,
        configuration=turn.manner.sha256(),
    )
    record, hit = await through_cache(key, usable=usable, make=lambda: answer_made(turn), is_stopped=turn.stop.is_set)
    if not hit:
        return record
    await context_told(turn, record.metadata["chunks_found"])
    await text_shown(turn, record.text, [citation.number for citation in record.cited])
    return from_cache(record, seconds=time.perf_counter() - start)
