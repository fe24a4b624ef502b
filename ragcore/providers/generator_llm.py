"""Answers written by a language model."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ragcore.ports import ChatModel, GenerationEvent, GenerationRequest


class LLMAnswerGenerator:
    """Implements ports.LLMGenerator: passes the rendered prompt to a chat model."""

    def __init__(self, chat: ChatModel) -> None:
        self.chat = chat
        self.name = chat.name

    def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        return self.chat.stream(request.messages, temperature=request.temperature, max_tokens=request.max_tokens)
