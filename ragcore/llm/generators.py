"""Answer generators over one chat model, the final event, and where a text goes on that was cut off."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from ragcore.errors import ModelUnavailableError
from ragcore.llm.model_profile import UNTESTED, ModelProfile, profile_of
from ragcore.llm.request_fields import with_effort, with_fields
from ragcore.llm.tiers import RoutingDecision, Tier
from ragcore.llm.usage import TooExpensiveError
from ragcore.model_limits import ModelLimits, limits_of
from ragcore.ports import ChatModel, GenerationEvent, GenerationRequest, LLMGenerator
from ragcore.text.scripts import CJK
from ragcore.types import Usage

WINDOW = 160  # characters of the second text that are looked at for what it repeats
RESTART = 24  # characters of the beginning of the first text after which the second one is a new attempt
_BLOCK = re.compile(r"\s*(?:#{1,6}\s|[-*+]\s|\d{1,3}[.)]\s|\||```)")
_WORD = re.compile(r"[A-Za-zÀ-ɏ0-9]")
_CJK = re.compile(f"[{CJK}]")

EndCause = Literal["", "lost", "stalled", "late"]  # of an interruption: by the server, or by a limit of the model


class RestartedError(ValueError):
    """The second text begins from the start and goes elsewhere: the two cannot be joined."""


@dataclass(slots=True, kw_only=True)
class ContinuationJoiner:
    """Feed the pieces of the second text, get what is to be put behind the first one.

    What the second text repeats of the end of the first, or of all of it, is dropped; a space or line break is added
    where the two would run together. However the second text is cut, the pieces joined are the same. `feed` and `flush`
    raise RestartedError.
    """

    before: str
    _held: str = ""
    _is_open: bool = False  # the joint is behind us
    _strips: bool = False  # white space that comes now is there already

    def feed(self, text: str) -> str:
        """What is certain after this piece."""
        if self._is_open:
            return self._behind(text)
        self._held += text
        begun, whole = self._held.lstrip(), self.before.strip()
        is_copy_so_far = _common(whole, begun) == min(len(begun), len(whole)) and len(begun) < len(whole)
        return "" if len(begun) <= WINDOW or is_copy_so_far else self._opened(begun, whole)

    def flush(self) -> str:
        """The rest, when the text is over."""
        return "" if self._is_open else self._opened(self._held.lstrip(), self.before.strip())

    def _opened(self, begun: str, whole: str) -> str:
        self._is_open = True
        self._strips = self.before[-1:].isspace() or not self.before
        if whole and begun.startswith(whole):
            return self._behind(begun[len(whole) :])
        shared, common = overlap_length(whole, begun[: WINDOW + 1]), _common(whole, begun)
        # where a text repeats itself, its end may be like its beginning: then it goes on from the end
        if common >= RESTART and shared < len(begun[:common].rstrip()):
            raise RestartedError("the continuation began from the start")
        if shared:
            return self._behind(begun[shared:])
        return self._spaced(begun, self._held[: len(self._held) - len(begun)])

    def _behind(self, text: str) -> str:
        text = text.lstrip() if self._strips else text
        self._strips = self._strips and not text
        return text

    def _spaced(self, text: str, space: str) -> str:
        """The text with what has to stand between it and the first one."""
        if self._strips or not text:
            return self._behind(text)
        if _BLOCK.match(text) and "\n" not in space and re.search(r"[.!?。！？:：\]]\s*\Z", self.before):
            return "\n" + text
        if not space and _WORD.match(text) and _needs_space(self.before):
            return " " + text
        return space + text


def overlap_length(before: str, after: str) -> int:
    """How many characters at the end of the first text the second one begins with, in whole words; 0: none."""
    for size in range(min(len(before), len(after), WINDOW), 1, -1):
        if before.endswith(after[:size]) and _is_whole(before, after, size):
            return size
    return 0


def _is_whole(before: str, after: str, size: int) -> bool:
    """Whether what is shared begins and ends between words, so that it is no chance."""
    shared = after[:size]
    if not (_CJK.search(shared) or _WORD.search(shared)):
        return False
    if len(shared.strip()) < 2:
        return False
    starts = not (_WORD.match(shared) and _WORD.match(before[-size - 1 : -size] or " "))
    ends = not (_WORD.match(shared[-1]) and _WORD.match(after[size : size + 1] or " "))
    return starts and ends


def _needs_space(before: str) -> bool:
    """Behind a Latin word or a full stop of a sentence in Latin script."""
    return bool(re.search(r"[A-Za-zÀ-ɏ0-9][.!?,;:)\]]*\Z", before))


def _common(first: str, second: str) -> int:
    """Length of the common beginning."""
    size = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        size += 1
    return size


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEvent(GenerationEvent):
    """A final event that says more: who wrote, what it cost, and whether the answer ended at its length limit."""

    is_cut: bool = False  # by max_tokens; a text that is cut there is no failure, and no whole answer either
    cause: EndCause = ""  # where it was interrupted
    model: str = ""  # that wrote; "" where only one could
    reported: str = ""  # what its server calls it; "": it does not say
    has_thought_first: bool = False  # the text has the end of a reasoning whose beginning was not told
    tier: Tier | None = None
    cost: Decimal | None = None  # of all that was asked, in the currency of the price table; None: not known
    tool_calls: tuple[Mapping[str, Any], ...] = ()  # as OpenAI's API has them
    is_quoted: bool = False  # no model wrote the text: it is put together from sentences of the sources


class LLMAnswerGenerator:
    """Implements ports.LLMGenerator: passes the rendered prompt to a chat model."""

    def __init__(self, chat: ChatModel, profile: ModelProfile = UNTESTED) -> None:
        self.chat = chat
        self.name = chat.name
        self.limits = limits_of(chat)
        self.profile = profile

    def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        chat = with_fields(self.chat, with_effort(self.profile)) if request.is_thorough else self.chat
        return chat.stream(request.messages, temperature=request.temperature, max_tokens=request.max_tokens)


@dataclass(slots=True, kw_only=True)
class UnavailableGenerator:
    """Implements ports.LLMGenerator for a model that has just not answered: raises ModelUnavailableError at once."""

    name: str

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        del request
        raise ModelUnavailableError(model=self.name)
        yield GenerationEvent()  # makes it a generator


@dataclass(slots=True, kw_only=True)
class RoutedGenerator:
    """Implements ports.LLMGenerator: writes as `generator` does.

    Raises TooExpensiveError where no tier is within the limit of cost, so that the caller marks what it does instead.
    """

    generator: LLMGenerator
    choice: RoutingDecision
    name: str = field(init=False)  # of the model that is asked first
    limits: ModelLimits = field(init=False)
    profile: ModelProfile = field(init=False)

    def __post_init__(self) -> None:
        self.name, self.limits = self.generator.name, limits_of(self.generator)
        self.profile = profile_of(self.generator)

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        if self.choice.tier is None:
            raise TooExpensiveError
        async for event in self.generator.stream(request):
            yield event


@dataclass(frozen=True, slots=True)
class CollectedText:
    """What a stream of events brought."""

    text: str
    usage: Usage
    interrupted: bool  # the server closed the stream before the end


async def collect(events: AsyncIterator[GenerationEvent]) -> CollectedText:
    """All events of one request, read to the end. Raises what the generator raises."""
    parts: list[str] = []
    usage, interrupted = Usage(), False
    async for event in events:
        parts.append(event.text)
        if event.final:
            usage, interrupted = event.usage, event.interrupted
    return CollectedText("".join(parts), usage, interrupted)
