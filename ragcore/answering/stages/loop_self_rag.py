"""Self-RAG: passages and answers are graded, and searched or written again where they are not good enough."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ragcore.answering.pipeline import answer_stage
from ragcore.answering.stages.loops import LoopRun, limited_seconds, run_guarded
from ragcore.grading.answers import AnswerGrades, grade_answer
from ragcore.grading.budget import UNFINISHED, Budget, Meter
from ragcore.grading.passages import Coverage, compute_coverage, grade_passages, retrieval_grade, unfit_judge
from ragcore.grading.query_refinement import refine_query, strategies_for
from ragcore.labels import gettext_noop as _
from ragcore.llm.client import LlmClient
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, SearchResult
from ragcore.understanding.small_talk import needs_retrieval

SEARCH_SHARE = 0.5  # of the seconds; then an answer is written from what there is


@dataclass(slots=True)
class _Progress:
    """The best search so far, and the best answer so far."""

    result: SearchResult | None = None
    grade: float = -1.0
    searched: Coverage | None = None  # in the passages of that search
    answer: AnswerState | None = None
    evidence: Coverage | None = None  # in the passages of that answer
    grades: AnswerGrades | None = None
    unwritten: AnswerState | None = None  # the last sources, in case that nothing is left of the budget to write
    texts: set[str] = field(default_factory=set)  # answers so far: the same once more is no better
    query: str | None = None  # of the next search; None: the passages are good enough, or no new query is left
    critique: str = ""


@answer_stage("loop.self_rag", label=_("Self-RAG"), hears_stop=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSelfRag:
    """Replaces search, context and writing, unless the question needs no search.

    An iteration searches, unless the passages are good enough already; it writes, unless the passages were graded below
    `good` and another search is possible. The loop ends at an answer whose five grades have a mean of `good`. The best
    answer is returned, with its grade as confidence. Where the budget ends before anything is written, the sources are
    returned for the caller to write from; where nothing was found either, only the steps.
    """

    rounds: int = 3
    good: float = 7.0  # grade, 0 to 10
    seconds: float = 45.0
    tokens: int = 40_000
    cost: float = 0.0
    top_k: int | None = None

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        needs = state.analysis.needs_retrieval if state.analysis is not None else needs_retrieval(state.query)
        if not needs:
            return state.with_stats("loop.self_rag", needs_retrieval=False, iterations=0, details=[])
        seconds = limited_seconds(ports, self.seconds)
        budget = Budget(rounds=self.rounds, seconds=seconds, tokens=self.tokens, cost=self.cost)
        meter = Meter(budget, (ports.llm, ports.judge), cost=ports.cost_so_far)
        run, progress = LoopRun(state, ports, meter, self.top_k), _Progress(query=state.query)
        details: list[dict[str, Any]] = []
        used: list[str] = []
        stopped = ""
        with meter.limiting():
            while not stopped and not (stopped := meter.used_up()):
                meter.rounds += 1
                detail: dict[str, Any] = {"round": meter.rounds}
                details.append(detail)
                stopped = await run_guarded(run, self._iterate(run, progress, used, detail, ports.judge or ports.llm))
                detail |= run.usage_figures()
        return _final_state(state, run, progress, details, stopped)

    async def _iterate(
        self, run: LoopRun, progress: _Progress, used: list[str], detail: dict[str, Any], judge: LlmClient | None
    ) -> str:
        """One round; returns why it is the last one, "" if it is not."""
        if progress.query is not None:
            await self._search(run, progress, used, detail, judge)
            if progress.query is not None and not run.meter.used_up():
                return ""
        if progress.result is None or not progress.result.ranked:
            return "nothing_found"
        return await self._answer(run, progress, detail, judge)

    async def _search(
        self, run: LoopRun, progress: _Progress, used: list[str], detail: dict[str, Any], judge: LlmClient | None
    ) -> None:
        """Search and grade; leaves a next query only where the passages are not good enough and time is left."""
        query, progress.query = progress.query or run.state.query, None
        used.append(query)
        result = await run.search(query)
        result = result if result.relevant else replace(result, ranked=())
        await run.announce("judge", query=query)
        grade, by = await retrieval_grade(run.state.query, result.ranked, run.ports, judge)
        evidence = compute_coverage(run.state.query, result.ranked, run.ports.tokenizer)
        figures = {"evidence": round(evidence.confidence, 3), "status": evidence.status}
        await run.report("judge", query=query, grade=round(grade, 2), by=by, **figures, **unfit_judge(judge))
        detail |= {"query": query, "retrieval_grade": round(grade, 2), "retrieval_by": by, "found": len(result.ranked)}
        detail |= {"evidence": evidence.short()}
        if grade > progress.grade:
            progress.result, progress.grade, progress.searched = result, grade, evidence
        meter = run.meter
        is_late = meter.seconds > SEARCH_SHARE * meter.budget.seconds
        if grade < self.good and not is_late and not meter.used_up():
            progress.query = await self._reformulate(run, query, result, evidence, used, judge)

    async def _reformulate(
        self,
        run: LoopRun,
        query: str,
        result: SearchResult,
        evidence: Coverage,
        used: list[str],
        judge: LlmClient | None,
    ) -> str | None:
        ports, question = run.ports, run.state.query
        await run.announce("refine")
        scores = await grade_passages(question, result.ranked, ports, None)
        refined = await refine_query(
            question,
            query,
            strategies=strategies_for(scores, evidence),
            ranked=result.ranked,
            missing=(),
            evidence=evidence,
            used=used,
            ports=ports,
            llm=ports.llm or judge,
        )
        if refined is None:
            return None
        await run.report("refine", strategies=list(refined.strategies), query=refined.query, by=refined.by)
        return refined.query

    async def _answer(self, run: LoopRun, progress: _Progress, detail: dict[str, Any], judge: LlmClient | None) -> str:
        assert progress.result is not None
        built = await run.number_sources(progress.result)
        if not built.sources:
            return "nothing_found"
        progress.unwritten = built
        if stopped := run.meter.spent_up():
            return stopped
        await run.announce("answer")
        answer_text = await run.write(built, critique=progress.critique)
        if answer_text.text in progress.texts:
            return "unchanged"
        progress.texts.add(answer_text.text)
        if progress.answer is None:  # in case that grading it takes too long
            progress.evidence = progress.searched
            progress.answer = replace(built, answer_text=answer_text, confidence=progress.grade / 20)
        await run.announce("grade")
        grades = await grade_answer(run.state.query, answer_text.text, built.sources, run.ports, judge)
        figures = {**grades.figures(), "quality": round(grades.quality, 2), "by": grades.by, **unfit_judge(judge)}
        await run.report("grade", **figures)
        detail |= {"grades": grades.figures(), "quality": round(grades.quality, 2), "by": grades.by}
        detail |= {"critique": grades.critique}
        if progress.grades is None or grades.quality > progress.grades.quality:
            progress.grades = grades
            progress.answer = replace(built, answer_text=answer_text, confidence=grades.quality / 10)
            progress.evidence = progress.searched
        if grades.quality >= self.good:
            return "quality"
        progress.critique = grades.critique
        return ""


def _final_state(
    state: AnswerState, run: LoopRun, progress: _Progress, details: list[dict[str, Any]], stopped: str
) -> AnswerState:
    handed_on = progress.unwritten if stopped in UNFINISHED else None
    after = progress.answer or handed_on or state
    return after.with_steps(*run.steps).with_stats(
        "loop.self_rag",
        needs_retrieval=True,
        quality_score=None if progress.grades is None else round(progress.grades.quality, 2),
        iterations=run.meter.rounds,
        stopped=stopped,
        evidence=None if progress.evidence is None else progress.evidence.figures(),
        searches=run.searches,
        details=details,
        **run.usage_figures(),
    )
