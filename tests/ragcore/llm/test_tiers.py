from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.llm.tiers import Price, build_tier, choose_tier, compute_cost, estimate_cost, parse_prices
from ragcore.types import Usage


def price(prompt, completion):
    return Price(prompt=Decimal(str(prompt)), completion=Decimal(str(completion)))


FAST = build_tier("fast", "small", price(0.1, 0.4))
STANDARD = build_tier("standard", "medium", price(1, 4))
ADVANCED = build_tier("advanced", "large", price(10, 40))
LOCAL = build_tier("fast", "tiny", is_local=True)
ALL = (FAST, STANDARD, ADVANCED)


@pytest.mark.parametrize(
    ("complexity", "tier", "reason"),
    [
        (0.0, FAST, "simple"),
        (0.29, FAST, "simple"),
        (0.3, STANDARD, "medium"),
        (0.59, STANDARD, "medium"),
        (0.6, ADVANCED, "complex"),
        (1.0, ADVANCED, "complex"),
    ],
)
def test_the_tier_follows_the_complexity(complexity, tier, reason):
    choice = choose_tier(complexity, ALL)

    assert (choice.tier, choice.reason) == (tier, reason)


def test_tiers_carry_their_limits():
    assert [(t.max_tokens, t.seconds) for t in ALL] == [(1024, 2.0), (2048, 5.0), (4096, 15.0)]


def test_a_tier_without_a_model_gives_way_to_its_neighbour_the_stronger_one_first():
    assert choose_tier(0.1, (STANDARD, ADVANCED)).tier == STANDARD
    assert choose_tier(0.9, (FAST, STANDARD)).tier == STANDARD
    assert choose_tier(0.4, (FAST, ADVANCED)).tier == ADVANCED
    assert choose_tier(0.4, (FAST, ADVANCED)).reason == "medium,missing"


@pytest.mark.parametrize(
    ("limit", "tier", "reason"),
    [(20, ADVANCED, "complex"), (6, STANDARD, "complex,latency"), (3, FAST, "complex,latency"),
     (1, FAST, "complex,too_slow"), (0, ADVANCED, "complex"), (None, ADVANCED, "complex")],
)  # fmt: skip
def test_a_tier_that_is_too_slow_gives_way_to_the_one_below(limit, tier, reason):
    choice = choose_tier(0.9, ALL, max_latency=limit)

    assert (choice.tier, choice.reason) == (tier, reason)


@pytest.mark.parametrize(
    ("limit", "tier", "reason"),
    [(0.05, ADVANCED, "complex"), (0.04, ADVANCED, "complex"), (0.039, STANDARD, "complex,cost"),
     (0.001, FAST, "complex,cost"), (0.0001, None, "complex,too_expensive"), (0, None, "complex,too_expensive")],
)  # fmt: skip
def test_a_tier_that_is_too_expensive_gives_way_to_a_cheaper_one_and_in_the_end_to_none(limit, tier, reason):
    choice = choose_tier(0.9, ALL, max_cost=limit, estimated_tokens=1000)

    assert (choice.tier, choice.reason) == (tier, reason)


def test_a_local_model_is_preferred_within_its_tier_unless_an_api_is_wanted():
    tiers = (LOCAL, *ALL)

    assert choose_tier(0.1, tiers).tier == LOCAL
    assert choose_tier(0.1, tiers, prefer_api=True).tier == FAST
    assert choose_tier(0.1, (LOCAL, ADVANCED), prefer_api=True).tier == ADVANCED
    assert choose_tier(0.5, tiers).tier == STANDARD
    assert choose_tier(0.1, tiers).reason == "simple,local"


