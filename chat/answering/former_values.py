"""Follow-ups for the value before: nothing is said where the sources tell only what holds now."""

from __future__ import annotations

from collections.abc import Sequence

from chat.answering.context import AnswerContext
from chat.concurrency.executors import run_cpu
from knowledge import model_registry
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.extractive.former_values import has_former
from ragcore.types import Source
from ragcore.understanding.value_times import asks_former, value_time_wish


async def lacks_former(context: AnswerContext, question: str, sources: Sequence[Source]) -> bool:
    """Whether a message asks for the value before of what was asked last, and no source tells one.

    False where a language model reads the sources, and where what was asked last names a side of its own: "and before"
    behind "the rate after the repair". `question`: the standalone one.
    """
    if not context.history or model_registry.chat_model() is not None:
        return False
    if value_time_wish(context.question.text) != "former" or not asks_former(question):
        return False
    embedder = CachingEmbedder(model_registry.embedder())
    return not await run_cpu(has_former, question, sources, embedder, model_registry.tokenizer())
