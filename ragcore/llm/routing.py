"""Which model tier a question needs and may cost: its complexity, and the choice within limits (U10)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from ragcore.llm.tiers import TIER_NAMES, Tier, TierName, estimate_cost
from ragcore.ports import Tokenizer
from ragcore.text.normalise import normalise_query
from ragcore.text.word_lists import cue_pattern, read_section

# 5G-NR, TS 38.331, gNodeB, PRACH, max_retries: recognised by their form
_FORM = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]+[-_.]?\d[\w.-]*|\d+[A-Za-z][\w-]*|[A-Z]{2,}[a-z]?\b|[a-z]+[A-Z]\w*|\w+_\w+)"
)


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


SIMPLE, MEDIUM = 0.3, 0.6  # complexity below it: fast, standard; from there on: advanced


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingDecision:
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
    return RoutingDecision(
        tier=_cheap_enough(tier, ordered, max_cost, estimated_tokens, reasons), reason=",".join(reasons)
    )


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
        cost = estimate_cost(candidate, tokens)
        if cost is None and limit == 0:
            continue
        if cost is None or cost <= Decimal(str(limit)):
            reasons.extend(["cost"] if candidate is not tier else [])
            reasons.extend(["price_unknown"] if cost is None else [])
            return candidate
    reasons.append("too_expensive")
    return None
