"""Who writes an answer, and what they are told (U10)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache

from django.conf import settings

from chat.answering.answer_config import Manner, prompt_messages
from chat.executors import run_cpu
from chat.types import Exchange
from knowledge import engines
from ragcore.llm.fallback import FallbackGenerator
from ragcore.llm.generators import EndEvent, RoutedGenerator, UnavailableGenerator
from ragcore.llm.routing import RoutingDecision, choose_tier, generation_complexity
from ragcore.llm.tiers import Price, Tier, parse_prices
from ragcore.llm.usage import CostBudget, MeteredStream, UsageEntry
from ragcore.ports import ChatMessage, GenerationRequest, LLMGenerator
from ragcore.text.scripts import language_of
from ragcore.types import Source, Usage


async def generation_of(
    *,
    query: str,
    manner: Manner,
    sources: Sequence[Source],
    history: Sequence[Exchange],
    critique: str = "",
    estimated_tokens: int | None = None,
    spent: Decimal = Decimal(0),
    absent: Collection[str] = (),
) -> tuple[LLMGenerator, GenerationRequest]:
    """The generator for this question, and its request; the extractive one where there is no language model.

    `estimated_tokens`: of prompt and answer, where the client knows better than we do (U10); `spent`: what the answer
    has cost before, which counts towards its limit; `absent`: models that nobody waits for any more. A generator of
    tiers is a ChosenGenerator, which says why.
    """
    options = manner.options
    messages: tuple[ChatMessage, ...] = ()
    if engines.chat_model() is not None:
        messages = await run_cpu(
            prompt_messages, query=query, manner=manner, sources=sources, history=history, critique=critique
        )
    request = GenerationRequest(
        question=query,
        sources=tuple(sources),
        messages=messages,
        language=language_of(query),
        style=options.style,
        temperature=options.temperature,
        max_tokens=options.max_tokens,
    )
    generator = await run_cpu(_generator, request, manner, estimated_tokens, spent)
    return without(generator, absent), request


def _generator(
    request: GenerationRequest, manner: Manner, estimated_tokens: int | None, spent: Decimal
) -> LLMGenerator:
    """The standard model; with `tiered`, or a limit of cost or time, the tier that the question needs.

    A limit of cost holds for whoever writes in the end: models that it does not allow are not asked.
    """
    options, tiers = manner.options, engines.tiers()
    is_limited = manner.is_free_only or options.max_cost > 0
    if not tiers or not (options.tiered or is_limited or options.max_latency):
        return engines.generator()
    left = Decimal(0) if manner.is_free_only else Decimal(str(options.max_cost)) - spent
    purse = CostBudget(left=left, count=engines.counter().count, estimated_tokens=estimated_tokens)
    context = "\n".join(source.text for source in request.sources)
    choice = choose_tier(
        generation_complexity(request.question, context, engines.tokenizer()),
        tiers,
        max_cost=float(left) if is_limited else None,
        max_latency=options.max_latency,
        prefer_api=options.prefer_api_models,
        estimated_tokens=purse.tokens(request),
    )
    generator = engines.generator_for(choice)
    if is_limited and isinstance(generator, FallbackGenerator):
        purse.takes_unknown = "price_unknown" in choice.reasons
        generator = generator.within(purse)
    return RoutedGenerator(generator=generator, choice=choice)


def without(generator: LLMGenerator, absent: Collection[str]) -> LLMGenerator:
    """The generator for an answer that has waited for these models in vain: it asks others, or fails at once."""
    if not absent:
        return generator
    if isinstance(generator, RoutedGenerator):
        return replace(generator, generator=without(generator.generator, absent))
    if isinstance(generator, FallbackGenerator):
        return generator.without(absent)
    return UnavailableGenerator(name=generator.name) if generator.name in absent else generator


def models_of(generator: LLMGenerator) -> tuple[str, ...]:
    """The names of all models that it may ask."""
    if isinstance(generator, RoutedGenerator):
        return models_of(generator.generator)
    return generator.names if isinstance(generator, FallbackGenerator) else (generator.name,)


def is_free(model: str) -> bool:
    """Whether it is known that tokens of a model cost nothing."""
    price = _price_of(model, engines.tiers())
    return price is not None and not price.prompt and not price.completion


def price_of(model: str, usage: Usage) -> Decimal | None:
    """What tokens of a model cost, in the currency of the price table; None where its price is not known."""
    price = _price_of(model, engines.tiers())
    return price.of(usage) if price is not None else None


@cache
def _price_of(model: str, tiers: tuple[Tier, ...]) -> Price | None:
    """Of a tier, or of the table, where the judge has a model of its own."""
    for tier in tiers:
        if tier.model == model and tier.price_in is not None and tier.price_out is not None:
            return Price(prompt=tier.price_in, completion=tier.price_out)
    return _table(settings.LLM_PRICES or "").get(model)


@cache
def _table(prices: str) -> dict[str, Price]:
    return parse_prices(prices) if prices else {}


def choice_of(generator: LLMGenerator | None) -> RoutingDecision | None:
    """Why this generator writes; None where there was nothing to choose."""
    return generator.choice if isinstance(generator, RoutedGenerator) else None


def spent_of(generator: LLMGenerator, reading: MeteredStream) -> UsageEntry:
    """What one request for a text has used; of those of a ladder together."""
    end = reading.end if isinstance(reading.end, EndEvent) else EndEvent()
    model = end.model or generator.name
    cost = end.cost if end.tier is not None else price_of(model, reading.usage)
    return UsageEntry(purpose="writing", model=model, usage=reading.usage, cost=cost)
