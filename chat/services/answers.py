"""The flow of one answer: cache, search, gate, context, generation, grounding (architecture: "A question")."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from accounts.scope import Scope
from chat import metrics
from chat.models import Conversation, Message
from chat.selectors import documents_still_askable
from chat.services.cache import cache_key, from_cache, through_cache
from chat.services.finding import Found, final_score, find
from chat.services.finishing import grounded, listed, unused_options
from chat.services.output import Output
from chat.services.profiles import profile_of
from chat.services.prompting import Manner, manner_of, prompt_messages, refusal_for
from chat.services.search_results import search_results
from chat.services.writing import Draft, Writer
from chat.threads import run_cpu, run_db
from chat.types import AnswerRecord, AnswerRequest, Emit, Exchange
from knowledge import engines
from ragcore.grounding.context import build_context
from ragcore.grounding.markers import document_ids
from ragcore.options import AnswerOptions
from ragcore.ports import ChatMessage, GenerationRequest
from ragcore.text.scripts import language_of
from ragcore.types import Profile, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """All that belongs to one question."""

    scope: Scope
    user: User
    request: AnswerRequest
    message: Message
    emit: Emit
    stop: asyncio.Event
    manner: Manner
    profile: Profile | None = None
    history: tuple[Exchange, ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether the reader wants HTML block by block."""
        return self.message.conversation.channel == Conversation.Channel.WEB


async def answer_run(
    *,
    scope: Scope,
    user: User,
    request: AnswerRequest,
    message: Message,
    emit: Emit,
    stop: asyncio.Event | None = None,
    history: tuple[Exchange, ...] = (),
) -> AnswerRecord:
    """Answer a question, reporting `context`, `step`, `chunk` (web: `block`, `tail`) events on the way.

    Does not store the answer. Raises what the search raises, and ModelUnavailableError only for strict clients;
    everything else that can go wrong with a model gives a degraded answer.
    """
    turn = Turn(
        scope=scope,
        user=user,
        request=request,
        message=message,
        emit=emit,
        stop=stop or asyncio.Event(),
        manner=await run_db(manner_of, scope=scope, request=request),
        profile=await run_db(profile_of, user, sets=request.sets) if request.personal else None,
        history=history,
    )
    record = await (_cached(turn) if request.cache else _made(turn))
    metrics.ANSWERS.labels(record.status, record.metadata["cache"]).inc()
    return record


# ── from the cache ──────────────────────────────────────────────────────────────────────────────


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
        profile=turn.profile,
        history=turn.history,
        configuration=turn.manner.sha256(),
    )
    record, hit = await through_cache(key, usable=usable, make=lambda: _made(turn))
    if not hit:
        return record
    await _context(turn, record.metadata["chunks_found"])
    await _show(turn, record.text, [citation.number for citation in record.cited])
    return from_cache(record, seconds=time.perf_counter() - start)


# ── from the documents ──────────────────────────────────────────────────────────────────────────


async def _made(turn: Turn) -> AnswerRecord:
    start = time.perf_counter()
    options = turn.manner.options
    found = await find(
        scope=turn.scope, request=turn.request, emit=turn.emit, profile=turn.profile, style=options.style
    )
    sources = await run_cpu(_sources, found, options)
    await _context(turn, len(sources))
    draft = Draft()
    if not sources:
        draft.text = await _show(turn, refusal_for(turn.request.query, options.style), ())
        record = await run_cpu(grounded, draft.text, (), found=found, options=options, status="refused")
    elif not found.retrieved.relevant:
        draft.text = await _show(turn, await run_cpu(_results, turn.request, sources), [s.number for s in sources])
        record = await run_cpu(listed, draft.text, sources, found=found, options=options)
    else:
        draft = await _written(turn, sources)
        status = "degraded" if draft.degraded else "answered"
        record = await run_cpu(grounded, draft.text, sources, found=found, options=options, status=status)
        if draft.degraded:  # also when what could be put together is a refusal
            record = replace(record, status="degraded")
    return _with_metadata(turn, record, found, draft, len(sources), time.perf_counter() - start)


def _sources(found: Found, options: AnswerOptions) -> list[Source]:
    ranked = sorted(found.hits, key=lambda hit: final_score(hit[1]), reverse=True)[: options.max_chunks]
    passages = [(passage, final_score(candidate)) for passage, candidate in ranked]
    return build_context(passages, budget_tokens=options.context_tokens, counter=engines.counter())


def _results(request: AnswerRequest, sources: Sequence[Source]) -> str:
    return search_results(request.query, sources, tokenizer=engines.tokenizer(), language=language_of(request.query))


async def _context(turn: Turn, count: int) -> None:
    await turn.emit("context", message_id=str(turn.message.pk), chunks_count=count)


async def _show(turn: Turn, text: str, numbers: Sequence[int]) -> str:
    """Emit a text that is known already."""
    output = Output(emit=turn.emit, numbers=numbers, ids={}, blocks=turn.blocks)
    await output.write(text)
    return await output.finish()


async def _written(turn: Turn, sources: Sequence[Source]) -> Draft:
    await turn.emit("step", name="write", detail=_("Writing"))
    options = turn.manner.options
    messages: tuple[ChatMessage, ...] = ()
    if engines.chat_model() is not None:
        messages = await run_cpu(
            prompt_messages, query=turn.request.query, manner=turn.manner, sources=sources, history=turn.history
        )
    request = GenerationRequest(
        question=turn.request.query,
        sources=tuple(sources),
        messages=messages,
        language=language_of(turn.request.query),
        style=options.style,
        temperature=options.temperature,
        max_tokens=options.max_tokens,
    )
    numbers = [source.number for source in sources]
    output = Output(emit=turn.emit, numbers=numbers, ids=document_ids(sources), blocks=turn.blocks)
    writer = Writer(
        request=request,
        output=output,
        emit=turn.emit,
        stop=turn.stop,
        refusal=refusal_for(turn.request.query, options.style),
        strict=turn.request.strict,
    )
    return await writer.run()


def _with_metadata(
    turn: Turn, record: AnswerRecord, found: Found, draft: Draft, chunks: int, seconds: float
) -> AnswerRecord:
    usage = draft.usage
    metadata: dict[str, Any] = {
        "total_time": round(seconds, 4),
        "rewrite_time": None,
        "retrieve_time": round(found.seconds, 4),
        "rerank_time": found.rerank_seconds,
        "generate_time": round(draft.seconds, 4) if draft.model else None,
        "first_token_time": draft.first_words_seconds,
        "chunks_found": chunks,
        "model": draft.model,
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
        },
        "cost": None,
        "strategy": "standard",
        "mode_used": "basic",
        "cache": "none",
        "rewritten_queries": found.queries[1:],
        "options_sha256": turn.manner.sha256(),
        "error_message": draft.degraded,
        "stopped": draft.stopped,
        "unused_options": unused_options(turn.request),
        "warnings": [asdict(warning) for warning in found.retrieved.warnings],
    }
    _measure(metadata, record)
    return replace(record, metadata=metadata)


def _measure(metadata: dict[str, Any], record: AnswerRecord) -> None:
    for stage in ("total", "retrieve", "rerank", "generate"):
        if metadata[f"{stage}_time"] is not None:
            metrics.STAGE_SECONDS.labels(stage).observe(metadata[f"{stage}_time"])
    for kind in ("prompt", "completion"):
        metrics.TOKENS.labels(kind, metadata["model"]).inc(metadata["usage"][f"{kind}_tokens"])
    for citation in record.cited:
        metrics.CITATIONS.labels("weak" if citation.weak else "strong").inc()
