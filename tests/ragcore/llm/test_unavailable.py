"""Models that nobody waits for any more."""

from decimal import Decimal

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.llm.fallback import FallbackGenerator, TieredGenerator
from ragcore.llm.generators import UnavailableGenerator
from ragcore.llm.tiers import Price, build_tier, choose_tier
from ragcore.ports import GenerationEvent, GenerationRequest

REQUEST = GenerationRequest(question="q", sources=())


class Speaking:
    def __init__(self, name):
        self.name = name

    async def stream(self, request):
        yield GenerationEvent(text=self.name)
        yield GenerationEvent(final=True)


def ladder(*names):
    return FallbackGenerator(
        [TieredGenerator(tier=build_tier("standard", name), generator=Speaking(name)) for name in names]
    )


async def written(generator):
    return "".join([event.text async for event in generator.stream(REQUEST)])


async def test_an_absent_model_fails_at_once_and_says_who_it_is():
    with pytest.raises(ModelUnavailableError) as caught:
        await written(UnavailableGenerator(name="gone"))

    assert caught.value.data["model"] == "gone"


async def test_absent_models_are_passed_over_for_this_answer_only():
    generator = ladder("a", "b")

    assert await written(generator.without(["a"])) == "b"
    assert generator.without(["a"]).names == ("b",)
    assert await written(generator) == "a"


async def test_without_any_model_left_none_is_available():
    with pytest.raises(ModelUnavailableError) as caught:
        await written(ladder("a", "b").without({"a", "b"}))

    assert caught.value.code == "model_unavailable"


def test_a_limit_of_nothing_is_for_what_is_known_to_be_free():
    free, paid = Price(prompt=Decimal(0), completion=Decimal(0)), Price(prompt=Decimal(1), completion=Decimal(1))

    assert choose_tier(0.1, [build_tier("fast", "m", free)], max_cost=0, estimated_tokens=10).tier is not None
    for price in (paid, None):
        choice = choose_tier(0.1, [build_tier("fast", "m", price)], max_cost=0, estimated_tokens=10)
        assert (choice.tier, choice.reasons[-1]) == (None, "too_expensive")
