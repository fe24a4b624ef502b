"""Who writes an answer, and what they are told (U10)."""

from __future__ import annotations

from collections.abc import Sequence

from chat.services.prompting import Manner, prompt_messages
from chat.threads import run_cpu
from chat.types import Exchange
from knowledge import engines
from ragcore.generation.complexity import generation_complexity
from ragcore.generation.tiers import choose_tier
from ragcore.ports import ChatMessage, GenerationRequest, LLMGenerator
from ragcore.text.scripts import language_of
from ragcore.types import Source


async def generation_of(
    *,
    query: str,
    manner: Manner,
    sources: Sequence[Source],
    history: Sequence[Exchange],
    critique: str = "",
    estimated_tokens: int | None = None,
) -> tuple[LLMGenerator, GenerationRequest]:
    """The generator for this question, and its request; the extractive one where there is no language model.

    `estimated_tokens`: of prompt and answer, where the client knows better than we do (U10).
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
    return await run_cpu(_generator, request, manner, estimated_tokens), request


def _generator(request: GenerationRequest, manner: Manner, estimated_tokens: int | None) -> LLMGenerator:
    """The standard model; with `tiered`, or a limit of cost or time, the tier that the question needs."""
    options, tiers = manner.options, engines.tiers()
    if not tiers or not (options.tiered or options.max_cost or options.max_latency):
        return engines.generator()
    context = "\n".join(source.text for source in request.sources)
    complexity = generation_complexity(request.question, context, engines.tokenizer())
    if estimated_tokens is None:
        prompt = sum(engines.counter().count(message.content) for message in request.messages)
        estimated_tokens = prompt + request.max_tokens
    choice = choose_tier(
        complexity,
        tiers,
        max_cost=options.max_cost,
        max_latency=options.max_latency,
        prefer_api=options.prefer_api_models,
        estimated_tokens=estimated_tokens,
    )
    return engines.generator_for(choice)
