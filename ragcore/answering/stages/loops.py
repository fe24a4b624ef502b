"""What all loops share, and the simplest of them: search in several hops (multi-hop).

A loop searches, numbers sources and writes once an iteration, and reports each step.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragcore.answering.pipeline import answer_stage
from ragcore.answering.stages.context import BuildContext
from ragcore.errors import RagError
from ragcore.grading.budget import Budget, Meter
from ragcore.grading.query_refinement import next_hop
from ragcore.labels import gettext_noop as _
from ragcore.llm.client import StoppedError, run_unless_stopped
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, Rewrite, SearchResult, Step, WrittenText
from ragcore.understanding.rewriting import rewrite_question

logger = logging.getLogger(__name__)

GRADING_SECONDS = 5.0  # that an iteration has at least for what it has written, so that it is not lost


@dataclass(slots=True)
class LoopRun:
    """What one run of a loop over a state needs. Steps are reported at once and kept in `steps`."""

    state: AnswerState
    ports: StagePorts
    meter: Meter
    top_k: int | None = None
    limit: asyncio.Timeout | None = None  # of the iteration under way
    steps: list[Step] = field(default_factory=list)
    searches: list[dict[str, Any]] = field(default_factory=list)  # what each brought, in plain values

    async def report(self, name: str, **detail: Any) -> None:
        """Report and keep one step of the running iteration."""
        step = Step(name=name, round=self.meter.rounds, detail=detail)
        self.steps.append(step)
        await self.ports.report(step)

    async def announce(self, name: str, **detail: Any) -> None:
        """Report what the reader waits for from now on; its outcome is reported, and kept, by `report`."""
        await self.ports.report(Step(name=name, round=self.meter.rounds, detail={**detail, "begins": True}))

    async def search(self, query: str, *, method: str = "") -> SearchResult:
        """Search with a query; a refined one is joined by the question itself, so that its passages are not lost.

        `method`: in which other forms a refined query is searched for, too ("variants"); "": in none. What an earlier
        stage has found for the question itself is used again.
        """
        state = self.state
        if query == state.query and state.result is not None:
            result = replace(state.result, ranked=state.passages)
        else:
            original = Rewrite(text=state.query, method="original")
            forms: Sequence[Rewrite] = state.rewrites
            if query != state.query:
                other = await rewrite_question(query, method, question=state.question, ports=self.ports)
                forms = (original, *other)
            await self.announce("search", query=query)
            result = await self.ports.search(query, forms, top_k=self.top_k)
            await self.report("search", query=query, found=len(result.ranked), seconds=round(result.seconds, 3))
        chunks = [ranked.passage.chunk for ranked in result.ranked]
        self.searches.append(
            {"round": self.meter.rounds, "query": query, "chunks": chunks, "relevant": result.relevant}
        )
        return result

    async def number_sources(self, result: SearchResult) -> AnswerState:
        """The state with what a search has found as passages and numbered sources."""
        state = replace(self.state, result=result, passages=result.ranked)
        if self.ports.build_context is not None:
            return await self.ports.build_context(state)
        return await BuildContext()(state, self.ports)

    async def write(self, built: AnswerState, *, critique: str = "") -> WrittenText:
        """An answer from the sources of a state, counted.

        The limits of its model hold for it: what flows is not cut by the seconds of the loop, which are over after it.
        """
        if self.limit is not None:
            self.limit.reschedule(None)
        answer_text = await self.ports.write(built.query, built.sources, critique=critique)
        if self.limit is not None:
            seconds = max(self.meter.remaining_seconds, GRADING_SECONDS)
            self.limit.reschedule(asyncio.get_running_loop().time() + seconds)
        self.meter.spend(answer_text.usage)
        return answer_text

    def usage_figures(self) -> dict[str, Any]:
        """Seconds and tokens so far, for a step."""
        return {"seconds": round(self.meter.seconds, 3), "tokens": self.meter.usage.total_tokens}


def limited_seconds(ports: StagePorts, seconds: float) -> float:
    """The seconds of a loop, at most those that are left of the whole answer."""
    return seconds if ports.seconds_left is None else min(seconds, ports.seconds_left())


async def run_guarded(run: LoopRun, step: Coroutine[Any, Any, str]) -> str:
    """The outcome of one iteration within the seconds that are left; a failure ends the loop, not the answer.

    Returns "seconds" for one that takes longer, "failed" for one that raises; both are reported and logged; "stopped"
    where the reader has stopped the answer.
    """
    try:
        async with asyncio.timeout(run.meter.remaining_seconds) as run.limit:
            return await run_unless_stopped(run.ports.stop, step)
    except StoppedError:
        return StoppedError.code
    except TimeoutError:
        code = "seconds" if run.meter.remaining_seconds <= 0 else "TimeoutError"
        logger.warning("round %s took too long", run.meter.rounds)
    except RagError as problem:
        code = problem.code
        logger.warning("round %s failed: %s", run.meter.rounds, code)
    except Exception as problem:
        code = type(problem).__name__
        logger.exception("round %s failed", run.meter.rounds)
    await run.report("stop", reason="failed" if code != "seconds" else code, error=code)
    return "seconds" if code == "seconds" else "failed"


@dataclass(slots=True)
class _Progress:
    result: SearchResult
    hops: list[str] = field(default_factory=list)


@answer_stage("loop.iterative", label=_("search in several steps"), hears_stop=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class LoopIterative:
    """Replaces the search. Every hop searches for the question and all queries so far together.

    A hop that fails or finds nothing keeps the result of the hops before; the first search raises.
    """

    rounds: int = 2  # searches
    seconds: float = 20.0
    tokens: int = 10_000
    cost: float = 0.0
    top_k: int | None = None

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        seconds = limited_seconds(ports, self.seconds)
        budget = Budget(rounds=self.rounds, seconds=seconds, tokens=self.tokens, cost=self.cost)
        meter = Meter(budget, (ports.llm,), cost=ports.cost_so_far)
        run = LoopRun(state, ports, meter, self.top_k)
        meter.rounds = 1
        first = await run_unless_stopped(ports.stop, run.search(state.query))
        progress = _Progress(result=first)
        stopped = ""
        with meter.limiting():
            while not stopped and not (stopped := meter.used_up()):
                meter.rounds += 1
                stopped = await run_guarded(run, self._search_next_hop(run, progress))
        rewrites = (*state.rewrites, *_hop_rewrites(progress.hops))
        after = replace(state, result=progress.result, passages=progress.result.ranked, rewrites=rewrites)
        figures = {"iterations": meter.rounds, "queries": progress.hops, "stopped": stopped, **run.usage_figures()}
        return after.with_steps(*run.steps).with_stats("loop.iterative", **figures)

    async def _search_next_hop(self, run: LoopRun, progress: _Progress) -> str:
        """The next query and its search together with all before; returns why it is the last hop, "" if it is not."""
        state, ports = run.state, run.ports
        query, by = await next_hop(state.query, progress.result.ranked, ports, ports.llm)
        if not query or query in progress.hops:
            return "nothing_new"
        await run.report("hop", query=query, by=by)
        await run.announce("search", query=query)
        forms = (*state.rewrites, *_hop_rewrites([*progress.hops, query]))
        result = await ports.search(state.query, forms, top_k=self.top_k)
        await run.report("search", query=query, found=len(result.ranked), seconds=round(result.seconds, 3))
        if not result.ranked:
            return "nothing_found"
        progress.result = result
        progress.hops.append(query)
        return ""


def _hop_rewrites(hops: Sequence[str]) -> tuple[Rewrite, ...]:
    return tuple(Rewrite(text=hop, method="hop") for hop in hops)
