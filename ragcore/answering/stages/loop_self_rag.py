"""Self-RAG: what was found and what was written are graded, and done again where they are not good enough (V10)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ragcore.answering.iterations import LoopRun, limited_seconds, run_guarded
from ragcore.answering.pipeline import answer_stage
from ragcore.grading.answers import AnswerGrades, graded_answer
from ragcore.grading.budget import UNFINISHED, Budget, Meter
from ragcore.grading.evidence import Evidence, evidence_confidence
from ragcore.grading.passages import judged_passages, retrieval_grade
from ragcore.grading.refining import refined_query, strategies_for
from ragcore.labels import gettext_noop as _
from ragcore.llm.client import LlmClient
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, SearchResult
from ragcore.understanding.small_talk import needs_retrieval

SEARCH_SHARE = 0.5  # of the seconds; then an answer is written from what there is


@dataclass(slots=True)
class _Found:
    """The best search so far, and the best answer so far."""

    result: SearchResult | None = None
    grade: float = -1.0
    searched: Evidence | None = None  # in the passages of that search
    answer: AnswerState | None = None
    evidence: Evidence | None = None  # in the passages of that answer
    grades: AnswerGrades | None = None
    unwritten: AnswerState | None = None  # the last sources, in case that nothing is left of the budget to write
    texts: set[str] = field(default_factory=set)  # answers so far: the same once more is no better
    query: str | None = None  # of the next search; None: what was found is good enough, or nothing new can be asked
    critique: str = ""


@answer_stage("loop.self_rag", label=_("Self-RAG"), hears_stop=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSelfRag:
    """Takes the place of search, context and writing, unless the question needs no search.

    A round searches, unless the last one brought enough, and writes, unless the passages were graded below `good`
    and another search is possible. Ends at an answer graded `good` in the mean of five dimensions. The best answer
    stays, with its grade as confidence. Where the budget ends before anything is written, the sources come back for the
    caller to write from; where nothing was found either, the steps only.
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
        work, found = LoopRun(state, ports, meter, self.top_k), _Found(query=state.query)
        details: list[dict[str, Any]] = []
        used: list[str] = []
        stopped = ""
        with meter.limiting():
            while not stopped and not (stopped := meter.used_up()):
                meter.rounds += 1
                detail: dict[str, Any] = {"round": meter.rounds}
                details.append(detail)
                stopped = await run_guarded(work, self._round(work, found, used, detail, ports.judge or ports.llm))
                detail |= work.used()
        return _finished(state, work, found, details, stopped)

    async def _round(
        self, work: LoopRun, found: _Found, used: list[str], detail: dict[str, Any], judge: LlmClient | None
    ) -> str:
        """One round; returns why it is the last one, "" if it is not."""
        if found.query is not None:
            await self._search(work, found, used, detail, judge)
            if found.query is not None and not work.meter.used_up():
                return ""
        if found.result is None or not found.result.ranked:
            return "nothing_found"
        return await self._answer(work, found, detail, judge)

    async def _search(
        self, work: LoopRun, found: _Found, used: list[str], detail: dict[str, Any], judge: LlmClient | None
    ) -> None:
        """Search and grade; leaves a next query only where the passages are not good enough and time is left."""
        query, found.query = found.query or work.state.query, None
        used.append(query)
        result = await work.search(query)
        result = result if result.relevant else replace(result, ranked=())
        await work.begin("judge", query=query)
        grade, by = await retrieval_grade(work.state.query, result.ranked, work.ports, judge)
        evidence = evidence_confidence(work.state.query, result.ranked, work.ports.tokenizer)
        told = {"evidence": round(evidence.confidence, 3), "status": evidence.status}
        await work.tell("judge", query=query, grade=round(grade, 2), by=by, **told)
        detail |= {"query": query, "retrieval_grade": round(grade, 2), "retrieval_by": by, "found": len(result.ranked)}
        detail |= {"evidence": evidence.short()}
        if grade > found.grade:
            found.result, found.grade, found.searched = result, grade, evidence
        meter = work.meter
        is_late = meter.seconds > SEARCH_SHARE * meter.budget.seconds
        if grade < self.good and not is_late and not meter.used_up():
            found.query = await self._reformulated(work, query, result, evidence, used, judge)

    async def _reformulated(
        self,
        work: LoopRun,
        query: str,
        result: SearchResult,
        evidence: Evidence,
        used: list[str],
        judge: LlmClient | None,
    ) -> str | None:
        ports, question = work.ports, work.state.query
        await work.begin("refine")
        scores = await judged_passages(question, result.ranked, ports, None)
        refined = await refined_query(
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
        await work.tell("refine", strategies=list(refined.strategies), query=refined.query, by=refined.by)
        return refined.query

    async def _answer(self, work: LoopRun, found: _Found, detail: dict[str, Any], judge: LlmClient | None) -> str:
        assert found.result is not None
        built = await work.numbered(found.result)
        if not built.sources:
            return "nothing_found"
        found.unwritten = built
        if stopped := work.meter.spent_up():
            return stopped
        await work.begin("answer")
        written = await work.write(built, critique=found.critique)
        if written.text in found.texts:
            return "unchanged"
        found.texts.add(written.text)
        if found.answer is None:  # in case that grading it takes too long
            found.evidence = found.searched
            found.answer = replace(built, written=written, confidence=found.grade / 20)
        await work.begin("grade")
        grades = await graded_answer(work.state.query, written.text, built.sources, work.ports, judge)
        await work.tell("grade", **grades.figures(), quality=round(grades.quality, 2), by=grades.by)
        detail |= {"grades": grades.figures(), "quality": round(grades.quality, 2), "by": grades.by}
        detail |= {"critique": grades.critique}
        if found.grades is None or grades.quality > found.grades.quality:
            found.grades = grades
            found.answer = replace(built, written=written, confidence=grades.quality / 10)
            found.evidence = found.searched
        if grades.quality >= self.good:
            return "quality"
        found.critique = grades.critique
        return ""


def _finished(
    state: AnswerState, work: LoopRun, found: _Found, details: list[dict[str, Any]], stopped: str
) -> AnswerState:
    handed_on = found.unwritten if stopped in UNFINISHED else None
    after = found.answer or handed_on or state
    return after.with_steps(*work.steps).with_stats(
        "loop.self_rag",
        needs_retrieval=True,
        quality_score=None if found.grades is None else round(found.grades.quality, 2),
        iterations=work.meter.rounds,
        stopped=stopped,
        evidence=None if found.evidence is None else found.evidence.figures(),
        searches=work.searches,
        details=details,
        **work.used(),
    )
