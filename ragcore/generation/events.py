"""What became of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from ragcore.generation.tiers import Tier
from ragcore.ports import GenerationEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEvent(GenerationEvent):
    """A final event that says more: who wrote, what it cost, and whether the answer ended at its length limit."""

    is_cut: bool = False  # by max_tokens; a text that is cut there is no failure, and no whole answer either
    model: str = ""  # that wrote; "" where only one could
    tier: Tier | None = None
    cost: Decimal | None = None  # of all that was asked, in the currency of the price table; None: not known
