"""Models in tiers, with limits of their answers and prices of their tokens (U10)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from ragcore.types import Usage

MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Of a million tokens, in the currency of the table."""

    prompt: Decimal
    completion: Decimal

    def of(self, usage: Usage) -> Decimal:
        """What these tokens cost."""
        return (usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion) / MILLION


def parse_prices(table: str) -> dict[str, Price]:
    """Prices by the name of the model, from JSON such as {"m": {"input": 0.15, "output": 0.6}}.

    Raises ValueError that names what is wrong with it.
    """
    try:
        data = json.loads(table, parse_float=Decimal, parse_int=Decimal, parse_constant=_no_number)
    except ValueError as error:
        raise ValueError(f"is no valid JSON: {error}") from None
    if not isinstance(data, Mapping):
        raise ValueError('must be a JSON object such as {"model": {"input": 0.15, "output": 0.6}}')
    return {str(model): _price(str(model), value) for model, value in data.items()}


def _no_number(word: str) -> Decimal:
    raise ValueError(f"{word} is no price")


def _price(model: str, value: Any) -> Price:
    if not isinstance(value, Mapping) or set(value) != {"input", "output"}:
        raise ValueError(f'must give "input" and "output" of {model!r}, the prices of a million tokens')
    for kind in ("input", "output"):
        if not isinstance(value[kind], Decimal) or value[kind] < 0:
            raise ValueError(f"must give numbers from 0 on as prices of {model!r}")
    return Price(prompt=value["input"], completion=value["output"])


TierName = Literal["fast", "standard", "advanced"]
TIER_NAMES: tuple[TierName, ...] = ("fast", "standard", "advanced")
MAX_TOKENS: dict[TierName, int] = {"fast": 1024, "standard": 2048, "advanced": 4096}
SECONDS: dict[TierName, float] = {"fast": 2.0, "standard": 5.0, "advanced": 15.0}
LOCAL_SECONDS = 15.0  # a small model on processors, a few hundred tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A model with what may be expected of it."""

    name: TierName
    model: str
    max_tokens: int  # of an answer
    seconds: float  # that an answer may be expected to take
    price_in: Decimal | None = None  # of a million tokens; None: not known
    price_out: Decimal | None = None
    is_local: bool = False  # in this process: it costs nothing


def build_tier(name: TierName, model: str, price: Price | None = None, *, is_local: bool = False) -> Tier:
    """A tier with the usual limits of its name; what runs in this process costs nothing and takes its time."""
    free = Decimal(0) if is_local else None
    return Tier(
        name=name,
        model=model,
        max_tokens=MAX_TOKENS[name],
        seconds=LOCAL_SECONDS if is_local else SECONDS[name],
        price_in=price.prompt if price else free,
        price_out=price.completion if price else free,
        is_local=is_local,
    )


def estimate_cost(tier: Tier, tokens: int) -> Decimal | None:
    """The most that so many tokens can cost; None where the price is not known."""
    if tier.price_in is None or tier.price_out is None:
        return None
    return tokens * max(tier.price_in, tier.price_out) / MILLION


def compute_cost(usage: Usage, tier: Tier) -> Decimal | None:
    """What an answer has cost; None where the price is not known."""
    if tier.price_in is None or tier.price_out is None:
        return None
    return Price(prompt=tier.price_in, completion=tier.price_out).of(usage)
