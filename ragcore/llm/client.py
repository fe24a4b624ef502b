"""Putting prompts to a chat model within a time, reading JSON from what it says, ending when the reader stops."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from ragcore.errors import ModelUnavailableError, RagError
from ragcore.llm.model_profile import ModelProfile, profile_of
from ragcore.llm.request_fields import reply_format, with_fields, without_thinking
from ragcore.llm.usage import MeteredStream
from ragcore.model_limits import limits_of
from ragcore.ports import ChatMessage, ChatModel
from ragcore.prompts import load
from ragcore.types import Usage

SECONDS = 10.0  # of one request
MAX_TOKENS = 600
LEAST_SECONDS = 1.0  # below it a request is not made again
SHOWN_CHARACTERS = 2_000  # of a reply that a model is shown again
SHOWN_FAULTS = 3
GRADING = ("judge_", "score_")  # beginnings of the prompts whose replies are grades or verdicts
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
    asked for, also when it was asked again: "repeated"), "silent" (not a word in `silent_after` seconds), "unreachable"
    (no answer to a whole series of requests; what a server refuses at once is only "unavailable"), "busy" (the same of
    a server that wants fewer requests), "stopped" (by the reader), "unfit" (its profile says that it writes no JSON, or
    cannot grade: nothing is asked). `used` has the tokens of all requests by prompt, estimated for
    those that were given up on the way: the server may count them all the same. While one of `limits` says no, nothing
    is asked ("limited"). A model that thinks is asked to answer at once. Askers made with `replace` share what is
    known.
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
        return await self._reply(_Request.of(prompt, values, temperature, max_tokens), self._seconds())

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
        """The first JSON value in the reply that has this shape (any type that pydantic knows).

        It is asked for in the way of the model's profile. A reply without it is asked for once more with what was
        wrong, within the same seconds where somebody waits.
        """
        profile = profile_of(self.model)
        if not can_reply(profile, prompt):
            self.counts["unfit"] += 1
            return None
        parser = _JsonParser(TypeAdapter(shape))
        fields = reply_format(profile.json, parser.adapter.json_schema(), name=prompt)
        request = _Request.of(prompt, values, temperature, max_tokens, fields)
        begun, seconds = time.monotonic(), self._seconds()
        reply = await self._reply(request, seconds)
        if reply is None:
            return None
        if (value := parser.first_in(reply)) is not None:
            return value
        remaining = min(seconds - (time.monotonic() - begun), self.seconds_left())
        if self.is_patient:
            remaining = self._seconds()
        if reply.strip() and remaining >= LEAST_SECONDS:
            self.counts["repeated"] += 1
            again = await self._reply(request.again(reply, parser.fault), remaining)
            if again is not None and (value := parser.first_in(again)) is not None:
                return value
        self.counts["invalid"] += 1
        return None

    def _seconds(self) -> float:
        """For a request that begins now."""
        patience = limits_of(self.model).first_token if self.is_patient else 0.0
        return min(max(self.seconds, patience), self.seconds_left())

    async def _reply(self, request: _Request, seconds: float) -> str | None:
        if seconds <= 0 or not all(allows() for allows in self.limits):
            self.counts["limited"] += 1
            return None
        self.counts["asked"] += 1
        reading = MeteredStream(request.messages)
        try:
            async with asyncio.timeout(seconds) as limit:
                return await run_unless_stopped(self.stop, self._complete(request, reading, limit))
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

    async def _complete(self, request: _Request, reading: MeteredStream, limit: asyncio.Timeout) -> str | None:
        """The whole reply; None if it broke off. Its tokens are counted however it ends."""
        model = with_fields(self.model, {**without_thinking(profile_of(self.model)), **request.fields})
        events = model.stream(request.messages, temperature=request.temperature, max_tokens=request.max_tokens)
        try:
            async for _event in reading.of(events):
                if self.is_patient and limit.when() is not None:
                    limit.reschedule(None)
        finally:
            self.used[request.prompt] = self.used.get(request.prompt, Usage()) + reading.usage
        if reading.end is not None and reading.end.interrupted:
            self.counts["interrupted"] += 1
            return None
        return reading.text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A prompt as it is put to a model."""

    prompt: str  # name of its file
    messages: tuple[ChatMessage, ...]
    temperature: float
    max_tokens: int
    fields: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        prompt: str,
        values: Mapping[str, str],
        temperature: float,
        max_tokens: int,
        fields: Mapping[str, Any] = MappingProxyType({}),
    ) -> _Request:
        rendered = load(prompt).render(**{name: fenced(value) for name, value in values.items()})
        message = ChatMessage(role="user", content=rendered)
        return cls(prompt=prompt, messages=(message,), temperature=temperature, max_tokens=max_tokens, fields=fields)

    def again(self, reply: str, fault: str) -> _Request:
        """The same with a reply to it, and what is wrong with that."""
        return replace(self, messages=(*self.messages, *wish_again(reply, fault)))


@dataclass(slots=True)
class _JsonParser(Generic[T]):
    """The JSON that is asked for. `fault`: in English, why the last reply has none."""

    adapter: TypeAdapter[T]
    fault: str = ""

    def first_in(self, reply: str) -> T | None:
        self.fault = "It holds no complete JSON object."
        for value in json_values(reply):
            try:
                return self.adapter.validate_python(value)
            except ValidationError as problem:
                faults = problem.errors(include_url=False, include_context=False, include_input=False)
                sentences = (f"{'.'.join(map(str, each['loc'])) or 'reply'}: {each['msg']}" for each in faults)
                self.fault = "; ".join(islice(sentences, SHOWN_FAULTS))
        return None


def can_reply(profile: ModelProfile, prompt: str) -> bool:
    """Whether a model with this profile is asked for JSON with a prompt: one that cannot grade gives no grades."""
    return profile.json != "none" and (profile.judges or not prompt.startswith(GRADING))


def wish_again(reply: str, fault: str) -> tuple[ChatMessage, ChatMessage]:
    """What is added to a prompt for JSON whose reply had a fault; `fault`: in English."""
    wish = load("repeat_json").render(fault=fault)
    return ChatMessage(role="assistant", content=reply[:SHOWN_CHARACTERS]), ChatMessage(role="user", content=wish)


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
