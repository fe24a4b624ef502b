"""Putting prompts to a chat model within a time, reading JSON from what it says, ending when the reader stops."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from ragcore.errors import ModelUnavailableError, RagError
from ragcore.llm.usage import MeteredStream
from ragcore.model_limits import limits_of
from ragcore.ports import ChatMessage, ChatModel
from ragcore.prompts import load
from ragcore.types import Usage

SECONDS = 10.0  # of one request
MAX_TOKENS = 600
_FENCES = "document|context|conversation|question|answer|critique|statements"
_FENCE = re.compile(rf"<(?=\s*/?\s*(?:{_FENCES})\b)", re.IGNORECASE)
T = TypeVar("T")


class StoppedError(RagError):
    """The reader wants no more of this answer. Never told: whoever makes the answer ends it with what there is."""

    code = "stopped"
    default_message = "The user has stopped this answer."


async def run_unless_stopped(stop: asyncio.Event | None, work: Coroutine[Any, Any, T]) -> T:
    """What the work returns. Cancels it, and waits for its end, when `stop` is set first; None: nobody can stop it.

    Work that has ended when both are noticed counts as done. Raises StoppedError, and what the work raises.
    """
    if stop is None:
        return await work
    task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise StoppedError
        return task.result()
    finally:
        for each in (task, stopped):
            each.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)


def _without_limit() -> float:
    return float("inf")


@dataclass(slots=True)
class LlmClient:
    """Asks one model for one answer. Never raises for the model: None is the sign to use rules instead.

    `seconds` are those of a whole request that somebody waits for. In the background (`is_patient`) they count until
    the first token only, and not less than the model's own limit: then its own limits hold.

    `counts` tells why: "asked", "unavailable", "interrupted", "late" (longer than `seconds`), "invalid" (not what was
    asked for), "silent" (not a word in `silent_after` seconds), "unreachable" (no answer to a whole series of requests;
    what a server refuses at once is only "unavailable"), "busy" (the same of a server that wants fewer requests),
    "stopped" (by the reader). `used` has the tokens of all requests by prompt, estimated for
    those that were given up on the way: the server may count them all the same. While one of `limits` says no, nothing
    is asked ("limited"). Askers made with `replace` share all three.
    """

    model: ChatModel
    seconds: float = SECONDS
    counts: Counter[str] = field(default_factory=Counter)
    used: dict[str, Usage] = field(default_factory=dict)
    limits: list[Callable[[], bool]] = field(default_factory=list)
    silent_after: float = SECONDS
    seconds_left: Callable[[], float] = _without_limit  # of the whole answer; without any nothing is asked
    is_patient: bool = False  # nobody waits for it
    stop: asyncio.Event | None = None  # set by the reader: the request under way is cancelled

    @property
    def usage(self) -> Usage:
        """Tokens of all requests."""
        return sum(self.used.values(), Usage())

    async def text(
        self, prompt: str, /, *, temperature: float = 0.0, max_tokens: int = MAX_TOKENS, **values: str
    ) -> str | None:
        """What the model says to a prompt file; what a value contains cannot end the fence that it stands in."""
        patience = limits_of(self.model).first_token if self.is_patient else 0.0
        seconds = min(max(self.seconds, patience), self.seconds_left())
        if seconds <= 0 or not all(allows() for allows in self.limits):
            self.counts["limited"] += 1
            return None
        rendered = load(prompt).render(**{name: fenced(value) for name, value in values.items()})
        messages = (ChatMessage(role="user", content=rendered),)
        self.counts["asked"] += 1
        reading = MeteredStream(messages)
        try:
            async with asyncio.timeout(seconds) as limit:
                completion = self._complete(prompt, reading, temperature, max_tokens, limit)
                return await run_unless_stopped(self.stop, completion)
        except StoppedError:
            self.counts["stopped"] += 1
        except TimeoutError:
            self.counts["late"] += 1
            if seconds >= self.silent_after and not reading.text:
                self.counts["silent"] += 1
        except ModelUnavailableError as problem:
            self.counts["unavailable"] += 1
            if "model" in problem.data:
                self.counts["busy" if problem.data.get("busy") else "unreachable"] += 1
        return None

    async def json(
        self,
        prompt: str,
        shape: type[T],
        /,
        *,
        temperature: float = 0.0,
        max_tokens: int = MAX_TOKENS,
        **values: str,
    ) -> T | None:
        """The first JSON value in the reply that has this shape (any type that pydantic knows)."""
        reply = await self.text(prompt, temperature=temperature, max_tokens=max_tokens, **values)
        if reply is None:
            return None
        adapter = TypeAdapter(shape)
        for value in json_values(reply):
            try:
                return adapter.validate_python(value)
            except ValidationError:
                continue
        self.counts["invalid"] += 1
        return None

    async def _complete(
        self, prompt: str, reading: MeteredStream, temperature: float, max_tokens: int, limit: asyncio.Timeout
    ) -> str | None:
        """The whole reply; None if it broke off. Its tokens are counted however it ends."""
        events = self.model.stream(reading.messages, temperature=temperature, max_tokens=max_tokens)
        try:
            async for _event in reading.of(events):
                if self.is_patient and limit.when() is not None:
                    limit.reschedule(None)
        finally:
            self.used[prompt] = self.used.get(prompt, Usage()) + reading.usage
        if reading.end is not None and reading.end.interrupted:
            self.counts["interrupted"] += 1
            return None
        return reading.text


def fenced(text: str) -> str:
    """Text that cannot end the fence which it is put into."""
    return _FENCE.sub("&lt;", text)


def json_values(reply: str) -> Iterator[Any]:
    """Every JSON object or list in a reply, outermost ones only; models like to talk before and after."""
    decoder, at = json.JSONDecoder(), 0
    while match := re.compile(r"[{\[]").search(reply, at):
        try:
            value, at = decoder.raw_decode(reply, match.start())
        except (ValueError, RecursionError):  # a model may repeat a bracket for ever
            at = match.end()
        else:
            yield value


def with_short_retries(model: ChatModel) -> ChatModel:
    """The model for requests that rules can replace: with one short retry only, where its client offers that."""
    short = getattr(model, "with_short_retries", None)
    return short() if short is not None else model
