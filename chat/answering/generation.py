"""Produces and streams the text of an answer: a model's, a loop's, a refusal, or a page of search results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from django.utils.translation import gettext as _

from chat.answering.answer_language import below_line
from chat.answering.answerability import Verdict
from chat.answering.attached_files import AttachedSubject
from chat.answering.capabilities import capabilities_text
from chat.answering.context import AnswerContext
from chat.answering.fallback import format_search_results, refusal_text, small_talk_reply
from chat.answering.model_routing import route_generation
from chat.answering.stage_ports import AnswerPorts
from chat.answering.streaming import AnswerWriter, Draft, draft_from_loop
from chat.concurrency.executors import run_cpu, run_db
from chat.rendering.text_emitter import TextEmitter
from knowledge import model_registry
from knowledge.model_counters import writing_counter
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.errors import ModelUnavailableError
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.markers import document_ids
from ragcore.grounding.plain_urls import known_addresses
from ragcore.grounding.trusted_writing import Check, TrustedWriting
from ragcore.llm.model_profile import profile_of
from ragcore.llm.stated_answer import is_stated
from ragcore.llm.usage import total_known_cost
from ragcore.ports import LLMGenerator
from ragcore.prompts.voice import one_line
from ragcore.text.scripts import language_of
from ragcore.text.value_kinds import ValueKind
from ragcore.types import Source
from ragcore.types.answering import AnswerState, WrittenText
from ragcore.understanding.small_talk import small_talk_kind


async def generate(
    context: AnswerContext,
    ports: AnswerPorts,
    state: AnswerState,
    verdict: Verdict,
    *,
    is_answerable: Callable[[], Awaitable[bool]],
    files: AttachedSubject | None = None,
    line: str = "",
) -> Draft:
    """The text that a loop has chosen, or one written from the sources now: those that answer by the verdict.

    `is_answerable`: whether the sources answer by the product's own verdict; looked at where a model refuses. `line`:
    what stands above a quoted answer.

    Raises ModelUnavailableError for strict clients only.
    """
    if state.answer_text is not None:
        return await show_loop_text(context, state.answer_text, state.sources)
    await context.events("step", name="write", detail=_("Writing"))
    generator, request = await route_generation(
        context,
        state.query,
        _inside(state.sources, verdict.inside) if verdict.inside else state.sources,
        spent=total_known_cost(ports.usage_entries),
        unavailable=ports.unavailable_models,
        files=files,
        facts=ports.facts,
        by_facts=verdict.by_facts,
    )
    further = _inside(state.further_sources, verdict.inside) if verdict.inside else state.further_sources
    request = replace(
        request,
        further_sources=tuple(further),
        whole_versions=state.whole_versions,
        is_follow_up=bool(context.cited_before) and state.query != context.question.text,
        earlier_question=verdict.earlier_question,
    )
    if line:
        request = below_line(line, request)
    if verdict.is_quoted:
        generator = model_registry.extractive_generator()
    writer = AnswerWriter(
        request=request,
        output=_emitter(context, (*state.sources, *state.further_sources)),
        events=context.events,
        stop=context.stop,
        refusal=refusal_text(context.request.query, context.config.options.style),
        strict=context.request.strict,
        generator=generator,
        trust=trusted_writing(generator, is_answerable, _doubts(ports, state.query, verdict)),
        streamed=context.is_streaming,
        seconds=context.deadline.first_token_seconds(generator),
    )
    with context.deadline.paused():
        return await writer.run()


def trusted_writing(
    generator: LLMGenerator, is_answerable: Callable[[], Awaitable[bool]], states: Check | None = None
) -> TrustedWriting | None:
    """How far the text of a generator is trusted; None for one that quotes. `states`: see TrustedWriting."""
    extract = model_registry.extractive_generator()
    if generator is extract or not isinstance(extract, ExtractiveGenerator):
        return None
    return TrustedWriting(
        profile=profile_of(generator),
        extract=extract,
        tokenizer=model_registry.tokenizer(),
        counter=writing_counter(),
        embedder=CachingEmbedder(model_registry.embedder()),
        is_answerable=is_answerable,
        states=states,
    )


def _doubts(ports: AnswerPorts, question: str, verdict: Verdict) -> Check | None:
    """Tells whether a quoted text states the answer: the verdict, or the model of short requests; None: neither."""
    if verdict.is_certain:
        return None
    return _denies if verdict.is_doubtful else _stated_by(ports, question)


async def _denies(_text: str) -> bool:
    return False


def _stated_by(ports: AnswerPorts, question: str) -> Check | None:
    llm = ports.stage_ports.llm
    if llm is None or not profile_of(llm.model).checks:
        return None

    return partial(is_stated, llm, question)


def _inside(sources: Sequence[Source], documents: Collection[int]) -> list[Source]:
    return [source for source in sources if source.passage.document in documents or source.passage.fact is not None]


async def show_loop_text(context: AnswerContext, loop_text: WrittenText, sources: Sequence[Source]) -> Draft:
    """The text that a loop has chosen."""
    output = _emitter(context, sources)
    await output.write(loop_text.text)
    return draft_from_loop(loop_text, (await output.finish()).strip(), output.numbering)


async def refuse(context: AnswerContext, *, introduction: str = "") -> Draft:
    """The refusal sentence, where nothing was found; `introduction`: said before it."""
    text = refusal_text(context.request.query, context.config.options.style)
    return Draft(text=await show_text(context, _introduced(introduction, text), ()))


async def show_search_results(
    context: AnswerContext,
    sources: Sequence[Source],
    *,
    introduction: str = "",
    missing: Sequence[ValueKind] = (),
) -> Draft:
    """A page of search results, where the sources probably do not answer. `missing`: values that none of them gives."""
    text = _introduced(introduction, await run_cpu(_format_results, context.request.query, sources, missing))
    numbers = [source.number for source in sources]
    return Draft(text=await show_text(context, text, numbers, known_urls=known_addresses(sources)))


async def reply_to_small_talk(context: AnswerContext, ports: AnswerPorts) -> Draft:
    """A reply to what needs no documents."""
    await ports.report_context(0)
    if small_talk_kind(context.question.text) == "assistant":
        name = one_line(context.config.voice.assistant_name)
        request, language = context.request, context.question.language
        about = partial(capabilities_text, scope=context.scope, sets=request.sets, language=language, name=name)
        return Draft(text=await show_text(context, await run_db(about), (), known_urls=()))
    text, model = await small_talk_reply(context.question, llm=ports.stage_ports.llm, voice=context.config.voice)
    if context.stop.is_set():
        return Draft(model=model, stopped=True)
    return Draft(text=await show_text(context, text, (), known_urls=()), model=model)


async def show_text(
    context: AnswerContext, text: str, numbers: Sequence[int], *, known_urls: Collection[str] | None = None
) -> str:
    """Emit a text that is known already. `known_urls`: the bare addresses that stay links; None: all."""
    output = TextEmitter(
        events=context.events, numbers=numbers, ids={}, blocks=context.renders_blocks, known_urls=known_urls
    )
    await output.write(text)
    return await output.finish()


def raise_if_degraded(context: AnswerContext, state: AnswerState) -> None:
    """A strict client gets no text that a loop put together without the model. Raises ModelUnavailableError."""
    if context.request.strict and state.answer_text is not None and state.answer_text.is_degraded:
        raise ModelUnavailableError(strict=True)


def _introduced(introduction: str, text: str) -> str:
    return f"{introduction}\n\n{text}" if introduction else text


def _format_results(query: str, sources: Sequence[Source], missing: Sequence[ValueKind]) -> str:
    return format_search_results(
        query, sources, tokenizer=model_registry.tokenizer(), language=language_of(query), missing=missing
    )


def _emitter(context: AnswerContext, sources: Sequence[Source]) -> TextEmitter:
    return TextEmitter(
        events=context.events,
        numbers=[source.number for source in sources],
        ids=document_ids(sources),
        blocks=context.renders_blocks,
        known_urls=known_addresses(sources),
        renumbers=True,
    )
