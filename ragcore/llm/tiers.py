"""Models in tiers: their limits and prices, which tier a question needs, and what it may cost."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from ragcore.ports import Tokenizer
from ragcore.text.normalise import normalise_query
from ragcore.text.word_lists import cue_pattern, read_section
from ragcore.types import Usage

MILLION = Decimal(1_000_000)

TierName = Literal["fast", "standard", "advanced"]
TIER_NAMES: tuple[TierName, ...] = ("fast", "standard", "advanced")
MAX_TOKENS: dict[TierName, int] = {"fast": 1024, "standard": 2048, "advanced": 4096}
SECONDS: dict[TierName, float] = {"fast": 2.0, "standard": 5.0, "advanced": 15.0}
LOCAL_SECONDS = 15.0  # a small model on processors, a few hundred tokens
# 5G-NR, TS 38.331, gNodeB, PRACH, max_retries: recognised by their form
_FORM = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]+[-_.]?\d[\w.-]*|\d+[A-Za-z][\w-]*|[A-Z]{2,}[a-z]?\b|[a-z]+[A-Z]\w*|\w+_\w+)"
)
SIMPLE, MEDIUM = 0.3, 0.6  # complexity below it: fast, standard; from there on: advanced


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


def generation_complexity(question: str, context: str, tokenizer: Tokenizer) -> float:
    """0 to 1: 0.2 min(words/50, 1) + 0.3 min(technical terms/5, 1) + 0.3 min(reasoning cues/3, 1)
    + 0.2 min(context words/2000, 1).

    Terms and cues are those of the question, each counted once. Below 0.3 is simple, below 0.6 medium.
    """
    words, context_words = len(tokenizer.words(question)), len(tokenizer.words(context))
    terms, cues = technical_terms(question), reasoning_cues(question)
    return (
        0.2 * min(words / 50, 1.0)
        + 0.3 * min(len(terms) / 5, 1.0)
        + 0.3 * min(len(cues) / 3, 1.0)
        + 0.2 * min(context_words / 2000, 1.0)
    )


def technical_terms(question: str) -> frozenset[str]:
    """Identifiers, abbreviations and common words of engineering in a question, lower case."""
    text = normalise_query(question)
    return frozenset(match.lower() for match in _FORM.findall(text)) | _matches("technical_terms.txt", text)


def reasoning_cues(question: str) -> frozenset[str]:
    """Words of a question that ask for reasoning, lower case."""
    return _matches("reasoning_cues.txt", normalise_query(question))


def _matches(file: str, text: str) -> frozenset[str]:
    pattern = _pattern(file)
    return frozenset(pattern.findall(text.lower()))


@cache
def _pattern(file: str) -> re.Pattern[str]:
    return cue_pattern(read_section("ragcore.llm", file))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingDecision:
    """The tier to ask; None where no tier is within the cost, so that the answer is put together from the sources.

    `reason`: codes joined by commas: "simple", "medium" or "complex", then what moved the choice: "missing" (no model
    is configured for that tier), which kind was taken in the end where there are both ("api", "local"), "latency",
    "cost", "price_unknown", "too_slow", "too_expensive".
    """

    tier: Tier | None
    reason: str

    @property
    def reasons(self) -> tuple[str, ...]:
        """The codes one by one."""
        return tuple(self.reason.split(","))


def choose_tier(
    complexity: float,
    tiers: Sequence[Tier],
    *,
    max_cost: float | None = None,
    max_latency: float | None = None,
    prefer_api: bool = False,
    estimated_tokens: int = 0,
) -> RoutingDecision:
    """The tier for a complexity of 0 to 1, within the constraints; None is no constraint, nor is a latency of 0.

    Where a tier has a local model and one behind an API, the local one is taken, with `prefer_api` one behind an API,
    also of another tier. Too slow: one tier down until it fits; the fastest where none does. Too expensive: down
    likewise; where none fits no model is asked. `estimated_tokens`: of prompt and answer together; each counts at the
    dearer price, so that the limit holds. A tier without a price is let through and noted, but for a limit of 0, which
    is for what is known to be free. Raises ValueError without tiers.
    """
    if not tiers:
        raise ValueError("there are no tiers to choose from")
    target, word = _wanted(complexity)
    ordered = sorted(tiers, key=lambda tier: _distance(tier, target, prefer_api))
    tier, reasons = ordered[0], [word]
    if tier.name != target:
        reasons.append("missing")
    limited: list[str] = []
    fast_enough = _fast_enough(tier, ordered, max_latency, limited)
    chosen = _cheap_enough(fast_enough, ordered, max_cost, estimated_tokens, limited)
    if chosen is not None and len({t.is_local for t in tiers}) > 1:
        reasons.append("local" if chosen.is_local else "api")
    return RoutingDecision(tier=chosen, reason=",".join((*reasons, *limited)))


def _wanted(complexity: float) -> tuple[TierName, str]:
    if complexity < SIMPLE:
        return "fast", "simple"
    return ("standard", "medium") if complexity < MEDIUM else ("advanced", "complex")


def _distance(tier: Tier, target: TierName, prefer_api: bool) -> tuple[int, int, int]:
    """How far a tier is from the wanted one; of two equally far the stronger one, then the preferred kind."""
    step = _rank(tier) - TIER_NAMES.index(target)
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
        cost = estimate_cost(candidate, tokens)
        if cost is None and limit == 0:
            continue
        if cost is None or cost <= Decimal(str(limit)):
            reasons.extend(["cost"] if candidate is not tier else [])
            reasons.extend(["price_unknown"] if cost is None else [])
            return candidate
    reasons.append("too_expensive")
    return None
