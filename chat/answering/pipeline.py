"""One answer: from the cache, or by understanding, search, generation and grounding (architecture: "A question")."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from accounts.scope import Scope
from chat import metrics
from chat.answering.answer_config import Manner, manner_of, refusal_for
from chat.answering.answerability import Verdict, verdict_on
from chat.answering.cache import cache_key, from_cache, through_cache
from chat.answering.context import Patience, profile_of, question_of, standalone_by_rules_of
from chat.answering.fallback import conversation_reply, search_results
from chat.answering.grounding import checked, conversed, grounded, listed, uncited
from chat.answering.metadata import with_metadata
from chat.answering.model_routing import generation_of
from chat.answering.retrieval import Found
from chat.answering.stage_plans import Loop, context_steps, is_loop_off, steps_of, understanding_steps, wants_rewrites
from chat.answering.stage_ports import Tooling
from chat.answering.streaming import SECONDS, Draft, Output, Writer, draft_of
from chat.executors import run_cpu, run_db
from chat.models import Conversation, Message
from chat.selectors import documents_still_askable
from chat.types import AnswerRecord, AnswerRequest, Emit, Exchange
from knowledge import engines
from ragcore.answering import stages  # noqa: F401 (registers the stages)
from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages.plan_adaptive import Plan, plan_of
from ragcore.errors import ModelUnavailableError
from ragcore.grounding.bare_addresses import hosts_of
from ragcore.grounding.markers import document_ids
from ragcore.llm.client import LlmClient
from ragcore.llm.usage import total_known_cost
from ragcore.options import AnswerOptions
from ragcore.stage_ports import StagePorts
from ragcore.text.once import computed_once
from ragcore.text.scripts import language_of
from ragcore.types import Profile, Source
from ragcore.types.answering import AnswerState, Question


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


FALLBACK_CONFIDENCE = 0.3  # U14
UNJUDGED_CONFIDENCE = 0.8  # U14: at most, where a mode that judges may not, and the default model writes
MAX_RESULTS = 5  # on a page of search results in the place of an answer
WRITING_LOOPS = ("loop.agentic", "loop.self_rag")
SURE = Verdict(is_answerable=True)


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
    question: Question
    profile: Profile | None = None
    history: tuple[Exchange, ...] = ()
    streaming: bool = False
    patience: Patience = field(default_factory=Patience)

    @property
    def blocks(self) -> bool:
        """Whether the reader wants HTML block by block."""
        return self.message.conversation.channel == Conversation.Channel.WEB


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """How far an answer has come, and by which way."""

    state: AnswerState
    mode: str  # basic, …, ultimate; fallback where the mode's own way failed
    strategy: str


async def answer_made(turn: Turn) -> AnswerRecord:
    """An answer from the documents. Raises what the search raises."""
    start = time.perf_counter()
    tooling = Tooling(
        scope=turn.scope,
        request=turn.request,
        manner=turn.manner,
        emit=turn.emit,
        profile=turn.profile,
        history=turn.history,
        patience=turn.patience,
        stop=turn.stop,
    )
    tools = tooling.tools
    state = AnswerState(question=turn.question)
    rewrites = wants_rewrites(turn.manner.options, turn.manner.origin, in_conversation=bool(turn.question.history))
    first = understanding_steps(turn.manner.options, rewrites=rewrites, target=turn.request.prompt_type or "")
    state = await run_stages(build_stages(first), state, tools)
    if state.analysis is not None and not state.analysis.needs_retrieval:
        made, draft, record = await _conversed(turn, state, tools)
    else:
        made = await _prepared(turn, state, tooling, rewrites=rewrites)
        _refuse_degraded(turn, made.state)
        draft, record = await _finished(turn, made.state, tooling)
        if draft.is_fallback:
            made = replace(made, mode="fallback")
        record = replace(record, confidence=min(record.confidence, _ceiling(made)))
    return with_metadata(turn, record, made, tooling, draft, time.perf_counter() - start)


# ── up to numbered sources ──────────────────────────────────────────────────────────────────────


async def _prepared(turn: Turn, state: AnswerState, tooling: Tooling, *, rewrites: bool) -> Made:
    """Numbered sources, or a finished text where a loop wrote one; where the mode's own way fails, the basic one."""
    loop: Loop = "none"
    options, strategy = turn.manner.options, turn.manner.options.strategy
    if strategy == "adaptive" and state.analysis is not None:
        plan = plan_of(state.analysis)
        options, loop, strategy = _planned(turn, plan), plan.loop, plan.strategy
        tooling.top_k = None if "top_k" in turn.request.given else plan.top_k
        tooling.options = options
    steps = steps_of(options, streaming=turn.streaming, rewrites=rewrites, loop=loop)
    if steps[-1][0].startswith("loop."):  # its rounds are to be seen while they last
        tooling.announce = partial(context_told, turn)
    after = await run_stages(build_stages(steps), state, tooling.tools)
    if turn.stop.is_set():
        return Made(state=after, mode=options.mode, strategy=strategy)
    mode = "fallback" if _has_failed(after) else options.mode
    if after.result is not None or after.passages or after.written is not None:
        return Made(state=_unjudged(after, options), mode=mode, strategy=strategy)
    basic = [("search", {}), *context_steps(options)]
    after = await run_stages(build_stages(basic), replace(after, rewrites=()), tooling.tools)
    return Made(state=after, mode=mode, strategy=strategy)


