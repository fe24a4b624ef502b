"""Which model writes an answer, with which prompt, and what its tokens cost."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal

from chat.answering.answer_config import AnswerConfig
from chat.answering.attached_files import AttachedSubject
from chat.answering.context import AnswerContext
from chat.answering.facts import AnswerFacts
from chat.concurrency.executors import run_cpu
from chat.conversations.memory import history_window
from knowledge import model_registry
from knowledge.model_counters import counter_of_model, writing_counter
from ragcore.grounding.context import render_context
from ragcore.llm.client import fenced
from ragcore.llm.fallback import FallbackGenerator
from ragcore.llm.generators import EndEvent, RoutedGenerator, UnavailableGenerator
from ragcore.llm.tiers import Price, RoutingDecision, Tier, choose_tier, generation_complexity
from ragcore.llm.usage import CostBudget, MeteredStream, UsageEntry
from ragcore.ports import AnswerPart, ChatMessage, GenerationRequest, LLMGenerator
from ragcore.prompts import load
from ragcore.prompts.languages import language_name
from ragcore.prompts.refusals import refusal
from ragcore.prompts.voice import named, voice_prompt
from ragcore.text.question_core import message_question
from ragcore.text.scripts import language_of
from ragcore.types import Source, Usage
from ragcore.understanding.answer_language import wish_in_conversation

PERSONA = "You are an expert on the documents of this organisation."  # of sets that name no other
RESEARCH = "ultimate"  # mode in which a model that can think does so at length
OTHER_LANGUAGE = "the same language as the question"


async def route_generation(
    context: AnswerContext,
    query: str,
    sources: Sequence[Source],
    *,
    spent: Decimal,
    unavailable: Collection[str] = (),
    critique: str = "",
    files: AttachedSubject | None = None,
    facts: AnswerFacts | None = None,
    by_facts: bool = False,
) -> tuple[LLMGenerator, GenerationRequest]:
    """The generator for this question, and its request; the extractive one where there is no language model.

    `spent`: the cost of the answer so far, which counts towards its limit; `unavailable`: names of models that are not
    asked again; `critique`: what was wrong with the answer before; `files`: that the question is about; `facts`: for
    the question, `by_facts`: nothing else answers it. A generator chosen by tier is a RoutedGenerator, which says why.
    """
    options = context.config.options
    messages: tuple[ChatMessage, ...] = ()
    if model_registry.chat_model() is not None:
        text = _model_question(context, query)
        messages = await run_cpu(build_messages, context, text, sources, critique=critique, files=files, facts=facts)
    request = GenerationRequest(
        question=query,
        sources=tuple(sources),
        messages=messages,
        language=language_of(query),
        style=options.style,
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        is_thorough=options.mode == RESEARCH,
        parts=_parts(query, sources, files, facts, by_facts=by_facts),
    )
    estimated_tokens = context.request.constraints.estimated_tokens
    generator = await run_cpu(_generator, request, context.config, estimated_tokens, spent)
    return exclude_models(generator, unavailable), request


def build_messages(
    context: AnswerContext,
    query: str,
    sources: Sequence[Source],
    *,
    critique: str = "",
    files: AttachedSubject | None = None,
    facts: AnswerFacts | None = None,
) -> tuple[ChatMessage, ...]:
    """The system prompt, the earlier turns that fit, and the sources with the question.

    A client's own prompt stands behind the rules, which it cannot lift.
    """
    config, language = context.config, language_of(query)
    system = load("answer_system").render(
        persona=named(config.voice, config.persona or PERSONA),
        refusal=refusal(config.options.style, language),
        style=load(f"style_{config.options.style}").text,
        language=language_name(language, otherwise=OTHER_LANGUAGE),
    )
    recap = [recap_message(context.summary, language)] if context.summary else []
    turns = history_window(
        context.history,
        fixed=system + query + "".join(message.content for message in recap),
        counter=writing_counter(),
        budget_tokens=config.history_tokens,
    )
    earlier = [
        ChatMessage(role=role, content=content)
        for turn in turns
        for role, content in (("user", turn.question), ("assistant", turn.answer))
    ]
    if voice := voice_prompt(config.voice):
        system = f"{system}\n\n{voice}"
    if config.template:
        system = f"{system}\n\n{load('answer_template').render(template=config.template)}"
    if config.system_prompt:
        system = f"{system}\n\n{load('answer_own').render(instructions=config.system_prompt)}"
    question = load("answer_user").render(context=render_context(sources), question=fenced(query))
    if files is not None and (instructions := files.instructions(sources)):
        question = f"{question}\n\n{instructions}"
    if facts is not None and (chain := facts.instructions(sources)):
        question = f"{question}\n\n{chain}"
    if critique:
        question = f"{question}\n\n{load('answer_critique').render(critique=fenced(critique))}"
    return (
        ChatMessage(role="system", content=system),
        *recap,
        *earlier,
        ChatMessage(role="user", content=question),
    )


def _parts(
    query: str,
    sources: Sequence[Source],
    files: AttachedSubject | None,
    facts: AnswerFacts | None,
    *,
    by_facts: bool,
) -> tuple[AnswerPart, ...]:
    """How an answer is put together from quotations; () for one answer from all sources."""
    if files is not None:
        return files.parts(sources)
    return facts.parts(query, sources, alone=by_facts) if facts is not None else ()


def recap_message(summary: str, language: str) -> ChatMessage:
    """The system message with the summary of earlier turns that no longer fit the prompt."""
    head = "前情提要: " if language == "zh" else "Earlier in this conversation: "
    return ChatMessage(role="system", content=f"{head}{fenced(summary)}")


def _generator(
    request: GenerationRequest, config: AnswerConfig, estimated_tokens: int | None, spent: Decimal
) -> LLMGenerator:
    """The standard model; with `tiered`, or a limit of cost or time, the tier that the question needs.

    A limit of cost holds for every model of a fallback: those that it does not allow are not asked.
    """
    options, tiers = config.options, model_registry.tiers()
    is_limited = is_cost_limited(config)
    if not is_routed(config):
        return model_registry.generator()
    remaining = Decimal(0) if config.is_free_only else Decimal(str(options.max_cost)) - spent
    budget = CostBudget(
        remaining=remaining,
        count=writing_counter().count,
        count_of=lambda model: counter_of_model(model).count,
        estimated_tokens=estimated_tokens,
    )
    context = "\n".join(source.text for source in request.sources)
    choice = choose_tier(
        generation_complexity(request.question, context, model_registry.tokenizer()),
        tiers,
        max_cost=float(remaining) if is_limited else None,
        max_latency=options.max_latency,
        prefer_api=options.prefer_api_models,
        estimated_tokens=budget.tokens(request),
    )
    generator = model_registry.generator_for(choice)
    if is_limited and isinstance(generator, FallbackGenerator):
        budget.takes_unknown = "price_unknown" in choice.reasons
        generator = generator.within(budget)
    return RoutedGenerator(generator=generator, choice=choice)


def is_cost_limited(config: AnswerConfig) -> bool:
    """Whether the answer has a limit of cost, also of 0."""
    return config.is_free_only or config.options.max_cost > 0


def is_routed(config: AnswerConfig) -> bool:
    """Whether the model of an answer is chosen by tier."""
    is_wanted = config.options.tiered or is_cost_limited(config) or config.options.max_latency > 0
    return is_wanted and bool(model_registry.tiers())


def exclude_models(generator: LLMGenerator, names: Collection[str]) -> LLMGenerator:
    """The generator without these models, which did not answer before: it asks others, or fails at once."""
    if not names:
        return generator
    if isinstance(generator, RoutedGenerator):
        return replace(generator, generator=exclude_models(generator.generator, names))
    if isinstance(generator, FallbackGenerator):
        return generator.without(names)
    return UnavailableGenerator(name=generator.name) if generator.name in names else generator


def model_names(generator: LLMGenerator) -> tuple[str, ...]:
    """The names of all models that it may ask."""
    if isinstance(generator, RoutedGenerator):
        return model_names(generator.generator)
    return generator.names if isinstance(generator, FallbackGenerator) else (generator.name,)


def is_free(model: str) -> bool:
    """Whether it is known that tokens of a model cost nothing."""
    price = _price_of(model, model_registry.tiers())
    return price is not None and not price.prompt and not price.completion


def price_of(model: str, usage: Usage) -> Decimal | None:
    """What tokens of a model cost, in the currency of the price table; None where its price is not known."""
    price = _price_of(model, model_registry.tiers())
    return price.of(usage) if price is not None else None


def _price_of(model: str, tiers: tuple[Tier, ...]) -> Price | None:
    """Of a tier, or of the model by its name, such as the judge's."""
    for tier in tiers:
        if tier.model == model and tier.price_in is not None and tier.price_out is not None:
            return Price(prompt=tier.price_in, completion=tier.price_out)
    return model_registry.model_price(model)


def routing_decision(generator: LLMGenerator | None) -> RoutingDecision | None:
    """Why this generator writes; None where there was nothing to choose."""
    return generator.choice if isinstance(generator, RoutedGenerator) else None


def usage_entry(generator: LLMGenerator, reading: MeteredStream) -> UsageEntry:
    """What one request for a text has used; of all models that were asked in turn, together."""
    end = reading.end if isinstance(reading.end, EndEvent) else EndEvent()
    model = end.model or generator.name
    cost = end.cost if end.tier is not None else price_of(model, reading.usage)
    return UsageEntry(purpose="writing", model=model, usage=reading.usage, cost=cost)


def _model_question(context: AnswerContext, question: str) -> str:
    """The question for a language model: with the wish for another language, and of a long message all that it says."""
    questions = [turn.question for turn in context.history]
    if questions and wish_in_conversation(context.question.text, questions) is not None:
        return f"{question} ({context.question.text})"
    return context.question.text if question == message_question(context.question.text) else question
