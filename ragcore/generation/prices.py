"""What tokens of models cost: a table that the operator writes (U10)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

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
