"""Searching in several steps: what the first search reveals goes into the next query (V9, multi-hop)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragcore.answering.iterations import LoopRun, limited_seconds, run_guarded
from ragcore.answering.pipeline import answer_stage
from ragcore.grading.budget import Budget, Meter
from ragcore.grading.hops import next_hop
from ragcore.labels import gettext_noop as _
from ragcore.llm.cancellation import run_unless_stopped
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, Rewrite, SearchResult


@dataclass(slots=True)
class _SoFar:
    result: SearchResult
    hops: list[str] = field(default_factory=list)


@answer_stage("loop.iterative", label=_("search in several steps"), hears_stop=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class LoopIterative:
    """Takes the place of search. Every step searches for the question and for all queries so far together.

    A step that fails or finds nothing leaves what the steps before have found; the first search raises.
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
        work = LoopRun(state, ports, meter, self.top_k)
        meter.rounds = 1
        first = await run_unless_stopped(ports.stop, work.search(state.query))
        so_far = _SoFar(result=first)
        stopped = ""
        with meter.limiting():
            while not stopped and not (stopped := meter.used_up()):
                meter.rounds += 1
                stopped = await run_guarded(work, self._next(work, so_far))
        rewrites = (*state.rewrites, *_forms(so_far.hops))
        after = replace(state, result=so_far.result, passages=so_far.result.ranked, rewrites=rewrites)
        figures = {"iterations": meter.rounds, "queries": so_far.hops, "stopped": stopped, **work.used()}
        return after.with_steps(*work.steps).with_stats("loop.iterative", **figures)

    async def _next(self, work: LoopRun, so_far: _SoFar) -> str:
        """The next query and its search together with all before; returns why it is the last step, "" if it is not."""
        state, ports = work.state, work.ports
        query, by = await next_hop(state.query, so_far.result.ranked, ports, ports.llm)
        if not query or query in so_far.hops:
            return "nothing_new"
        await work.tell("hop", query=query, by=by)
        await work.begin("search", query=query)
        forms = (*state.rewrites, *_forms([*so_far.hops, query]))
        result = await ports.search(state.query, forms, top_k=self.top_k)
        await work.tell("search", query=query, found=len(result.ranked), seconds=round(result.seconds, 3))
        if not result.ranked:
            return "nothing_found"
        so_far.result = result
        so_far.hops.append(query)
        return ""


def _forms(hops: Sequence[str]) -> tuple[Rewrite, ...]:
    return tuple(Rewrite(text=hop, method="hop") for hop in hops)
