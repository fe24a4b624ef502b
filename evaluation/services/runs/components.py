"""What a run asks: the whole answer, or one component of the product alone.

A component alone is fed by what comes before it in the product and is timed alone. Nothing is stored as a conversation,
no cache is read or filled, and nobody's profile takes part: what is measured is the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from asgiref.sync import async_to_sync

from accounts.models import User
from accounts.scope import Scope
from chat.answering.answer_config import resolve_answer_config
from chat.answering.context import AnswerContext, build_question
from chat.answering.grounding import check_answer
from chat.answering.pipeline import compute_answer
from chat.answering.stage_ports import AnswerPorts
from chat.concurrency.executors import run_db
from chat.types import AnswerRecord, AnswerRequest, ignore_event
from evaluation.errors import NothingForComponentError
from evaluation.models import RunConfiguration
from evaluation.selectors import documents_named
from evaluation.services.golden_files import GoldenRow
from knowledge.options_draft import NO_DRAFT, OptionsDraft
from knowledge.services import retrieve
from knowledge.services.triple_search import triples_rank
from knowledge.types import Filters, RetrievalMode, RetrievalRequest
from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.graph.retrieval import ScoredTriple
from ragcore.text.request_cache import request_cache
from ragcore.types import Sentence, Source, State
from ragcore.types.answering import AnswerState, Ranked

Component = RunConfiguration.Component
INHERITED: Mapping[str, object] = dict.fromkeys(("top_k", "rerank", "cliff"))  # as site and set say
MAX_SOURCES = 10  # of the support check


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCase:
    """One case, where it is asked, and with whose rights."""

    scope: Scope
    user: User
    row: GoldenRow
    sets: tuple[int, ...]
    mode: RetrievalMode = "hybrid"
    draft: OptionsDraft = NO_DRAFT  # of the configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What happened. What a component does not touch is None or empty."""

    seconds: float
    state: State | None = None  # of the search
    record: AnswerRecord | None = None
    sources: tuple[Ranked, ...] = ()  # before compression, or those that a text was checked against
    support: tuple[Sentence, ...] = ()
    checked: str = ""  # the text whose support was checked
    rewrites: tuple[str, ...] = ()
    context: str | None = None  # after compression
    triples: tuple[ScoredTriple, ...] | None = None  # after re-scoring
    triples_first: tuple[ScoredTriple, ...] | None = None  # in the order of the first stage
    stage_seconds: Mapping[str, float] = field(default_factory=dict)


def observe(case: AskedCase, component: str) -> Observed:
    """Run a component on a case. Raises NothingForComponentError and what the product raises."""
    with request_cache():
        return COMPONENTS[component](case)


def _answer(case: AskedCase) -> Observed:
    return async_to_sync(_answered)(case, _request(case))


def _generation(case: AskedCase) -> Observed:
    """The whole answer, searched for in the relevant documents only; timed is what writes it."""
    observed = async_to_sync(_answered)(case, replace(_request(case), filters=_relevant_documents(case)))
    seconds = observed.record.metadata.generate_time if observed.record else None
    return replace(observed, seconds=seconds or 0.0)


async def _answered(case: AskedCase, request: AnswerRequest) -> Observed:
    start = perf_counter()
    context = await _context(case, request)
    ports = AnswerPorts(context=context)
    record = await compute_answer(context, ports)
    return Observed(
        seconds=perf_counter() - start,
        state=ports.searches[0].retrieved.state if ports.searches else None,
        record=record,
        support=record.sentences,
        rewrites=record.metadata.rewritten_queries,
        stage_seconds=record.metadata.stage_times,
    )


def _retrieval(case: AskedCase) -> Observed:
    start = perf_counter()
    state = retrieve(scope=case.scope, request=_search(case)).state
    return Observed(seconds=perf_counter() - start, state=state, stage_seconds=_seconds(state))


def _rerank(case: AskedCase) -> Observed:
    observed = _retrieval(case)
    return replace(observed, seconds=observed.stage_seconds.get("rerank", 0.0))


def _rewriting(case: AskedCase) -> Observed:
    """Rewrites, and what is found with them."""
    return async_to_sync(_rewritten)(case)


async def _rewritten(case: AskedCase) -> Observed:
    context = await _context(case, _request(case))
    rewriting = ("rewrite", {"method": context.config.options.rewrite_method, "streaming": False, "most": None})
    ports, state = await _run(context, [rewriting, ("search", {})])
    return Observed(
        seconds=sum(record.seconds for record in state.records if record.stage == "rewrite"),
        state=ports.searches[0].retrieved.state if ports.searches else None,
        rewrites=tuple(rewrite.text for rewrite in state.rewrites),
    )


