"""Models in tiers, and which of them a question needs and may cost (U10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from ragcore.generation.prices import MILLION, Price
from ragcore.types import Usage

TierName = Literal["fast", "standard", "advanced"]
TIER_NAMES: tuple[TierName, ...] = ("fast", "standard", "advanced")
MAX_TOKENS: dict[TierName, int] = {"fast": 1024, "standard": 2048, "advanced": 4096}
SECONDS: dict[TierName, float] = {"fast": 2.0, "standard": 5.0, "advanced": 15.0}
LOCAL_SECONDS = 15.0  # a small model on processors, a few hundred tokens
SIMPLE, MEDIUM = 0.3, 0.6  # complexity below it: fast, standard; from there on: advanced


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The tier to ask; None where no tier is within the cost, so that the answer is put together from the sources.

    `reason`: codes joined by commas: "simple", "medium" or "complex", then what moved the choice: "missing" (no model
    is configured for that tier), "api", "local", "latency", "cost", "price_unknown", "too_slow", "too_expensive".
    """

    tier: Tier | None
    reason: str

    @property
    def reasons(self) -> tuple[str, ...]:
        """The codes one by one."""
        return tuple(self.reason.split(","))


def tier_of(name: TierName, model: str, price: Price | None = None, *, is_local: bool = False) -> Tier:
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


def choose_tier(
    complexity: float,
    tiers: Sequence[Tier],
    *,
    max_cost: float | None = None,
    max_latency: float | None = None,
    prefer_api: bool = False,
    estimated_tokens: int = 0,
) -> Choice:
    """The tier for a complexity of 0 to 1, within the constraints; None is no constraint, nor is a latency of 0.

    Where a tier has a local model and one behind an API, the local one is taken, with `prefer_api` one behind an API,
    also of another tier. Too slow: one tier down until it fits; the fastest where none does. Too expensive: down
    likewise; where none fits no model is asked. `estimated_tokens`: of prompt and answer together; each counts at the
    dearer price, so that the limit holds. A tier without a price is let through and noted, but for a limit of 0, which
    is for what is known to be free. Raises ValueError without
    tiers.
    """
    if not tiers:
        raise ValueError("there are no tiers to choose from")
    wanted, word = _wanted(complexity)
    ordered = sorted(tiers, key=lambda tier: _distance(tier, wanted, prefer_api))
    tier, reasons = ordered[0], [word]
    if tier.name != wanted:
        reasons.append("missing")
    if len({t.is_local for t in tiers}) > 1:
        reasons.append("local" if tier.is_local else "api")
    tier = _fast_enough(tier, ordered, max_latency, reasons)
    return Choice(tier=_cheap_enough(tier, ordered, max_cost, estimated_tokens, reasons), reason=",".join(reasons))


def estimated_cost(tier: Tier, tokens: int) -> Decimal | None:
    """The most that so many tokens can cost; None where the price is not known."""
    if tier.price_in is None or tier.price_out is None:
        return None
    return tokens * max(tier.price_in, tier.price_out) / MILLION


def cost_of(usage: Usage, tier: Tier) -> Decimal | None:
    """What an answer has cost; None where the price is not known."""
    if tier.price_in is None or tier.price_out is None:
        return None
    return Price(prompt=tier.price_in, completion=tier.price_out).of(usage)


def _wanted(complexity: float) -> tuple[TierName, str]:
    if complexity < SIMPLE:
        return "fast", "simple"
    return ("standard", "medium") if complexity < MEDIUM else ("advanced", "complex")


def _distance(tier: Tier, wanted: TierName, prefer_api: bool) -> tuple[int, int, int]:
    """How far a tier is from the wanted one; of two equally far the stronger one, then the preferred kind."""
    step = _rank(tier) - TIER_NAMES.index(wanted)
    apart = 2 * abs(step) - (step > 0)
    if prefer_api:
        return int(tier.is_local), apart, 0
    return apart, int(not tier.is_local), 0


def _rank(tier: Tier) -> int:
    return TIER_NAMES.index(tier.name)


def _below(tier: Tier, ordered: Sequence[Tier]) -> list[Tier]:
    """Weaker tiers, the next one first; of one tier in the order of preference."""
    return sorted((t for t in ordered if _rank(t) < _rank(tier)), key=_rank, reverse=True)


def _fast_enough(tier: Tier, ordered: Sequence[Tier], limit: float | None, reasons: list[str]) -> Tier:
    """The tier, or the next weaker one that is fast enough; the fastest one where none is."""
    if not limit or tier.seconds <= limit:
        return tier
    for candidate in (*_same(tier, ordered), *_below(tier, ordered)):
        if candidate.seconds <= limit:
            reasons.append("latency")
            return candidate
    fastest = min(ordered, key=lambda each: each.seconds)
    reasons.append("latency" if fastest.seconds <= limit else "too_slow")
    return fastest


def _same(tier: Tier, ordered: Sequence[Tier]) -> list[Tier]:
    """Other models of the same tier."""
    return [other for other in ordered if other is not tier and other.name == tier.name]


def _cheap_enough(
    tier: Tier, ordered: Sequence[Tier], limit: float | None, tokens: int, reasons: list[str]
) -> Tier | None:
    """The tier, or the next weaker one within the cost; None where there is none."""
    if limit is None:
        return tier
    for candidate in (tier, *_same(tier, ordered), *_below(tier, ordered)):
        cost = estimated_cost(candidate, tokens)
        if cost is None and limit == 0:
            continue
        if cost is None or cost <= Decimal(str(limit)):
            reasons.extend(["cost"] if candidate is not tier else [])
            reasons.extend(["price_unknown"] if cost is None else [])
            return candidate
    reasons.append("too_expensive")
    return None
