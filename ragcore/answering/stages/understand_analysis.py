"""What kind of question it is, as a stage of an answer (U2, V9, A2, C3)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import cast, get_args

from ragcore.answering.pipeline import answer_stage
from ragcore.labels import gettext_noop as _
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, FactTarget, Step
from ragcore.understanding.analysis import analyse_question


@answer_stage("understand.analysis", label=_("analysis of the question"), timing="rewrite")
@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstandAnalysis:
    """Sets state.analysis, and the same as figures. By rules unless `model` is on and there is one."""

    model: bool = True
    target: str = ""  # C3: given by the caller instead of found; no word of FactTarget: found

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        llm = ports.llm if self.model else None
        analysis = await analyse_question(
            state.query, history=state.question.history, tokenizer=ports.tokenizer, llm=llm
        )
        if self.target in get_args(FactTarget):
            analysis = replace(analysis, target=cast(FactTarget, self.target))
        figures = asdict(analysis) | {"reasons": list(analysis.reasons)}
        step = Step(name="analysis", detail=figures)
        await ports.report(step)
        return replace(state, analysis=analysis).with_steps(step).with_stats("understand.analysis", **figures)
