"""How long a chat model may take: to its first token, between two tokens, in all."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FIRST_TOKEN_SECONDS = 30.0
BETWEEN_TOKENS_SECONDS = 30.0
MAX_SECONDS = 24 * 3600.0
KINDS = ("first_token", "between_tokens", "total")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """Limits of one model in seconds; None is the default. Text that flows is not cut unless `total_seconds` is set.

    A token is anything that the model says, its reasoning included. Retries before the first token count as waiting.
    """

    first_token_seconds: float | None = None
    between_tokens_seconds: float | None = None
    total_seconds: float | None = None

    @property
    def first_token(self) -> float:
        """Seconds from the request to the first token."""
        return FIRST_TOKEN_SECONDS if self.first_token_seconds is None else self.first_token_seconds

    @property
    def between_tokens(self) -> float:
        """Seconds of silence within an answer."""
        return BETWEEN_TOKENS_SECONDS if self.between_tokens_seconds is None else self.between_tokens_seconds

    @property
    def total(self) -> float:
        """Seconds from the request to the last token."""
        return math.inf if self.total_seconds is None else self.total_seconds

    def patience(self, usual: float) -> float:
        """Seconds to its first token where another model or server is behind it: its own limit, else the usual ones."""
        return usual if self.first_token_seconds is None else self.first_token_seconds


DEFAULT_LIMITS = ModelLimits()


def limits_of(model: object) -> ModelLimits:
    """The limits of a chat model or generator; the default ones of one that has none of its own."""
    limits = getattr(model, "limits", None)
    return limits if isinstance(limits, ModelLimits) else DEFAULT_LIMITS


def parse_limits(table: str) -> dict[str, ModelLimits]:
    """Limits by the name of the model, from JSON such as {"m": {"first_token": 90, "between_tokens": 60}}.

    Raises ValueError that names what is wrong with it.
    """
    try:
        data = json.loads(table)
    except ValueError as error:
        raise ValueError(f"is no valid JSON: {error}") from None
    if not isinstance(data, Mapping):
        raise ValueError('must be a JSON object such as {"model": {"first_token": 90, "between_tokens": 60}}')
    return {str(model): _limits(str(model), value) for model, value in data.items()}


def _limits(model: str, value: Any) -> ModelLimits:
    if not isinstance(value, Mapping) or not value or not set(value) <= set(KINDS):
        raise ValueError(f'may give "first_token", "between_tokens" and "total" of {model!r}, in seconds')
    for seconds in value.values():
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= MAX_SECONDS:
            raise ValueError(f"must give seconds above 0 and up to {MAX_SECONDS:.0f} as limits of {model!r}")
    return ModelLimits(**{f"{kind}_seconds": float(seconds) for kind, seconds in value.items()})
