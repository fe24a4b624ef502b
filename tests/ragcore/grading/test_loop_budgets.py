"""No loop exceeds its rounds, tokens or money by more than the one request that reaches the limit."""

import json
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages import loop_agentic, loop_self_rag, loops
from ragcore.llm.client import LlmClient
from ragcore.ports import GenerationEvent
from ragcore.types import Usage
from ragcore.types.answering import WrittenText
from tests.ragcore.grading.world import World, state_of

LOOPS = {
    "loop.agentic": loop_agentic.LoopAgentic,
    "loop.self_rag": loop_self_rag.LoopSelfRag,
    "loop.iterative": loops.LoopIterative,
}
PRICE = 0.001  # of a token


@dataclass
class Ledger:
    """All requests of a loop: what had been used when each began, and what each used."""

    sizes: list[int]
    begun: list[int] = field(default_factory=list)
    used: list[int] = field(default_factory=list)

    def begin(self) -> None:
        self.begun.append(sum(self.used))

    def end(self) -> Usage:
        self.used.append(self.sizes[len(self.used) % len(self.sizes)])
        return Usage(prompt_tokens=self.used[-1])


@dataclass
class NeverContent:
    """Judges everything badly and always has another query, so that loops go on as long as they may."""

    ledger: Ledger
    name: str = "never content"

    async def stream(self, messages, *, temperature, max_tokens):
        self.ledger.begin()
        grades = dict.fromkeys(("relevance", "completeness", "accuracy", "coherence", "confidence", "grade"), 0.2)
        grades |= dict.fromkeys(("clarity", "citation_quality"), 1)
        query = f"random access steps preamble {len(self.ledger.used)}"
        yield GenerationEvent(text=json.dumps({**grades, "query": query}))
        yield GenerationEvent(final=True, usage=self.ledger.end())


def tools_of(world, ledger):
    async def write(question, sources, *, critique=""):
        ledger.begin()
        return WrittenText(text=f"Attempt {len(ledger.used)} [1].", usage=ledger.end())

    client = LlmClient(NeverContent(ledger))
    return world.ports(llm=client, judge=client, write=write, cost_so_far=lambda: PRICE * sum(ledger.used))


async def run(name, ledger, **options):
    world = World()
    state = await run_stages(build_stages([(name, options)]), state_of(), tools_of(world, ledger))
    return world, state.stats[name]


@pytest.mark.parametrize("name", LOOPS)
@given(
    sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=8),
    tokens=st.integers(1, 40_000),
    rounds=st.integers(1, 3),
)
async def test_rounds_and_tokens_are_never_exceeded_by_more_than_the_running_request(name, sizes, tokens, rounds):
    ledger = Ledger(sizes)

    world, figures = await run(name, ledger, tokens=tokens, rounds=rounds)

    assert figures["iterations"] <= rounds
    assert len(world.queries) <= rounds
    assert all(before < tokens for before in ledger.begun)
    assert sum(ledger.used) <= tokens + max(sizes)


@pytest.mark.parametrize("name", LOOPS)
@given(sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=8), cost=st.floats(0.001, 20))
async def test_money_is_never_exceeded_by_more_than_the_running_request(name, sizes, cost):
    ledger = Ledger(sizes)

    await run(name, ledger, cost=cost)

    assert all(PRICE * before < cost for before in ledger.begun)
    assert PRICE * sum(ledger.used) <= cost + PRICE * max(sizes) + 1e-9


@pytest.mark.parametrize("name", LOOPS)
async def test_a_loop_without_a_limit_in_reach_takes_all_its_rounds(name):
    _world, figures = await run(name, Ledger([1]), rounds=2)

    assert (figures["iterations"], figures["stopped"]) == (2, "rounds")
