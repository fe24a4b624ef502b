"""The agentic loop: search, judge, answer, refine, until the answer can be relied on (U7, A3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragcore.answering.iterations import LoopRun, limited_seconds, run_guarded
from ragcore.answering.pipeline import answer_stage
from ragcore.grading.answers import confidence_in
from ragcore.grading.budget import UNFINISHED, Budget, Meter
from ragcore.grading.evidence import STOP_AT, Evidence, evidence_confidence
from ragcore.grading.passages import PassageScores, judged_passages
from ragcore.grading.refining import Refined, refined_query, strategies_for
from ragcore.labels import gettext_noop as _
from ragcore.llm.client import LlmClient
from ragcore.prompts.refusals import is_refusal
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, Ranked, SearchResult

# The most that judging passages takes: six of 1200 characters, at most a token each, the prompt and the reply.
JUDGEMENT_TOKENS = 10_000
ENOUGH_MEAN = 0.7  # of the four dimensions; below it the search is improved, however sure the answer is (U7)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """What one round brought; `state` carries passages, sources and text."""

    state: AnswerState
    query: str
    scores: PassageScores
    evidence: Evidence
    confidence: float
    by: str

    @property
    def answers(self) -> bool:
        return self.state.written is not None and not is_refusal(self.state.written.text)


@dataclass(slots=True)
class _SoFar:
    query: str  # of the next round
    best: _Round | None = None
    unjudged: _Round | None = None  # what was written last, in case that judging it takes too long
    unwritten: AnswerState | None = None  # the last sources, in case that nothing is left of the budget to write
    used: list[str] = field(default_factory=list)  # queries
    details: list[dict[str, Any]] = field(default_factory=list)


@answer_stage("loop.agentic", label=_("agentic rounds"), hears_stop=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class LoopAgentic:
    """Takes the place of search, context and writing. The best round's passages, sources, text and confidence stay.

    Ends, where the passages have no weak dimension and 0.7 in the mean, at a confidence of `enough`, and where rules
    judge at an evidence confidence of 0.7, too (A3); at a limit of the budget; when nothing new can be asked; or when a
    round fails. Where the budget ends before anything is written, the sources come back for the caller to write from;
    where nothing was found either, the steps only.
    """

    rounds: int = 3
    enough: float = 0.8  # confidence
    seconds: float = 45.0
    tokens: int = 40_000
    cost: float = 0.0
    top_k: int | None = None

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        seconds = limited_seconds(ports, self.seconds)
        budget = Budget(rounds=self.rounds, seconds=seconds, tokens=self.tokens, cost=self.cost)
        meter = Meter(budget, (ports.llm, ports.judge), cost=ports.cost_so_far)
        work, so_far = LoopRun(state, ports, meter, self.top_k), _SoFar(query=state.query)
        stopped = ""
        with meter.limiting():
            while not stopped and not (stopped := meter.used_up()):
                meter.rounds += 1
                stopped = await run_guarded(work, self._next(work, so_far, ports.judge or ports.llm))
        return _finished(state, work, so_far, stopped)

    async def _next(self, work: LoopRun, so_far: _SoFar, judge: LlmClient | None) -> str:
        """One round and the query of the next one; returns why it is the last, "" if it is not."""
        so_far.used.append(so_far.query)
        done = await self._round(work, so_far, judge)
        if so_far.best is None or _rank(done) > _rank(so_far.best):
            so_far.best = done
        so_far.details.append(detail := _detail(done, work))
        if stopped := self._is_enough(done) or work.meter.used_up():
            return stopped
        refined = await self._refined(work, done, so_far.used, judge)
        if refined is None:
            return "nothing_new"
        so_far.query = refined.query
        detail["strategies"] = list(refined.strategies)
        return ""

    async def _round(self, work: LoopRun, so_far: _SoFar, judge: LlmClient | None) -> _Round:
        ports, question, query = work.ports, work.state.query, so_far.query
        result = await work.search(query)
        ranked = result.ranked if result.relevant else ()
        evidence = evidence_confidence(question, ranked, ports.tokenizer)
        judging = self._judged(work, query, ranked, evidence, judge)
        writing = self._written(work, so_far, replace(result, ranked=ranked), evidence)
        if work.meter.has_room(JUDGEMENT_TOKENS):  # neither waits for what the other one finds
            scores, built = await asyncio.gather(judging, writing)
        else:
            scores, built = await judging, await writing
        done = _Round(state=work.state, query=query, scores=scores, evidence=evidence, confidence=0.0, by="rules")
        if built.written is None:
            return done
        so_far.unjudged = replace(done, state=built, confidence=evidence.confidence / 2)
        await work.begin("grade")
        sure, by = await confidence_in(question, built.written.text, built.sources, evidence, ports, judge)
        await work.tell("answer", query=query, confidence=round(sure, 3), by=by, **work.used())
        return replace(done, state=replace(built, confidence=sure), confidence=sure, by=by)

    async def _judged(
        self, work: LoopRun, query: str, ranked: Sequence[Ranked], evidence: Evidence, judge: LlmClient | None
    ) -> PassageScores:
        await work.begin("judge", query=query)
        scores = await judged_passages(work.state.query, ranked, work.ports, judge)
        told = {**scores.figures(), "mean": round(scores.mean, 3), "by": scores.by, **work.used()}
        told |= {"evidence": round(evidence.confidence, 3), "status": evidence.status}
        await work.tell("judge", query=query, **told)
        return scores

    async def _written(self, work: LoopRun, so_far: _SoFar, result: SearchResult, evidence: Evidence) -> AnswerState:
        """Sources with a text; without one where there are none, or the budget ended before it."""
        if not result.ranked:
            return work.state
        built = await work.numbered(result)
        if not built.sources:
            return work.state
        so_far.unwritten = built
        if work.meter.spent_up():
            return built
        await work.begin("answer")
        written = await work.write(built)
        return replace(built, written=written, confidence=evidence.confidence / 2)

    def _is_enough(self, done: _Round) -> str:
        """Why a round is the last one; "" if another is worth it, as where the passages could be better."""
        if not done.answers or done.scores.weak or done.scores.mean < ENOUGH_MEAN:
            return ""
        if done.confidence >= self.enough:
            return "confidence"
        return "evidence" if done.by == "rules" and done.evidence.confidence >= STOP_AT else ""

    async def _refined(self, work: LoopRun, done: _Round, used: list[str], judge: LlmClient | None) -> Refined | None:
        strategies = strategies_for(done.scores, done.evidence)
        await work.begin("refine")
        refined = await refined_query(
            work.state.query,
            done.query,
            strategies=strategies,
            ranked=done.state.passages,
            missing=done.scores.missing,
            evidence=done.evidence,
            used=used,
            ports=work.ports,
            llm=work.ports.llm or judge,
        )
        if refined is not None:
            await work.tell("refine", strategies=list(strategies), query=refined.query, by=refined.by)
        return refined


def _rank(done: _Round) -> tuple[bool, float, float]:
    """An answer before a refusal, then the surer one, then better passages; the earlier of two equal rounds stays."""
    return done.answers, done.confidence, done.scores.mean


def _detail(done: _Round, work: LoopRun) -> dict[str, Any]:
    return {
        "round": work.meter.rounds,
        "query": done.query,
        "passages": len(done.state.passages),
        "chunks": [source.passage.chunk for source in done.state.sources],
        "scores": done.scores.figures(),
        "mean": round(done.scores.mean, 3),
        "strategies": [],
        "confidence": round(done.confidence, 3),
        "by": done.by,
        "evidence": done.evidence.short(),
        **work.used(),
    }


def _finished(state: AnswerState, work: LoopRun, so_far: _SoFar, stopped: str) -> AnswerState:
    """The state with the best round, or with sources to write from; else only steps and figures are added."""
    best = so_far.best
    found = best if best is not None and best.state.written is not None else so_far.unjudged
    handed_on = so_far.unwritten if stopped in UNFINISHED else None
    after = found.state if found is not None else handed_on or state
    return after.with_steps(*work.steps).with_stats(
        "loop.agentic",
        iterations=work.meter.rounds,
        stopped=stopped,
        confidence=None if found is None else round(found.confidence, 4),
        best_query="" if found is None else found.query,
        evidence=None if found is None else found.evidence.figures(),
        searches=work.searches,
        details=so_far.details,
        **work.used(),
    )