@pytest.mark.parametrize(
    ("complexity", "limit", "model", "reason"),
    [
        (0.1, 5, "small", "simple,api,latency"),
        (0.5, None, "tiny", "medium,local"),
        (0.5, 5, "medium", "medium,api,latency"),
        (0.9, 6, "medium", "complex,api,latency"),
        (0.9, 20, "tiny", "complex,local"),
    ],
)
def test_the_reason_tells_the_kind_that_was_taken_in_the_end(complexity, limit, model, reason):
    local = [build_tier(name, "tiny", is_local=True) for name in ("fast", "standard", "advanced")]

    choice = choose_tier(complexity, (*local, *ALL), max_latency=limit)

    assert (choice.tier.model, choice.reason) == (model, reason)


def test_a_slow_local_model_gives_way_to_the_api_of_its_tier():
    assert choose_tier(0.1, (LOCAL, FAST), max_latency=3).tier == FAST
    assert choose_tier(0.1, (LOCAL, STANDARD), max_latency=6).tier == STANDARD


def test_a_local_model_is_within_every_cost():
    choice = choose_tier(0.9, (LOCAL, *ALL), max_cost=1e-9, estimated_tokens=100_000)

    assert choice.tier == LOCAL


def test_a_tier_without_a_price_is_let_through_and_noted():
    unpriced = build_tier("standard", "m")

    choice = choose_tier(0.5, (unpriced,), max_cost=0.01, estimated_tokens=1000)

    assert (choice.tier, choice.reason) == (unpriced, "medium,price_unknown")


@given(
    complexity=st.floats(0, 1),
    tiers=st.lists(st.sampled_from([*ALL, LOCAL]), min_size=1, unique=True),
    max_cost=st.one_of(st.none(), st.floats(1e-6, 1)),
    max_latency=st.one_of(st.none(), st.floats(0.5, 30)),
    prefer_api=st.booleans(),
    tokens=st.integers(0, 100_000),
    share=st.floats(0, 1),
)
def test_a_choice_never_costs_more_than_allowed(complexity, tiers, max_cost, max_latency, prefer_api, tokens, share):
    choice = choose_tier(
        complexity, tiers, max_cost=max_cost, max_latency=max_latency, prefer_api=prefer_api, estimated_tokens=tokens
    )

    if choice.tier is None:
        assert all(estimate_cost(t, tokens) > Decimal(str(max_cost)) for t in tiers if t.name == "fast")
        return
    prompt = int(tokens * share)
    cost = compute_cost(Usage(prompt_tokens=prompt, completion_tokens=tokens - prompt), choice.tier)
    assert max_cost is None or cost <= Decimal(str(max_cost))
    if max_latency is not None and max_cost is None and choice.tier.seconds > max_latency:
        assert choice.tier.seconds == min(t.seconds for t in tiers)


def test_without_tiers_there_is_no_choice():
    with pytest.raises(ValueError, match="no tiers"):
        choose_tier(0.5, ())


def test_costs_are_counted_exactly_by_kind_of_token():
    usage = Usage(prompt_tokens=1000, completion_tokens=100)

    assert compute_cost(usage, STANDARD) == Decimal("0.0014")
    assert compute_cost(usage, LOCAL) == 0
    assert compute_cost(usage, build_tier("fast", "m")) is None


def test_a_price_table_is_read_exactly():
    prices = parse_prices('{"small": {"input": 0.15, "output": 0.6}, "free": {"input": 0, "output": 0}}')

    assert prices["small"] == Price(prompt=Decimal("0.15"), completion=Decimal("0.6"))
    assert prices["free"].prompt == 0


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ("{", "no valid JSON"),
        ("[]", "JSON object"),
        ('{"m": 3}', "input"),
        ('{"m": {"input": 1}}', "output"),
        ('{"m": {"input": -1, "output": 1}}', "from 0 on"),
        ('{"m": {"input": "1", "output": 1}}', "numbers"),
        ('{"m": {"input": NaN, "output": 1}}', "no price"),
        ('{"m": {"input": true, "output": 1}}', "numbers"),
    ],
)
def test_a_price_table_that_cannot_be_used_is_refused_in_words(table, fault):
    with pytest.raises(ValueError, match=fault):
        parse_prices(table)
