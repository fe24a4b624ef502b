"""A chat model that is not asked while it is known not to answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from copy import copy
from typing import Any, Protocol

from ragcore.errors import ModelUnavailableError
from ragcore.llm.client import with_short_retries
from ragcore.llm.fallback import closed
from ragcore.llm.model_profile import UNTESTED, ModelProfile
from ragcore.llm.request_fields import with_fields
from ragcore.model_limits import limits_of
from ragcore.ports import ChatMessage, ChatModel, GenerationEvent


class CallRecord(Protocol):
    """What became of the latest calls of one model. Thread-safe; `note_…` may wait for a store."""

    def refusal(self) -> ModelUnavailableError | None:
        """The last failure, where the model is not to be asked now."""
        ...

    def note_success(self, *, reported: str = "") -> None:
        """`reported`: what the server calls the model."""
        ...

    def note_failure(self, error: ModelUnavailableError) -> None: ...


class GuardedChatModel:
    """Implements ports.ChatModel: asks the model and records what became of it.

    While the record refuses, the last failure is raised at once. A prompt that the model does not take is no failure of
    the model, and a caller who leaves says nothing about it.
    """

    def __init__(self, model: ChatModel, record: CallRecord, profile: ModelProfile = UNTESTED) -> None:
        self.name = model.name
        self.limits = limits_of(model)
        self.profile = profile
        self._model = model
        self._record = record

    def with_short_retries(self) -> GuardedChatModel:
        """The same model and record, with one short retry."""
        other = copy(self)
        other._model = with_short_retries(self._model)
        return other

    def with_fields(self, fields: Mapping[str, Any]) -> GuardedChatModel:
        """The same model and record, with further fields of its requests."""
        other = copy(self)
        other._model = with_fields(self._model, fields)
        return other

    async def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float, max_tokens: int
    ) -> AsyncIterator[GenerationEvent]:
        """See ports.ChatModel."""
        if (refusal := self._record.refusal()) is not None:
            raise ModelUnavailableError(refusal.reason, **{**refusal.data, "model": self.name})
        events = self._model.stream(messages, temperature=temperature, max_tokens=max_tokens)
        try:
            async for event in events:
                if event.final:
                    await self._note_end(event)
                yield event
        except ModelUnavailableError as error:
            if not error.is_about_prompt:
                await asyncio.to_thread(self._record.note_failure, error)
            raise
        finally:
            await closed(events)

    async def _note_end(self, event: GenerationEvent) -> None:
        if event.interrupted:
            await asyncio.to_thread(self._record.note_failure, ModelUnavailableError("cut"))
        else:
            reported = getattr(event, "reported", "")
            await asyncio.to_thread(lambda: self._record.note_success(reported=reported))
