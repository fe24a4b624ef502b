"""What requests have used, and what they may cost."""

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import ModelUnavailableError
from ragcore.llm.fallback import FallbackGenerator, TieredGenerator
from ragcore.llm.tiers import TIER_NAMES, Price, build_tier
from ragcore.llm.usage import (
    CostBudget,
    MeteredStream,
    TooExpensiveError,
    UsageEntry,
    group_by_purpose,
    total_cost,
    total_known_cost,
    total_usage,
)
from ragcore.ports import ChatMessage, GenerationEvent, GenerationRequest
from ragcore.types import Usage

MESSAGES = (ChatMessage(role="user", content="How many steps?"),)


def spent(purpose, tokens, cost):
    return UsageEntry(purpose=purpose, model="m", usage=Usage(prompt_tokens=tokens), cost=cost)


def test_everything_is_summed_and_grouped_by_purpose():
    entries = [spent("rewriting", 5, Decimal("0.1")), spent("writing", 7, Decimal("0.2")), spent("rewriting", 1, None)]

    assert total_usage(entries).total_tokens == 13
    assert [(name, len(part)) for name, part in group_by_purpose(entries).items()] == [("rewriting", 2), ("writing", 1)]
    assert (total_cost(entries), total_known_cost(entries)) == (None, Decimal("0.3"))
    assert total_cost(entries[:2]) == Decimal("0.3")


def test_nothing_used_has_no_cost_and_an_unknown_price_of_nothing_does_not_matter():
    assert total_cost([]) is None
    assert total_cost([spent("writing", 0, None), spent("writing", 1, Decimal(2))]) == 2


async def events(*texts, usage=None, error=None):
    for text in texts:
        yield GenerationEvent(text=text)
    if error is not None:
        raise error
    if usage is not None:
        yield GenerationEvent(final=True, usage=usage)


async def test_a_request_that_ended_has_the_usage_of_its_server():
    reading = MeteredStream(MESSAGES)

    assert [event.text async for event in reading.of(events("a", "b", usage=Usage(prompt_tokens=9)))] == ["a", "b", ""]
    assert (reading.text, reading.usage) == ("ab", Usage(prompt_tokens=9))


async def test_a_request_that_was_left_is_estimated_because_the_server_may_count_it():
    reading, stream = MeteredStream(MESSAGES), events("four", " steps", usage=Usage(prompt_tokens=9))

    async for _event in reading.of(stream):
        break

    assert reading.usage.prompt_tokens > 4
    assert reading.usage.completion_tokens == 1


async def test_a_request_that_nobody_answered_used_nothing():
    reading = MeteredStream(MESSAGES)

    with pytest.raises(ModelUnavailableError):
        [event async for event in reading.of(events(error=ModelUnavailableError()))]

    assert reading.usage == Usage()


class Honest:
    """A model that writes as much as it may and needs as many tokens as the counter says, or fails, or says nothing."""

    def __init__(self, name, fate):
        self.name, self.fate = name, fate

    async def stream(self, request):
        if self.fate == "down":
            raise ModelUnavailableError
        prompt = sum(len(message.content) for message in request.messages)
        if self.fate == "empty":
            yield GenerationEvent(final=True, usage=Usage(prompt_tokens=prompt))
            return
        yield GenerationEvent(text="text")
        yield GenerationEvent(final=True, usage=Usage(prompt_tokens=prompt, completion_tokens=request.max_tokens))


@given(
    prices=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=3, max_size=3),
    fates=st.lists(st.sampled_from(["fine", "down", "empty"]), min_size=3, max_size=3),
    left=st.decimals(min_value=0, max_value="0.2", places=4),
    max_tokens=st.integers(1, 4096),
    prompt=st.text("ab", max_size=3000),
    times=st.integers(1, 3),
)
async def test_the_requests_of_an_answer_never_cost_more_than_is_left(prices, fates, left, max_tokens, prompt, times):
    rungs = [
        TieredGenerator(
            tier=build_tier(name, name, Price(prompt=Decimal(p), completion=Decimal(c))), generator=Honest(name, fate)
        )
        for name, (p, c), fate in zip(TIER_NAMES, prices, fates, strict=True)
    ]
    purse = CostBudget(remaining=left, count=len)
    generator = FallbackGenerator(rungs).within(purse)
    request = GenerationRequest(
        question="?", sources=(), messages=(ChatMessage(role="user", content=prompt),), max_tokens=max_tokens
    )
    costs = Decimal(0)

    for _time in range(times):
        with suppress(ModelUnavailableError, TooExpensiveError):
            async for event in generator.stream(request):
                costs += event.cost or 0 if event.final else 0

    assert purse.remaining >= 0
    assert costs <= left
