"""What the loops share: search, numbered sources and writing of one iteration, reported step by step."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragcore.answering.stages.context_build import BuildContext
from ragcore.errors import RagError
from ragcore.grading.budget import Meter
from ragcore.llm.cancellation import StoppedError, run_unless_stopped
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, Rewrite, SearchResult, Step, WrittenText

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LoopRun:
    """The working part of a loop over one state. Steps are told at once and kept in `steps`."""

    state: AnswerState
    ports: StagePorts
    meter: Meter
    top_k: int | None = None
    steps: list[Step] = field(default_factory=list)
    searches: list[dict[str, Any]] = field(default_factory=list)  # what each brought, in plain values

    async def tell(self, name: str, **detail: Any) -> None:
        """Tell and keep one step of the running round."""
        step = Step(name=name, round=self.meter.rounds, detail=detail)
        self.steps.append(step)
        await self.ports.report(step)

    async def begin(self, name: str, **detail: Any) -> None:
        """Tell what the reader waits for from now on; what it brings is told, and kept, by `tell`."""
        await self.ports.report(Step(name=name, round=self.meter.rounds, detail={**detail, "begins": True}))

    async def search(self, query: str) -> SearchResult:
        """What a query brings; for a refined one the question is asked besides it, so that nothing found is lost.

        What a stage before has found for the question itself is taken, not searched for again.
        """
        state = self.state
        if query == state.query and state.result is not None:
            result = replace(state.result, ranked=state.passages)
        else:
            asked = Rewrite(text=state.query, method="original")
            forms: Sequence[Rewrite] = state.rewrites if query == state.query else (asked,)
            await self.begin("search", query=query)
            result = await self.ports.search(query, forms, top_k=self.top_k)
            await self.tell("search", query=query, found=len(result.ranked), seconds=round(result.seconds, 3))
        chunks = [ranked.passage.chunk for ranked in result.ranked]
        self.searches.append(
            {"round": self.meter.rounds, "query": query, "chunks": chunks, "relevant": result.relevant}
        )
        return result

    async def numbered(self, result: SearchResult) -> AnswerState:
        """The state with what a search has found as passages and numbered sources."""
        state = replace(self.state, result=result, passages=result.ranked)
        if self.ports.build_context is not None:
            return await self.ports.build_context(state)
        return await BuildContext()(state, self.ports)

    async def write(self, built: AnswerState, *, critique: str = "") -> WrittenText:
        """An answer from the sources of a state, counted."""
        written = await self.ports.write(built.query, built.sources, critique=critique)
        self.meter.spend(written.usage)
        return written

    def used(self) -> dict[str, Any]:
        """Seconds and tokens so far, for a step."""
        return {"seconds": round(self.meter.seconds, 3), "tokens": self.meter.usage.total_tokens}


def limited_seconds(ports: StagePorts, seconds: float) -> float:
    """The seconds of a loop, at most those that are left of the whole answer."""
    return seconds if ports.seconds_left is None else min(seconds, ports.seconds_left())


async def run_guarded(work: LoopRun, step: Coroutine[Any, Any, str]) -> str:
    """What a round returns, within the seconds that are left; a round that fails ends the loop, not the answer.

    Returns "seconds" for one that takes longer, "failed" for one that raises; both are told and logged; "stopped"
    where the reader has stopped the answer.
    """
    try:
        async with asyncio.timeout(work.meter.remaining_seconds):
            return await run_unless_stopped(work.ports.stop, step)
    except StoppedError:
        return StoppedError.code
    except TimeoutError:
        code = "seconds" if work.meter.remaining_seconds <= 0 else "TimeoutError"
        logger.warning("round %s took too long", work.meter.rounds)
    except RagError as problem:
        code = problem.code
        logger.warning("round %s failed: %s", work.meter.rounds, code)
    except Exception as problem:
        code = type(problem).__name__
        logger.exception("round %s failed", work.meter.rounds)
    await work.tell("stop", reason="failed" if code != "seconds" else code, error=code)
    return "seconds" if code == "seconds" else "failed"
