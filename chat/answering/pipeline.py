"""From a question to an answer: understand, retrieve, judge answerability, generate, ground."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from chat import metrics
from chat.answering.answerability import Verdict, answers_by_probability, judge_answerability
from chat.answering.approved import approved_record
from chat.answering.attached_files import AttachedSubject, attached_subject, is_wish_for_summary
from chat.answering.cache import WAIT_SECONDS, from_cache, is_cacheable, through_cache
from chat.answering.cache_key import cache_key, understand_by_rules
from chat.answering.context import AnswerContext
from chat.answering.facts import AnswerFacts, answer_facts, join_facts, without_facts
from chat.answering.former_values import lacks_former
from chat.answering.generation import (
    generate,
    raise_if_degraded,
    refuse,
    reply_to_small_talk,
    show_loop_text,
    show_search_results,
    show_text,
)
from chat.answering.grounding import (
    build_record,
    check_answer,
    check_search_results,
    ground,
    relevance_judge,
    small_talk_record,
    sources_of_text,
    unchecked_text,
)
from chat.answering.metadata import SILENT_MODELS, add_metadata, asked_with, search_evidence
from chat.answering.missing_remarks import missing_remark
from chat.answering.preparation import Preparation, retrieve, understand
from chat.answering.related import related_sources
from chat.answering.retrieval import (
    SearchOutcome,
    complete_handling,
    complete_procedures,
    complete_tables,
    without_further,
)
from chat.answering.similar_questions import SimilarQuestions
from chat.answering.stage_ports import AnswerPorts, report_context
from chat.answering.streaming import DOUBTED, Draft
from chat.answering.thread import retrieve_in_thread
from chat.answering.whole_documents import sources_to_sum_up, summary_verdict
from chat.answering.whole_editions import complete_editions
from chat.answering.wide_judgement import judge_widely
from chat.answering.wished_sources import in_language
from chat.concurrency.executors import run_cpu, run_db
from chat.selectors import citations_still_askable
from chat.types import AnswerRecord
from knowledge import model_registry
from knowledge.options_draft import NO_DRAFT
from ragcore.extractive.edition_changes import asks_changes
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.summary_wish import wants_summary
from ragcore.llm.client import LlmClient
from ragcore.text.question_core import question_core
from ragcore.text.value_kinds import ValueKind
from ragcore.types import Source
from ragcore.types.answering import AnswerState

DOUBTED_CONFIDENCE = 0.5  # at most, of an answer that by the language model may not be one
MAX_RESULTS = 5  # on a page of search results in the place of an answer


async def answer(context: AnswerContext) -> AnswerRecord:
    """Answer a question, reporting `context`, `step`, `chunk` (web: `block`, `tail`) events on the way.

    Does not store the answer. Raises what the search raises, and ModelUnavailableError only for strict clients;
    everything else that can go wrong with a model gives a degraded answer.
    """
    # what an attached file says is nobody else's, and a draft holds for nobody yet
    may_share = context.request.cache and context.attached is None and context.request.draft == NO_DRAFT
    if may_share and context.request.instead_of is None and (approved := await approved_record(context)) is not None:
        metrics.ANSWERS.labels(approved.status, "approved").inc()
        return approved
    record = await (reply_from_cache(context) if may_share else compute_answer(context))
    metrics.ANSWERS.labels(record.status, record.metadata.cache).inc()
    # a kept answer may have been made in another experiment with the same settings
    return replace(record, metadata=replace(record.metadata, experiment=context.config.experiment))


async def compute_answer(context: AnswerContext, ports: AnswerPorts | None = None) -> AnswerRecord:
    """The answer by all steps. `ports`: for a caller that reads afterwards what was searched and found."""
    start, ports = time.perf_counter(), ports or AnswerPorts(context=context)
    state = await understand(context, ports)
    if state.analysis is not None and not state.analysis.needs_retrieval and not is_wish_for_summary(context):
        options = context.config.options
        preparation = Preparation(state=state, mode=options.mode, strategy=options.strategy)
        draft = await reply_to_small_talk(context, ports)
        record = await run_cpu(small_talk_record, draft.text)
    else:
        files = await run_db(attached_subject, context, state) if context.attached is not None else None
        if files is None and context.has_facts:
            ports.facts = await run_db(answer_facts, context, state)
        search = retrieve_in_thread if files is None and context.cited_chunks else partial(retrieve, files=files)
        preparation = await search(context, ports, state)
        raise_if_degraded(context, preparation.state)
        draft, record = await answer_from_sources(context, ports, preparation)
        if draft.is_fallback:
            preparation = replace(preparation, mode="fallback")
        record = replace(record, confidence=min(record.confidence, _most_by_loop(preparation)))
    if draft.stopped and not record.text.strip():
        record = replace(record, status="stopped", confidence=0.0)
    trace = {**record.trace, "asked": asked_with(context)}
    if silent := ports.silent_models:
        trace[SILENT_MODELS] = silent
    record = replace(record, trace=trace)
    seconds = time.perf_counter() - start
    evidence = await run_cpu(search_evidence, preparation.state)
    return add_metadata(context, record, preparation, ports, draft, seconds=seconds, evidence=evidence)


def _most_by_loop(preparation: Preparation) -> float:
    """The grade of a loop; without a language model 1, since what is quoted has a confidence of its own."""
    is_graded = model_registry.chat_model() is not None or preparation.mode == "fallback"
    return preparation.most_confidence if is_graded else 1.0


async def answer_from_sources(
    context: AnswerContext, ports: AnswerPorts, preparation: Preparation
) -> tuple[Draft, AnswerRecord]:
    """A text from the numbered sources, or in its place a refusal or search results; checked against the sources.

    What a loop quoted without a language model is quoted anew: with whole tables, and in its conversation.
    """
    state, files = preparation.state, preparation.files
    if context.stop.is_set():
        return await end_stopped(context, ports, state)
    if model_registry.chat_model() is None:
        state = replace(state, answer_text=None)
    facts = ports.facts
    if facts is not None:
        state = replace(state, sources=without_facts(state.sources))
    options = context.config.options
    outcome, line = ports.main_search(state), ""
    if context.history:
        state, outcome, line = await in_language(context, state, outcome)
    await ports.report_context(len(state.sources), ports.other_forms(state.standalone))
    judgement = await _judgement(context, files, state, outcome)
    state, outcome, verdict = judgement.state, judgement.outcome, judgement.verdict
    sources, introduction = state.sources, judgement.introduction
    if not verdict.is_answerable and files is not None:
        sources = tuple(files.closest_first(sources))
    is_stated = facts is not None and bool(facts.stated)
    if not verdict.is_answerable and not is_stated and not context.request.filters.names_documents:
        sources = await run_cpu(related_sources, sources, outcome)
    if not sources and not is_stated:
        draft = await refuse(context, introduction=introduction)
        checked = await run_cpu(check_answer, draft.text, (), options=options, status="refused")
        return draft, await run_cpu(build_record, checked, outcome)
    if not verdict.is_answerable and not is_stated:
        return await list_search_results(
            context,
            state.query,
            outcome,
            sources[:MAX_RESULTS],
            introduction=introduction,
            missing=verdict.missing_values,
        )
    own_verdict = partial(_is_answerable, context, state, outcome, sources, facts)
    if facts is not None:
        state, verdict = join_facts(facts, state, verdict)
    state = await complete_tables(context, state)
    if asks_changes(question_core(state.query)):
        state = await complete_editions(context, state)
    draft = await generate(context, ports, state, verdict, is_answerable=own_verdict, files=files, line=line)
    llm = ports.stage_ports.llm if options.judge_support and not verdict.is_quoted else None
    record = await ground_draft(
        context, draft, state, outcome, llm=llm, files=files, facts=facts, is_summary=judgement.is_summary
    )
    if draft.degraded:  # also when what could be put together is a refusal
        record = replace(record, status="degraded")
    return draft, _with_confidence(record, draft, verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgement:
    """The verdict on the sources of an answer, with the sources that it is about."""

    state: AnswerState
    outcome: SearchOutcome
    verdict: Verdict
    introduction: str = ""  # what is said before a refusal
    is_summary: bool = False  # of a whole document


async def _judgement(
    context: AnswerContext, files: AttachedSubject | None, state: AnswerState, outcome: SearchOutcome
) -> _Judgement:
    """Whether the sources answer: those at hand, the rest of a procedure's document, or those of a wider search."""
    is_wish = files is None and wants_summary(state.query)
    if is_wish and (whole := await sources_to_sum_up(context, state)):
        state = replace(state, sources=whole)
        return _Judgement(state=state, outcome=outcome, verdict=summary_verdict(), is_summary=True)
    if files is None:
        state = await complete_handling(context, await complete_procedures(context, state))
    verdict = await _judge(context, files, state, outcome)
    introduction = files.introduction() if files is not None else ""
    if verdict.missing is not None:
        introduction = introduction or missing_remark(state.query, verdict.missing)
    if verdict.may_widen and (wide := await judge_widely(context, without_further(state), outcome)) is not None:
        state, outcome, verdict = wide.state, wide.outcome, wide.verdict
    may_lack = bool(context.history) and verdict.is_answerable and files is None
    if may_lack and await lacks_former(context, state.query, state.sources):
        verdict = Verdict(is_answerable=False)
    return _Judgement(state=state, outcome=outcome, verdict=verdict, introduction=introduction)


