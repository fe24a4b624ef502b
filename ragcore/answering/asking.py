"""Putting prompts to a chat model within a time, and reading JSON from what it says."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from ragcore.errors import ModelUnavailableError
from ragcore.generation.whole import whole
from ragcore.ports import ChatMessage, ChatModel
from ragcore.prompts import load
from ragcore.types import Usage

SECONDS = 10.0  # V6, of one request
MAX_TOKENS = 600
_FENCES = "document|context|conversation|question|answer|critique|statements"
_FENCE = re.compile(rf"<(?=\s*/?\s*(?:{_FENCES})\b)", re.IGNORECASE)
T = TypeVar("T")


@dataclass(slots=True)
class Asker:
    """Asks one model for one answer. Never raises for the model: None is the sign to use rules instead.

    `counts` tells why: "asked", "unavailable", "interrupted", "late" (longer than `seconds`), "invalid" (not what was
    asked for). `usage` sums the tokens of all requests.
    """

    model: ChatModel
    seconds: float = SECONDS
    usage: Usage = Usage()
    counts: Counter[str] = field(default_factory=Counter)

    async def text(
        self, prompt: str, /, *, temperature: float = 0.0, max_tokens: int = MAX_TOKENS, **values: str
    ) -> str | None:
        """What the model says to a prompt file; what a value contains cannot end the fence that it stands in."""
        rendered = load(prompt).render(**{name: fenced(value) for name, value in values.items()})
        messages = (ChatMessage(role="user", content=rendered),)
        self.counts["asked"] += 1
        try:
            async with asyncio.timeout(self.seconds):
                return await self._complete(messages, temperature, max_tokens)
        except TimeoutError:
            self.counts["late"] += 1
        except ModelUnavailableError:
            self.counts["unavailable"] += 1
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

    async def _complete(self, messages: tuple[ChatMessage, ...], temperature: float, max_tokens: int) -> str | None:
        read = await whole(self.model.stream(messages, temperature=temperature, max_tokens=max_tokens))
        self.usage += read.usage
        if read.interrupted:
            self.counts["interrupted"] += 1
            return None
        return read.text


def fenced(text: str) -> str:
    """Text that cannot end the fence which it is put into."""
    return _FENCE.sub("&lt;", text)


def json_values(reply: str) -> Iterator[Any]:
    """Every JSON object or list in a reply, outermost ones only; models like to talk before and after."""
    decoder, at = json.JSONDecoder(), 0
    while match := re.compile(r"[{\[]").search(reply, at):
        try:
            value, at = decoder.raw_decode(reply, match.start())
        except ValueError:
            at = match.end()
        else:
            yield value
