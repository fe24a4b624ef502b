"""The agentic loop: search, judge, answer, refine, until the answer can be relied on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragcore.answering.pipeline import answer_stage
from ragcore.answering.stages.loops import LoopRun, limited_seconds, run_guarded
from ragcore.grading.answers import confidence_in
from ragcore.grading.budget import UNFINISHED, Budget, Meter
from ragcore.grading.passages import (
    STOP_AT,
    Coverage,
    PassageScores,
    compute_coverage,
    grade_passages,
    unfit_judge,
)
from ragcore.grading.query_refinement import RefinedQuery, refine_query, strategies_for
from ragcore.labels import gettext_noop as _
from ragcore.llm.client import LlmClient
from ragcore.prompts.refusals import is_refusal
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, Ranked, SearchResult

# The most that judging passages takes: six of 1200 characters, at most a token each, the prompt and the reply.
JUDGEMENT_TOKENS = 10_000
ENOUGH_MEAN = 0.7  # of the four dimensions; below it the passages need improvement


@dataclass(frozen=True, slots=True, kw_only=True)
class _Iteration:
    """The outcome of one iteration; `state` carries passages, sources and text."""

    state: AnswerState
    query: str
    scores: PassageScores
    evidence: Coverage
    confidence: float
    by: str
    seconds: float = 0.0  # that it took

    @property
    def answers(self) -> bool:
        return self.state.answer_text is not None and not is_refusal(self.state.answer_text.text)


@dataclass(slots=True)
class _Progress:
    query: str  # of the next round
    best: _Iteration | None = None
    unjudged: _Iteration | None = None  # what was written last, in case that judging it takes too long
    unwritten: AnswerState | None = None  # the last sources, in case that nothing is left of the budget to write
    used: list[str] = field(default_factory=list)  # queries
    details: list[dict[str, Any]] = field(default_factory=list)


@answer_stage("loop.agentic", label=_("agentic rounds"), hears_stop=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class LoopAgentic:
    """Replaces search, context and writing; passages, sources, text and confidence of the best iteration are returned.

    Ends at an answer with a confidence of `enough`, or, without any model, with an evidence confidence of 0.7; at a
    limit of the budget; when no new query is left; or when an iteration fails. With `variants` each round also searches
    for the variants that rules make of its query. Where the budget ends before anything is written, the sources are
    returned for the caller to write from; where nothing was found either, only the steps.
    """

    rounds: int = 3
    enough: float = 0.8  # confidence
    seconds: float = 45.0
    tokens: int = 40_000
    cost: float = 0.0
    top_k: int | None = None
    variants: bool = False

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        seconds = limited_seconds(ports, self.seconds)
        budget = Budget(rounds=self.rounds, seconds=seconds, tokens=self.tokens, cost=self.cost)
        meter = Meter(budget, (ports.llm, ports.judge), cost=ports.cost_so_far)
        run, progress = LoopRun(state, ports, meter, self.top_k), _Progress(query=state.query)
        stopped = ""
        with meter.limiting():
            while not stopped and not (stopped := meter.used_up()):
                meter.rounds += 1
                stopped = await run_guarded(run, self._iterate(run, progress, ports.judge or ports.llm))
        return _final_state(state, run, progress, stopped)

    async def _iterate(self, run: LoopRun, progress: _Progress, judge: LlmClient | None) -> str:
        """One iteration and the query of the next one; returns why it is the last, "" if it is not."""
        progress.used.append(progress.query)
        iteration = await self._run_iteration(run, progress, judge)
        if progress.best is None or _rank(iteration) > _rank(progress.best):
            progress.best = iteration
        progress.details.append(detail := _detail(iteration, run))
        if stopped := self._stop_reason(iteration, has_model=judge is not None) or run.meter.used_up():
            return stopped
        refined = await self._refine_query(run, iteration, progress.used, judge)
        if refined is None:
            return "nothing_new"
        progress.query = refined.query
        detail["strategies"] = detail["improvements_made"] = list(refined.strategies)
        return ""

    async def _run_iteration(self, run: LoopRun, progress: _Progress, judge: LlmClient | None) -> _Iteration:
        ports, question, query = run.ports, run.state.query, progress.query
        begun = run.meter.seconds
        result = await run.search(query, method="variants" if self.variants else "")
        ranked = result.ranked if result.relevant else ()
        evidence = compute_coverage(question, ranked, ports.tokenizer)
        before = progress.best.state.answer_text if progress.best is not None else None
        judging = self._judge_passages(run, query, ranked, evidence, judge, before.text if before is not None else "")
        writing = self._write_answer(run, progress, replace(result, ranked=ranked), evidence)
        if run.meter.has_room(JUDGEMENT_TOKENS):  # neither waits for what the other one finds
            scores, built = await asyncio.gather(judging, writing)
        else:
            scores, built = await judging, await writing
        iteration = _Iteration(
            state=run.state, query=query, scores=scores, evidence=evidence, confidence=0.0, by="rules"
        )
        if built.answer_text is None:
            return replace(iteration, seconds=run.meter.seconds - begun)
        progress.unjudged = replace(iteration, state=built, confidence=evidence.relevant / 2)
        await run.announce("grade")
        sure, by = await confidence_in(question, built.answer_text.text, built.sources, evidence, ports, judge)
        await run.report("answer", query=query, confidence=round(sure, 3), by=by, **run.usage_figures())
        graded = replace(built, confidence=sure)
        return replace(iteration, state=graded, confidence=sure, by=by, seconds=run.meter.seconds - begun)

    async def _judge_passages(
        self,
        run: LoopRun,
        query: str,
        ranked: Sequence[Ranked],
        evidence: Coverage,
        judge: LlmClient | None,
        answer_before: str,
    ) -> PassageScores:
        await run.announce("judge", query=query)
        scores = await grade_passages(run.state.query, ranked, run.ports, judge, answer_before=answer_before)
        figures = {**scores.figures(), "mean": round(scores.mean, 3), "by": scores.by, **run.usage_figures()}
        figures |= {"evidence": round(evidence.confidence, 3), "status": evidence.status}
        await run.report("judge", query=query, **figures, **unfit_judge(judge))
        return scores

    async def _write_answer(
        self, run: LoopRun, progress: _Progress, result: SearchResult, evidence: Coverage
    ) -> AnswerState:
        """Sources with a text; without one where there are none, or the budget ended before it."""
        if not result.ranked:
            return run.state
        built = await run.number_sources(result)
        if not built.sources:
            return run.state
        progress.unwritten = built
        if run.meter.spent_up():
            return built
        await run.announce("answer")
        answer_text = await run.write(built)
        return replace(built, answer_text=answer_text, confidence=evidence.relevant / 2)

    def _stop_reason(self, iteration: _Iteration, *, has_model: bool) -> str:
        """Why an iteration is the last one; "" if another is worth it. A refusal is never enough."""
        if not iteration.answers:
            return ""
        if iteration.confidence >= self.enough:
            return "confidence"
        return "evidence" if not has_model and iteration.evidence.confidence >= STOP_AT else ""

    async def _refine_query(
        self, run: LoopRun, iteration: _Iteration, used: list[str], judge: LlmClient | None
    ) -> RefinedQuery | None:
        strategies = strategies_for(iteration.scores, iteration.evidence)
        await run.announce("refine")
        refined = await refine_query(
            run.state.query,
            iteration.query,
            strategies=strategies,
            ranked=iteration.state.passages,
            missing=iteration.scores.missing,
            evidence=iteration.evidence,
            used=used,
            ports=run.ports,
            llm=run.ports.llm or judge,
        )
        if refined is not None:
            await run.report("refine", strategies=list(strategies), query=refined.query, by=refined.by)
        return refined


def _rank(iteration: _Iteration) -> tuple[bool, float, float]:
    """Sort key: an answer before a refusal, then confidence, then the mean of the passages."""
    return iteration.answers, iteration.confidence, iteration.scores.mean


def _detail(iteration: _Iteration, run: LoopRun) -> dict[str, Any]:
    return {
        "round": run.meter.rounds,
        "query": iteration.query,
        "passages": len(iteration.state.passages),
        "chunks": [source.passage.chunk for source in iteration.state.sources],
        "scores": iteration.scores.figures(),
        "mean": round(iteration.scores.mean, 3),
        "needs_improvement": iteration.scores.mean < ENOUGH_MEAN,
        "strategies": [],
        "improvements_made": [],
        "processing_time": round(iteration.seconds, 3),
        "confidence": round(iteration.confidence, 3),
        "by": iteration.by,
        "evidence": iteration.evidence.short(),
        **run.usage_figures(),
    }


def _final_state(state: AnswerState, run: LoopRun, progress: _Progress, stopped: str) -> AnswerState:
    """The state of the best iteration, or with sources to write from; else only steps and figures are added."""
    best = progress.best
    final = best if best is not None and best.state.answer_text is not None else progress.unjudged
    handed_on = progress.unwritten if stopped in UNFINISHED else None
    after = final.state if final is not None else handed_on or state
    return after.with_steps(*run.steps).with_stats(
        "loop.agentic",
        iterations=run.meter.rounds,
        stopped=stopped,
        confidence=None if final is None else round(final.confidence, 4),
        best_query="" if final is None else final.query,
        evidence=None if final is None else final.evidence.figures(),
        searches=run.searches,
        details=progress.details,
        **run.usage_figures(),
    )
