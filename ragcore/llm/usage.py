"""What the requests of one answer have used, by what they were for, and what they may still cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from ragcore.errors import ModelUnavailableError
from ragcore.llm.thinking_time import ThinkingTime
from ragcore.llm.tiers import Tier, compute_cost, estimate_cost
from ragcore.ports import ChatMessage, GenerationEvent, GenerationRequest
from ragcore.text.token_count import EstimateCounter, message_tokens
from ragcore.types import Usage

_ESTIMATE = EstimateCounter()

Purpose = Literal["understanding", "rewriting", "searching", "compression", "judging", "writing"]
_BY_PROMPT: dict[str, Purpose] = {
    "standalone": "understanding",
    "analysis": "understanding",
    "refine_hop": "searching",
    "refine_query": "searching",
    "compress": "compression",
    "summarise_context": "compression",
    "conversation": "writing",
}
_BY_BEGINNING: dict[str, Purpose] = {"rewrite_": "rewriting", "judge_": "judging"}


class TooExpensiveError(ModelUnavailableError):
    """No model can write within the limit of cost."""

    code = "too_expensive"
    default_message = "An answer by the language model would exceed the cost limit."


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEntry:
    """Tokens of one or more requests to one model for one purpose; `cost` is None where the price is not known."""

    purpose: str  # such as "rewriting", "judging", "writing"
    model: str
    usage: Usage
    cost: Decimal | None = None


def total_usage(spent: Sequence[UsageEntry]) -> Usage:
    """Tokens of all together."""
    return sum((each.usage for each in spent), Usage())


def total_cost(spent: Sequence[UsageEntry]) -> Decimal | None:
    """The whole cost; None if there is nothing, or a price that is not known of tokens that were used."""
    used = [each for each in spent if each.usage.total_tokens]
    if not used or any(each.cost is None for each in used):
        return None
    return sum((each.cost for each in used if each.cost is not None), Decimal(0))


def total_known_cost(spent: Sequence[UsageEntry]) -> Decimal:
    """The cost as far as prices are known; a limit can be held to that."""
    return sum((each.cost for each in spent if each.cost is not None), Decimal(0))


def group_by_purpose(spent: Sequence[UsageEntry]) -> dict[str, list[UsageEntry]]:
    """The same, grouped, in the order in which purposes came up."""
    groups: dict[str, list[UsageEntry]] = {}
    for each in spent:
        groups.setdefault(each.purpose, []).append(each)
    return groups


def estimate_usage(messages: Sequence[ChatMessage], text: str) -> Usage:
    """Tokens of a request that ended before its server told them."""
    prompt = message_tokens((message.content for message in messages), _ESTIMATE.count)
    return Usage(prompt_tokens=prompt, completion_tokens=_ESTIMATE.count(text) if text else 0)


@dataclass(slots=True)
class MeteredStream:
    """One request as far as it has been read; its tokens are known however it ends."""

    messages: Sequence[ChatMessage]
    parts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)  # its reasoning, which no reader sees
    thinking: ThinkingTime = field(default_factory=ThinkingTime)
    end: GenerationEvent | None = None
    is_refused: bool = False  # nobody has answered

    async def of(self, events: AsyncIterator[GenerationEvent]) -> AsyncGenerator[GenerationEvent, None]:
        """Passes the events on and keeps their text and usage. Raises what the generator raises."""
        try:
            async for event in events:
                self.parts.append(event.text)
                self.thoughts.append(event.reasoning)
                self.thinking.note(event)
                self.end = event if event.final else self.end
                yield event
        except ModelUnavailableError:
            self.is_refused = self.end is None
            raise
        finally:
            self.thinking.stop()

    @property
    def text(self) -> str:
        """What was written."""
        return "".join(self.parts)

    @property
    def is_alive(self) -> bool:
        """Whether the model has said anything, reasoning included."""
        return any(self.parts) or any(self.thoughts)

    @property
    def usage(self) -> Usage:
        """As the server says; estimated where nobody waited for the end, because the server may count it.

        Tokens of the reasoning are estimated where the server does not tell them apart.
        """
        if self.is_refused or (self.end is None and not self.messages):
            return Usage()
        thoughts = "".join(self.thoughts)
        usage = self.end.usage if self.end is not None else estimate_usage(self.messages, thoughts + self.text)
        if usage.reasoning_tokens or not thoughts:
            return usage
        return replace(usage, reasoning_tokens=min(_ESTIMATE.count(thoughts), usage.completion_tokens))


@dataclass(slots=True)
class CostBudget:
    """What writing one answer may still cost: every request is checked before it is made, and paid when it is over.

    A request counts with its prompt and the longest reply that it allows, all at the dearer of both prices, so that the
    limit holds whatever the model writes; `estimated_tokens` is the client's word for the first one instead. Models
    without a price are asked only with `takes_unknown`.
    """

    remaining: Decimal  # in the currency of the price table
    count: Callable[[str], int]
    estimated_tokens: int | None = None
    count_of: Callable[[str], Callable[[str], int]] | None = None  # a model's own way to count; None: `count`
    takes_unknown: bool = False
    _paid: list[Decimal] = field(default_factory=list)

    def affords(self, tier: Tier, request: GenerationRequest) -> bool:
        """Whether this request to this model is within what is left."""
        cost = estimate_cost(tier, self.tokens(request, tier.model))
        return self.takes_unknown if cost is None else cost <= self.remaining

    def pay(self, tier: Tier, usage: Usage) -> None:
        """Take off what a request has cost."""
        cost = compute_cost(usage, tier) or Decimal(0)
        self._paid.append(cost)
        self.remaining -= cost

    def tokens(self, request: GenerationRequest, model: str = "") -> int:
        """The most that a request can use, as the model counts."""
        if self.estimated_tokens is not None and not self._paid:
            return self.estimated_tokens
        count = self.count_of(model) if self.count_of is not None and model else self.count
        return message_tokens((message.content for message in request.messages), count) + request.max_tokens


def purpose_of_prompt(prompt: str) -> Purpose:
    """The purpose of a prompt file that an LlmClient asks; "judging" for one that is not known here."""
    if prompt in _BY_PROMPT:
        return _BY_PROMPT[prompt]
    return next((purpose for start, purpose in _BY_BEGINNING.items() if prompt.startswith(start)), "judging")
