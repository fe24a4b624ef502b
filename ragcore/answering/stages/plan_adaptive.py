"""What follows from the kind of a question: how it is rewritten, how often and how widely it is searched (V9, A2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

from ragcore.answering.pipeline import answer_stage
from ragcore.labels import gettext_noop as _
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import Analysis, AnswerState, QuestionType, Step, StrategyName
from ragcore.understanding.analysis import analyse_by_rules

LoopName = Literal["none", "agentic", "self_rag", "iterative"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one question is answered."""

    strategy: StrategyName
    rewrite_method: str  # one of ragcore.options.REWRITE_METHODS
    loop: LoopName = "none"
    top_k: int = 10  # passages of one search
    max_chunks: int = 10  # of them in the context, at most
    whole_sections: bool = False  # steps and lists are worth more in one piece (D37)
    reasons: tuple[str, ...] = ()


PLANS: Mapping[StrategyName, Plan] = {
    "direct": Plan(strategy="direct", rewrite_method="none"),
    "hyde": Plan(strategy="hyde", rewrite_method="hyde"),
    "decomposition": Plan(strategy="decomposition", rewrite_method="decompose", top_k=15, max_chunks=12),
    "iterative": Plan(strategy="iterative", rewrite_method="none", loop="iterative", top_k=12, max_chunks=12),
    "hybrid": Plan(strategy="hybrid", rewrite_method="multi", top_k=15, max_chunks=12),
}
# What the cue of a question changes besides (A2).
BY_CUE: Mapping[QuestionType, Mapping[str, int | bool]] = {
    "definition": {},
    "process": {"whole_sections": True},
    "comparison": {"top_k": 16, "max_chunks": 14},
    "application": {"top_k": 12},
    "general": {},
}


def build_plan(analysis: Analysis) -> Plan:
    """The plan of a strategy, widened by the cue of the question, never narrowed. `reasons`: those of the analysis."""
    plan = PLANS[analysis.strategy]
    wider = {name: max(getattr(plan, name), value) for name, value in BY_CUE[analysis.cue].items()}
    if analysis.kind == "aggregation":
        wider |= {"top_k": max(20, int(wider.get("top_k", plan.top_k))), "max_chunks": 15}
    return replace(plan, **wider, reasons=(*analysis.reasons, f"cue:{analysis.cue}"))  # type: ignore[arg-type]


@answer_stage("plan.adaptive", label=_("choice of a strategy"))
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAdaptive:
    """Chooses by the analysis (made by rules if no stage has made one) and tells why; the caller asks `plan_of`."""

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        analysis = state.analysis or analyse_by_rules(
            state.query, history=state.question.history, tokenizer=ports.tokenizer
        )
        figures = asdict(build_plan(analysis)) | {"reasons": list(build_plan(analysis).reasons)}
        step = Step(name="plan", detail=figures)
        await ports.report(step)
        return replace(state, analysis=analysis).with_steps(step).with_stats("plan.adaptive", **figures)
