"""What a loop may use up: rounds, seconds, tokens, money."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ragcore.llm.client import LlmClient
from ragcore.types import Usage

BUDGETS = ("seconds", "tokens", "cost")  # besides the rounds
UNFINISHED = (*BUDGETS, "stopped")  # ends after which the last sources are handed on without a text


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one loop. A limit of tokens or cost may be passed by the request that reaches it, not by another."""

    rounds: int = 3
    seconds: float = 45.0
    tokens: int = 40_000
    cost: float = 0.0  # of the whole answer, in the currency of the price table; 0: any


@dataclass(slots=True)
class Meter:
    """What has been used of a budget.

    `askers` count their own tokens, also those of requests that failed after their first token; what else is written
    is told with `spend`. `cost` tells what the answer has cost so far; without it nothing costs anything. An asker that
    is given twice counts once.
    """

    budget: Budget
    askers: Sequence[LlmClient | None] = ()
    cost: Callable[[], float] | None = None
    clock: Callable[[], float] = time.monotonic
    rounds: int = 0
    _written: Usage = Usage()
    _start: float = field(default=0.0, init=False)
    _asked_before: Usage = field(default=Usage(), init=False)

    def __post_init__(self) -> None:
        self._start = self.clock()
        self._asked_before = self._usage()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self.clock() - self._start

    @property
    def usage(self) -> Usage:
        """Of all requests since the start."""
        total, before = self._usage(), self._asked_before
        return self._written + Usage(
            prompt_tokens=total.prompt_tokens - before.prompt_tokens,
            completion_tokens=total.completion_tokens - before.completion_tokens,
            reasoning_tokens=total.reasoning_tokens - before.reasoning_tokens,
        )

    @property
    def remaining_seconds(self) -> float:
        """Never below 0."""
        return max(0.0, self.budget.seconds - self.seconds)

    def spend(self, usage: Usage) -> None:
        """Count what no asker counts."""
        self._written += usage

    def used_up(self) -> str:
        """The limit that has been reached: "rounds", "seconds", "tokens", "cost"; "" while there is something left."""
        return "rounds" if self.rounds >= self.budget.rounds else self.spent_up()

    def spent_up(self) -> str:
        """The same within a round: from there on no model is asked."""
        if self.remaining_seconds <= 0:
            return "seconds"
        if self.usage.total_tokens >= self.budget.tokens:
            return "tokens"
        return "cost" if self.cost is not None and 0 < self.budget.cost <= self.cost() else ""

    def has_room(self, tokens: int) -> bool:
        """Whether a request of so many tokens surely ends before a limit, so that another may run beside it."""
        return self.budget.cost == 0 and self.usage.total_tokens + tokens < self.budget.tokens

    @contextmanager
    def limiting(self) -> Iterator[None]:
        """Within it the askers ask nothing that a limit forbids, so that rules take their place."""
        limit = self._allows
        for llm in self._different():
            llm.limits.append(limit)
        try:
            yield
        finally:
            for llm in self._different():
                llm.limits.remove(limit)

    def _allows(self) -> bool:
        return not self.spent_up()

    def _different(self) -> list[LlmClient]:
        return list({id(llm): llm for llm in self.askers if llm is not None}.values())

    def _usage(self) -> Usage:
        return sum((llm.usage for llm in self._different()), start=Usage())
