"""Search in several hops: what the first search reveals becomes the next query (V9, multi-hop)."""

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