def _has_failed(state: AnswerState) -> bool:
    """Whether a loop broke off or took too long before it had written anything."""
    stopped = {figures.get("stopped") for stage, figures in state.stats.items() if stage in WRITING_LOOPS}
    broken = any(record.error for record in state.records if record.stage in WRITING_LOOPS)
    return state.written is None and (broken or bool(stopped & {"failed", "seconds"}))


def _unjudged(state: AnswerState, options: AnswerOptions) -> AnswerState:
    """Without rounds and without tiers the default model writes, of which nobody is quite sure (U14)."""
    return replace(state, confidence=UNJUDGED_CONFIDENCE) if is_loop_off(options) and not options.tiered else state


def _ceiling(made: Made) -> float:
    """The most confidence that the way to an answer leaves it: that of whoever judged it, little for a fallback."""
    judged = 1.0 if made.state.confidence is None else made.state.confidence
    return min(judged, FALLBACK_CONFIDENCE) if made.mode == "fallback" else judged


def _refuse_degraded(turn: Turn, state: AnswerState) -> None:
    """A strict client gets no text that a loop put together without the model. Raises ModelUnavailableError (V13)."""
    if turn.request.strict and state.written is not None and state.written.is_degraded:
        raise ModelUnavailableError(strict=True)


def _planned(turn: Turn, plan: Plan) -> AnswerOptions:
    """The options with what the plan chose; what the client sent stays."""
    chosen: dict[str, Any] = {
        "rewrite_method": plan.rewrite_method,
        "max_chunks": plan.max_chunks,
        "whole_sections": plan.whole_sections,
    }
    free = {name: value for name, value in chosen.items() if name not in turn.request.given}
    return replace(turn.manner.options, **free)


# ── from there to a checked answer ──────────────────────────────────────────────────────────────


async def _finished(turn: Turn, state: AnswerState, tooling: Tooling) -> tuple[Draft, AnswerRecord]:
    options, sources, draft = turn.manner.options, list(state.sources), Draft()
    if turn.stop.is_set():
        return await _stopped(turn, state, tooling)
    found = _found_of(state, tooling)
    if not tooling.is_announced:
        await context_told(turn, len(sources), tooling.other_forms(state.standalone))
    if not sources:
        draft.text = await text_shown(turn, refusal_for(turn.request.query, options.style), ())
        return draft, await run_cpu(grounded, draft.text, (), found=found, options=options, status="refused")
    # a model that wrote in a loop has refused by itself where it had to
    is_sure = state.written is not None and engines.chat_model() is not None
    verdict = SURE if is_sure else await run_cpu(verdict_on, state, found, sources, options)
    if not verdict.is_answerable:
        sources = sources[:MAX_RESULTS]
        text, numbers = await run_cpu(_results, turn.request, sources), [source.number for source in sources]
        draft.text = await text_shown(turn, text, numbers, hosts=hosts_of(sources))
        check = partial(listed, draft.text, sources, found=found, options=options)
        record, draft.warnings = await checked(check, draft.text, sources, found=found, status="search_results")
        return draft, record
    if state.written is not None:
        draft = await _taken_over(turn, state, sources)
    else:
        draft = await _written(turn, state, sources, tooling)
    record = await _checked(draft, sources, found, options, tooling.tools.llm if options.judge_support else None)
    record = replace(record, confidence=round(min(record.confidence, verdict.most_confidence), 4))
    if draft.degraded:  # also when what could be put together is a refusal
        record = replace(record, status="degraded")
    return draft, record


