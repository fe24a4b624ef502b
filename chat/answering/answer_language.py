"""A wish for the answer before in another language, and the line above an answer that is not translated."""

from __future__ import annotations

from dataclasses import replace

from chat.answering.context import AnswerContext
from knowledge import model_registry
from ragcore.ports import AnswerPart, GenerationRequest
from ragcore.types import Language
from ragcore.understanding.answer_language import wish_in_conversation


def wished_language(context: AnswerContext) -> Language | None:
    """The language in which the message wants the answer before; None where it wants none, or a model can translate."""
    if not context.history or model_registry.chat_model() is not None:
        return None
    return wish_in_conversation(context.question.text, [turn.question for turn in context.history])


def below_line(line: str, request: GenerationRequest) -> GenerationRequest:
    """The request with a line above the answer."""
    sources = (*request.sources, *request.further_sources)
    first, *rest = request.parts or (AnswerPart(question=request.question, sources=sources),)
    return replace(request, parts=(replace(first, lead=f"{line}{first.lead}"), *rest))
