"""One chat model at several servers: the least busy healthy one is asked first."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from copy import copy
from time import monotonic
from typing import Any, Protocol, cast, runtime_checkable

from ragcore.errors import ModelUnavailableError
from ragcore.llm.fallback import closed
from ragcore.llm.request_fields import with_fields
from ragcore.model_limits import limits_of
from ragcore.ports import ChatMessage, ChatModel, GenerationEvent

logger = logging.getLogger(__name__)

REST_SECONDS = 30.0  # that a server which did not answer is asked last
PATIENCE_SECONDS = 7.0  # for the first words of a server behind which there is another one: two fit the 15 s of a tier


@runtime_checkable
class ServerModel(ChatModel, Protocol):
    """A chat model at one server, which can be asked with fewer retries."""

    def with_short_retries(self) -> ServerModel: ...

    def without_retries(self) -> ServerModel: ...


class BalancedChatModel:
    """Implements ports.ChatModel over servers of the same model.

    Of the servers that are not at rest, the one with the fewest requests of this process under way is asked first;
    among equals chance decides, so that processes spread without knowing of each other. A server that refuses the
    request, cannot be reached or says nothing for `patience_seconds` (or the model's own limit to the first token)
    rests for `rest_seconds`, and the next one is asked at once; the last one is asked with all retries. What is wrong
    with the prompt is told by the first server.
    Raises ModelUnavailableError, of the last one.
    """

    def __init__(
        self,
        servers: Sequence[ServerModel],
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        rest_seconds: float = REST_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if not servers:
            raise ValueError("there is no server to ask")
        self.name = servers[0].name
        self.limits = limits_of(servers[0])
        self._servers = tuple(servers)
        self._patience = patience_seconds
        self._rest = rest_seconds
        self._clock = clock
        self._has_short_retries = False
        self._fields: Mapping[str, Any] = {}  # further ones, of every request
        self._busy = [0] * len(servers)  # requests under way; shared by the copies
        self._resting: dict[int, float] = {}  # number of a server -> until when

    def with_short_retries(self) -> BalancedChatModel:
        """The same servers with the same figures, the last one with one short retry."""
        other = copy(self)
        other._has_short_retries = True
        return other

    def with_fields(self, fields: Mapping[str, Any]) -> BalancedChatModel:
        """The same servers with the same figures, with further fields of their requests."""
        other = copy(self)
        other._fields = {**self._fields, **fields}
        return other

    @property
    def resting(self) -> tuple[int, ...]:
        """Numbers of the servers that did not answer a moment ago."""
        now = self._clock()
        return tuple(sorted(number for number, until in self._resting.items() if until > now))

    async def stream(
        self, messages: Sequence[ChatMessage], *, temperature: float, max_tokens: int
    ) -> AsyncIterator[GenerationEvent]:
        """See ports.ChatModel."""
        order = self._order()
        for place, number in enumerate(order):
            server, is_last = self._server(number, is_last=place == len(order) - 1), place == len(order) - 1
            self._busy[number] += 1
            events = server.stream(messages, temperature=temperature, max_tokens=max_tokens)
            try:
                first = await self._first(events, number, is_last)
                if first is None:
                    continue
                self._resting.pop(number, None)
                yield first
                async for event in events:
                    yield event
                return
            finally:
                self._busy[number] -= 1
                await closed(events)

    def _order(self) -> list[int]:
        """All servers: those at rest last, before them the least busy first."""
        resting = set(self.resting)
        numbers = list(range(len(self._servers)))
        random.shuffle(numbers)
        return sorted(numbers, key=lambda number: (number in resting, self._busy[number]))

    def _server(self, number: int, *, is_last: bool) -> ServerModel:
        server = cast(ServerModel, with_fields(self._servers[number], self._fields))
        if not is_last:
            return server.without_retries()
        return server.with_short_retries() if self._has_short_retries else server

    async def _first(
        self, events: AsyncIterator[GenerationEvent], number: int, is_last: bool
    ) -> GenerationEvent | None:
        """The first event; None where another server is to be asked."""
        try:
            async with asyncio.timeout(None if is_last else self.limits.patience(self._patience)):
                return await anext(events)
        except (ModelUnavailableError, TimeoutError) as problem:
            is_of_prompt = isinstance(problem, ModelUnavailableError) and problem.is_about_prompt
            if not is_of_prompt:
                self._resting[number] = self._clock() + self._rest
            if is_last or is_of_prompt:
                raise
            logger.warning("server %d of %s does not answer, the next one is asked: %s", number, self.name, problem)
            return None