def _with_confidence(record: AnswerRecord, draft: Draft, verdict: Verdict) -> AnswerRecord:
    """The record with its confidence: that of the verdict for quotations, which are supported whatever they answer."""
    most = min(verdict.most_confidence, DOUBTED_CONFIDENCE if DOUBTED in draft.warnings else 1.0)
    is_supported = bool(record.sentences) and all(sentence.support == "supported" for sentence in record.sentences)
    is_quoted = draft.model == ExtractiveGenerator.name and verdict.evidence is not None
    confidence = most if is_quoted and is_supported else min(record.confidence, most)
    trace = {**record.trace, "confidence": verdict.evidence.values()} if verdict.evidence is not None else record.trace
    return replace(record, confidence=round(confidence, 4), trace=trace)


async def _is_answerable(
    context: AnswerContext,
    state: AnswerState,
    outcome: SearchOutcome,
    passages: Sequence[Source],
    facts: AnswerFacts | None,
) -> bool:
    """Whether the refusal of a language model is not believed: a fact states the answer, or the passages surely do."""
    if facts is not None and facts.stated:
        return True
    return await answers_by_probability(context, state, outcome, passages)


async def _judge(
    context: AnswerContext, files: AttachedSubject | None, state: AnswerState, outcome: SearchOutcome
) -> Verdict:
    """Whether an answer is worth writing: from attached files where the question is about them, else from documents."""
    if not state.sources:
        return Verdict(is_answerable=False)
    if files is not None and files.answers:
        return files.verdict()
    return await judge_answerability(context, state, outcome, state.sources)