def _compression(case: AskedCase) -> Observed:
    return async_to_sync(_compressed)(case)


async def _compressed(case: AskedCase) -> Observed:
    context = await _context(case, _request(case))
    options = context.config.options
    shorten = {"method": options.compression_method, "ratio": options.compression_ratio, "overflow": options.overflow}
    together = {"budget_tokens": options.context_tokens, "most": options.max_chunks}
    ports, state = await _run(context, [("search", {}), ("compress", {**shorten, **together})])
    before = state.result.ranked[: options.max_chunks] if state.result else ()
    return Observed(
        seconds=sum(record.seconds for record in state.records if record.stage == "compress"),
        state=ports.searches[0].retrieved.state if ports.searches else None,
        sources=before,
        context="\n".join(ranked.passage.text for ranked in state.passages[: options.max_chunks]),
    )


def _support(case: AskedCase) -> Observed:
    """The accepted answer, or the key points, checked against passages of the relevant documents: all is supported."""
    text = next(iter(case.row.answers), "") or "\n\n".join(case.row.key_points)
    if not text:
        raise NothingForComponentError
    request = replace(_search(case), filters=_relevant_documents(case))
    state = retrieve(scope=case.scope, request=request).state
    ranked = [Ranked(passage=c.passage, score=1.0) for c in state.candidates[:MAX_SOURCES] if c.passage is not None]
    sources = [
        Source(number=number, passage=passage.passage, text=passage.passage.text, score=passage.score)
        for number, passage in enumerate(ranked, 1)
    ]
    config = resolve_answer_config(scope=case.scope, request=_request(case))
    start = perf_counter()
    checked = check_answer(text, sources, options=config.options, status="answered")
    return Observed(
        seconds=perf_counter() - start, sources=tuple(ranked), support=tuple(checked.sentences), checked=text
    )


def _triples(case: AskedCase) -> Observed:
    """Facts that the question finds; the passages of the case say which are relevant: subject | relation | object."""
    if not case.row.passages:
        raise NothingForComponentError
    start = perf_counter()
    triples = triples_rank(scope=case.scope, question=case.row.question, sets=case.sets)
    return Observed(seconds=perf_counter() - start, triples=triples.rescored, triples_first=triples.first)


COMPONENTS: Mapping[str, Callable[[AskedCase], Observed]] = {
    Component.ANSWER: _answer,
    Component.RETRIEVAL: _retrieval,
    Component.REWRITING: _rewriting,
    Component.RERANK: _rerank,
    Component.COMPRESSION: _compression,
    Component.GENERATION: _generation,
    Component.SUPPORT: _support,
    Component.TRIPLES: _triples,
}


def _relevant_documents(case: AskedCase) -> Filters:
    ids = documents_named(scope=case.scope, names=case.row.relevant)
    if not ids:
        raise NothingForComponentError
    return Filters(documents=tuple(ids))


def _request(case: AskedCase) -> AnswerRequest:
    overridden = frozenset() if case.mode == "hybrid" else frozenset({"retrieval_mode"})
    return AnswerRequest(
        query=case.row.question,
        sets=case.sets,
        retrieval_mode=case.mode,
        cache=False,
        personal=False,
        given=overridden,
        draft=case.draft,
    )


def _search(case: AskedCase) -> RetrievalRequest:
    return RetrievalRequest(
        query=case.row.question, sets=case.sets, mode=case.mode, options=INHERITED, draft=case.draft
    )


async def _context(case: AskedCase, request: AnswerRequest) -> AnswerContext:
    return AnswerContext(
        scope=case.scope,
        request=request,
        config=await run_db(resolve_answer_config, scope=case.scope, request=request),
        question=build_question(case.row.question, history=(), profile=None, user=case.user),
        events=ignore_event,
    )


async def _run(
    context: AnswerContext, steps: Sequence[tuple[str, Mapping[str, object]]]
) -> tuple[AnswerPorts, AnswerState]:
    ports = AnswerPorts(context=context)
    state = AnswerState(question=context.question)
    return ports, await run_stages(build_stages(list(steps)), state, ports.stage_ports)


def _seconds(state: State) -> dict[str, float]:
    return {record.stage: round(record.seconds, 4) for record in state.records}
