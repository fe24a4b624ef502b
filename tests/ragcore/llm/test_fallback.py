from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.llm.fallback import FallbackGenerator, TieredGenerator
from ragcore.llm.generators import EndEvent, LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.llm.tiers import Price, build_tier, compute_cost
from ragcore.llm.usage import CostBudget, TooExpensiveError
from ragcore.types import Usage
from tests.contracts.generator import REQUEST, GeneratorContract
from tests.scripted_llm import Reply, serving

NAMES = ("standard", "advanced", "fast")
TIERS = [build_tier(name, name) for name in NAMES]


@pytest.fixture
def servers():
    with ExitStack() as stack:
        running = [stack.enter_context(serving()) for _ in NAMES]
        for server, name in zip(running, NAMES, strict=True):
            server.default = Reply(texts=(f"by {name}",))
        yield running


async def at_once(seconds):
    return None


def ladder(servers, **options):
    rungs = [
        TieredGenerator(tier=tier, generator=LLMAnswerGenerator(OpenAIChatModel(s.url, "", tier.model, sleep=at_once)))
        for tier, s in zip(TIERS, servers, strict=True)
    ]
    return FallbackGenerator(rungs, **options)


@pytest.fixture
def generator(servers):
    return ladder(servers)


async def collected(generator, request=REQUEST):
    events = [event async for event in generator.stream(request)]
    return "".join(event.text for event in events), events[-1]


class TestFallbackGenerator(GeneratorContract):
    async def test_the_first_model_writes_where_it_can(self, generator, servers):
        text, end = await collected(generator)

        assert text == "by standard"
        assert isinstance(end, EndEvent)
        assert (end.model, end.tier) == ("standard", TIERS[0])
        assert servers[1].requests == servers[2].requests == []

    @pytest.mark.parametrize(
        "reply", [Reply(status=500), Reply(status=429), Reply(status=401), Reply(cut_after=0), Reply(texts=())]
    )
    async def test_the_next_model_writes_where_one_does_not(self, generator, servers, reply):
        servers[0].default = reply

        text, end = await collected(generator)

        assert text == "by advanced"
        assert end.tier == TIERS[1]

    async def test_a_model_that_hangs_is_passed_over_after_a_while(self, servers):
        servers[0].default = Reply(hold_before=0)

        text, _ = await collected(ladder(servers, patience_seconds=0.3))

        assert text == "by advanced"

    async def test_where_none_answers_the_error_is_told(self, generator, servers):
        for server in servers:
            server.default = Reply(status=500)

        with pytest.raises(ModelUnavailableError):
            await collected(generator)

        assert all(server.requests for server in servers)

    async def test_a_model_that_has_begun_is_not_replaced(self, generator, servers):
        servers[0].default = Reply(texts=("half", " more"), cut_after=1)

        text, end = await collected(generator)

        assert text == "half"
        assert end.interrupted
        assert servers[1].requests == []

    async def test_an_empty_answer_of_the_last_model_is_passed_on_with_what_all_used(self, generator, servers):
        for server in servers:
            server.default = Reply(texts=(), usage=(5, 1))

        text, end = await collected(generator)

        assert text == ""
        assert end.usage == Usage(prompt_tokens=15, completion_tokens=3)

    async def test_a_model_that_failed_is_asked_last_for_a_while(self, servers):
        now = [0.0]
        generator = ladder(servers, rest_seconds=30, clock=lambda: now[0])
        servers[0].script(Reply(status=401))
        await collected(generator)

        asked = len(servers[0].requests)
        resting, _ = await collected(generator)
        now[0] = 31.0
        rested, _ = await collected(generator)

        assert (resting, rested) == ("by advanced", "by standard")
        assert len(servers[0].requests) == asked + 1

    async def test_a_model_that_rests_is_still_asked_where_no_other_answers(self, servers):
        generator = ladder(servers)
        servers[0].script(Reply(status=401))
        await collected(generator)
        for server in servers[1:]:
            server.default = Reply(status=500)

        text, _ = await collected(generator)

        assert text == "by standard"

    async def test_answers_have_at_most_the_tokens_of_their_tier(self, generator, servers):
        servers[0].default = Reply(status=401)

        await collected(generator, replace(REQUEST, max_tokens=4000))

        assert servers[0].requests[0].body["max_tokens"] == 2048
        assert servers[1].requests[0].body["max_tokens"] == 4000

    async def test_without_limits_the_request_alone_counts(self, servers):
        await collected(ladder(servers, is_limited=False), replace(REQUEST, max_tokens=4000))

        assert servers[0].requests[0].body["max_tokens"] == 4000

    async def test_a_listener_that_leaves_closes_the_connection(self, generator, servers):
        servers[0].script(Reply(texts=("one", "two"), hold_before=1))
        stream = generator.stream(REQUEST)
        await anext(stream)

        await stream.aclose()

        servers[0].release.set()
        assert (await collected(generator))[0] == "by standard"

    async def test_a_next_model_beyond_the_limit_of_cost_is_not_asked(self, servers):
        servers[0].default = Reply(status=500)
        generator = priced(servers, standard=1, advanced=100, fast=1).within(purse("0.01"))

        text, end = await collected(generator)

        assert text == "by fast"
        assert servers[1].requests == []
        assert end.cost == compute_cost(end.usage, end.tier)

    async def test_where_no_model_is_within_the_limit_none_is_asked(self, servers):
        generator = priced(servers, standard=100, advanced=100, fast=100).within(purse("0.0001"))

        with pytest.raises(TooExpensiveError):
            await collected(generator)

        assert [server.requests for server in servers] == [[], [], []]

    async def test_what_others_have_used_counts_towards_the_limit_and_the_cost(self, servers):
        servers[0].default = Reply(texts=(), usage=(20_000, 0))
        generator = priced(servers, standard=1, advanced=1, fast=0).within(purse("0.02"))

        text, end = await collected(generator)

        assert text == "by fast"
        assert servers[1].requests == []
        assert (end.usage.prompt_tokens, end.cost) == (20_007, Decimal("0.02"))

    async def test_a_model_without_a_price_is_asked_only_where_the_first_has_none_either(self, servers):
        servers[0].default = Reply(status=500)

        with pytest.raises(ModelUnavailableError):
            await collected(priced(servers, standard=1, advanced=None, fast=None).within(purse("1")))
        free = purse("1")
        free.takes_unknown = True
        text, end = await collected(priced(servers, standard=None, advanced=None, fast=None).within(free))

        assert text == "by advanced"
        assert end.cost is None

    async def test_a_limit_of_one_answer_is_none_of_the_next(self, servers):
        generator = priced(servers, standard=100, advanced=100, fast=100)
        generator.within(purse("0.0001"))

        assert (await collected(generator))[0] == "by standard"


def priced(servers, **prices):
    """The ladder at these prices of a million tokens; None: not known."""
    rungs = [
        TieredGenerator(
            tier=build_tier(name, name, None if prices[name] is None else price(prices[name])),
            generator=LLMAnswerGenerator(OpenAIChatModel(server.url, "", name, sleep=at_once)),
        )
        for name, server in zip(NAMES, servers, strict=True)
    ]
    return FallbackGenerator(rungs)


def price(value):
    return Price(prompt=Decimal(value), completion=Decimal(value))


def purse(left):
    return CostBudget(remaining=Decimal(left), count=len)


def test_a_ladder_needs_a_model():
    with pytest.raises(ValueError, match="no model"):
        FallbackGenerator([])