async def ground_draft(
    context: AnswerContext,
    draft: Draft,
    state: AnswerState,
    outcome: SearchOutcome,
    *,
    llm: LlmClient | None = None,
    files: AttachedSubject | None = None,
    facts: AnswerFacts | None = None,
    is_summary: bool = False,
) -> AnswerRecord:
    """The draft against its sources; what could not be checked is a warning of the draft.

    `is_summary`: of a whole document, of which no sentence answers a question.
    """
    if files is not None and files.is_alone:
        judge = files.judge()
    elif is_summary:
        judge = None
    else:
        judge = relevance_judge(files.plain_question if files is not None else state.query, outcome)
        judge = replace(judge, stated=facts.weights) if facts is not None else judge
    status = "degraded" if draft.degraded else "answered"
    sources = sources_of_text(draft.model, state, draft.numbering)
    check = partial(
        check_answer,
        draft.text,
        sources,
        options=context.config.options,
        status=status,
        judge=judge,
        is_quoted=draft.model == ExtractiveGenerator.name,
    )
    unchecked = unchecked_text(draft.text, sources, status=status)
    record, warnings = await ground(check, unchecked=unchecked, outcome=outcome, llm=llm)
    draft.warnings += warnings
    return record


async def list_search_results(
    context: AnswerContext,
    question: str,
    outcome: SearchOutcome,
    sources: Sequence[Source],
    *,
    introduction: str = "",
    missing: Sequence[ValueKind] = (),
) -> tuple[Draft, AnswerRecord]:
    """A page of search results in the place of an answer. `missing`: kinds of values that none of them gives."""
    draft = await show_search_results(context, sources, introduction=introduction, missing=missing)
    judge = relevance_judge(question, outcome)
    check = partial(check_search_results, draft.text, sources, options=context.config.options, judge=judge)
    unchecked = unchecked_text(draft.text, sources, status="search_results")
    record, draft.warnings = await ground(check, unchecked=unchecked, outcome=outcome)
    return draft, record