async def _stopped(turn: Turn, state: AnswerState, tooling: Tooling) -> tuple[Draft, AnswerRecord]:
    """What there is when the reader stops before the writing: a text of a loop, else the sources without any text."""
    sources, options = list(state.sources), turn.manner.options
    draft = await _taken_over(turn, state, sources) if state.written is not None else Draft()
    draft.stopped = True
    if not tooling.is_announced:
        await context_told(turn, len(sources), tooling.other_forms(state.standalone))
    if not tooling.searches:
        return draft, AnswerRecord(text="", html="", status="answered", confidence=0.0)
    found = _found_of(state, tooling)
    if not draft.text:
        return draft, await run_cpu(uncited, "", sources, found=found, status=_status(draft))
    return draft, await _checked(draft, sources, found, options, None)


async def _checked(
    draft: Draft, sources: Sequence[Source], found: Found, options: AnswerOptions, asker: LlmClient | None
) -> AnswerRecord:
    """The draft against its sources; what could not be checked is a warning of the draft."""
    status = _status(draft)
    check = partial(grounded, draft.text, sources, found=found, options=options, status=status)
    record, failed = await checked(check, draft.text, sources, found=found, status=status, asker=asker)
    draft.warnings += failed
    return record


def _status(draft: Draft) -> str:
    return "degraded" if draft.degraded else "answered"


def _found_of(state: AnswerState, tooling: Tooling) -> Found:
    """The search that brought most of the sources, the latest of several; the trace shows it."""
    chunks = {source.passage.chunk for source in state.sources}
    return max(
        reversed(tooling.searches),
        key=lambda found: len(chunks & {passage.chunk for passage, _candidate in found.hits}),
    )


def _results(request: AnswerRequest, sources: Sequence[Source]) -> str:
    return search_results(request.query, sources, tokenizer=engines.tokenizer(), language=language_of(request.query))


async def _written(turn: Turn, state: AnswerState, sources: Sequence[Source], tooling: Tooling) -> Draft:
    await turn.emit("step", name="write", detail=_("Writing"))
    generator, request = await generation_of(
        query=state.query,
        manner=turn.manner,
        sources=sources,
        history=turn.history,
        estimated_tokens=turn.request.constraints.estimated_tokens,
        spent=total_known_cost(tooling.spent),
        absent=tooling.absent,
    )
    writer = Writer(
        request=request,
        output=_output(turn, sources),
        emit=turn.emit,
        stop=turn.stop,
        refusal=refusal_for(turn.request.query, turn.manner.options.style),
        strict=turn.request.strict,
        generator=generator,
        streamed=turn.streaming,
        seconds=min(SECONDS, turn.patience.left()),
    )
    return await writer.run()


async def _taken_over(turn: Turn, state: AnswerState, sources: Sequence[Source]) -> Draft:
    """The text that a loop has chosen, shown to the reader."""
    written = state.written
    assert written is not None
    output = _output(turn, sources)
    await output.write(written.text)
    return draft_of(written, (await output.finish()).strip())


async def _conversed(turn: Turn, state: AnswerState, tools: StagePorts) -> tuple[Made, Draft, AnswerRecord]:
    """A reply to what needs no documents; it is marked as not from the knowledge base (V10)."""
    await context_told(turn, 0)
    text, model = await conversation_reply(state.question, asker=tools.llm)
    is_stopped = turn.stop.is_set()
    draft = Draft(
        text="" if is_stopped else await text_shown(turn, text, (), hosts=()), model=model, stopped=is_stopped
    )
    made = Made(state=state, mode=turn.manner.options.mode, strategy=turn.manner.options.strategy)
    return made, draft, await run_cpu(conversed, draft.text)


# ── telling ─────────────────────────────────────────────────────────────────────────────────────


async def context_told(turn: Turn, count: int, rewritten: Sequence[str] = ()) -> None:
    """The event `context`, with other forms in which the question was asked."""
    await turn.emit("context", message_id=str(turn.message.pk), chunks_count=count, rewritten_queries=list(rewritten))


async def text_shown(turn: Turn, text: str, numbers: Sequence[int], *, hosts: Collection[str] | None = None) -> str:
    """Emit a text that is known already. `hosts`: those whose bare addresses stay links; None: all."""
    output = Output(emit=turn.emit, numbers=numbers, ids={}, blocks=turn.blocks, hosts=hosts)
    await output.write(text)
    return await output.finish()


def _output(turn: Turn, sources: Sequence[Source]) -> Output:
    numbers = [source.number for source in sources]
    ids, hosts = document_ids(sources), hosts_of(sources)
    return Output(emit=turn.emit, numbers=numbers, ids=ids, blocks=turn.blocks, hosts=hosts)
