"""Racing work against the reader's stop."""

import asyncio

import pytest

from ragcore.answering.pipeline import AnswerStage, answer_stage, run_stages
from ragcore.llm.client import LlmClient, StoppedError, run_unless_stopped
from ragcore.ports import GenerationEvent
from ragcore.types.answering import AnswerState, Question
from tests.ragcore.grading.world import World


def stop_set():
    stop = asyncio.Event()
    stop.set()
    return stop


class Endless:
    """Work that nobody finishes."""

    def __init__(self):
        self.begun, self.ended = asyncio.Event(), False

    async def __call__(self):
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True


@pytest.mark.parametrize("stop", [None, asyncio.Event()], ids=["nobody", "not yet"])
async def test_work_that_nobody_stops_returns_what_it_returns(stop):
    async def work():
        return 7

    assert await run_unless_stopped(stop, work()) == 7


async def test_what_the_work_raises_is_raised():
    async def work():
        raise KeyError("x")

    with pytest.raises(KeyError):
        await run_unless_stopped(asyncio.Event(), work())


async def test_a_stop_cancels_the_work_and_waits_for_its_end():
    stop, work = asyncio.Event(), Endless()
    racing = asyncio.ensure_future(run_unless_stopped(stop, work()))
    await work.begun.wait()

    stop.set()
    with pytest.raises(StoppedError):
        await racing

    assert work.ended


async def test_whoever_waits_and_is_cancelled_cancels_the_work():
    work = Endless()
    racing = asyncio.ensure_future(run_unless_stopped(asyncio.Event(), work()))
    await work.begun.wait()

    racing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await racing

    assert work.ended


# ── stages ──────────────────────────────────────────────────────────────────────────────────────


def stages(stop, *, optional, hears_stop=False):
    """One that ends at once, one that stops the answer and never ends by itself, and one that is not reached."""
    from dataclasses import dataclass, replace

    def made(name, work, **options):
        @answer_stage(f"test.{name}.{optional}.{hears_stop}", label=name, **options)
        @dataclass(frozen=True, slots=True, kw_only=True)
        class Stage:
            async def __call__(self, state, ports):
                return await work(state)

        return Stage()

    async def first(state):
        return replace(state, standalone="first")

    async def endless(state):
        stop.set()
        if hears_stop:
            return replace(state, standalone="ended by itself")
        return await asyncio.Event().wait()

    async def unreached(state):
        raise AssertionError("after the stop")

    return [
        made("first", first),
        made("endless", endless, optional=optional, hears_stop=hears_stop),
        made("unreached", unreached, optional=False),
    ]


@pytest.mark.parametrize("optional", [True, False])
async def test_once_stopped_no_further_stage_runs_and_the_state_so_far_comes_back(optional):
    stop = asyncio.Event()
    ways: list[AnswerStage] = stages(stop, optional=optional)

    state = await run_stages(ways, AnswerState(question=Question(text="q")), World().ports(stop=stop))

    assert state.standalone == "first"
    assert [record.error for record in state.records] == ([None, "stopped"] if optional else [None])


async def test_a_stage_that_hears_the_stop_ends_by_itself():
    stop = asyncio.Event()
    ways = stages(stop, optional=True, hears_stop=True)

    state = await run_stages(ways, AnswerState(question=Question(text="q")), World().ports(stop=stop))

    assert state.standalone == "ended by itself"


# ── clients ─────────────────────────────────────────────────────────────────────────────────────


class Silent:
    name = "silent"

    def __init__(self, stop):
        self.stop = stop

    async def stream(self, messages, *, temperature, max_tokens):
        yield GenerationEvent(text="So far")
        self.stop.set()
        await asyncio.Event().wait()


async def test_an_asker_gives_its_request_up_with_the_stop_and_counts_what_it_used():
    stop = asyncio.Event()
    client = LlmClient(Silent(stop), stop=stop)

    assert await client.text("refine_hop", question="q", context="c") is None

    assert client.counts == {"asked": 1, "stopped": 1}
    assert client.usage.completion_tokens == 2