async def end_stopped(context: AnswerContext, ports: AnswerPorts, state: AnswerState) -> tuple[Draft, AnswerRecord]:
    """What there is when the reader stops before the writing: a text of a loop, else the sources without any text."""
    draft = Draft()
    if state.answer_text is not None:
        draft = await show_loop_text(context, state.answer_text, state.sources)
    draft.stopped = True
    await ports.report_context(len(state.sources), ports.other_forms(state.standalone))
    if not ports.searches:
        return draft, AnswerRecord(text="", html="", status="stopped", confidence=0.0)
    outcome = ports.main_search(state)
    if not draft.text:
        unchecked = unchecked_text("", state.sources, status="stopped")
        return draft, await run_cpu(build_record, unchecked, outcome)
    return draft, await ground_draft(context, draft, state, outcome)


async def reply_from_cache(context: AnswerContext) -> AnswerRecord:
    """The kept answer to the same question under the same rights, or a new one that is kept."""
    start = time.perf_counter()

    async def is_usable(record: AnswerRecord) -> bool:
        """Rights are part of the key; each citation is checked again all the same."""
        return await run_db(citations_still_askable, scope=context.scope, request=context.request, record=record)

    understood, depends_on_history = await run_cpu(understand_by_rules, context)
    key = await run_db(cache_key, context, understood, depends_on_history=depends_on_history)
    kind, record = "exact", None
    similar = SimilarQuestions(key=key, question=understood.text) if context.config.options.semantic_cache else None
    if similar is not None and (record := await similar.answer(is_usable)) is not None:
        kind, is_hit = "semantic", True
    else:
        record, is_hit = await through_cache(
            key.name,
            is_usable=is_usable,
            compute=partial(compute_answer, context),
            is_stopped=context.stop.is_set,
            may_keep=key.may_keep,
            wait_seconds=min(WAIT_SECONDS, context.deadline.remaining_before_writing()),
        )
        metrics.CACHE.labels("exact", "hit" if is_hit else "miss").inc()
    if not is_hit:
        if similar is not None and is_cacheable(record) and key.may_keep(record):
            await similar.remember()
        return record
    if context.is_streaming:
        await report_context(context, record.metadata.chunks_found)
        await show_text(context, record.text, [citation.number for citation in record.cited])
    other = understood.text if understood.text != context.question.text else None
    return from_cache(record, seconds=time.perf_counter() - start, kind=kind, understood=other)
