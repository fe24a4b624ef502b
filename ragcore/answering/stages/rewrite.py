"""Other forms of the question to search with, as a stage of an answer (V2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.answering.pipeline import answer_stage
from ragcore.labels import gettext_noop as _
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, Step
from ragcore.understanding.rewriting import choose_method, rewrite_question


@answer_stage("rewrite", label=_("other forms of the question"), timing="rewrite")
@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteQuestion:
    """Adds to state.rewrites; the method "none" (and every unknown one) leaves the question alone in all its forms."""

    method: str = "auto"
    streaming: bool = False  # the reader waits for the first word
    most: int | None = None  # other forms in all, those of the method first; None: any number

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        question, query = state.question, state.query
        chosen = choose_method(self.method, query=query, question=question, streaming=self.streaming)
        found = await rewrite_question(query, chosen, question=question, ports=ports, streaming=self.streaming)
        # "auto" may come to "none" for itself; only who asks for no other form loses those that are there
        kept = () if chosen == "none" and self.method != "auto" else state.rewrites
        forms = (*kept, *found) if self.most is None else (*found, *kept)
        rewrites = tuple({form.text: form for form in forms}.values())[: self.most]
        figures = {"method": chosen, "queries": [form.text for form in rewrites]}
        shown = [form.text for form in rewrites if form.is_for_people]
        step = Step(name="rewrite", detail={**figures, "queries": shown})
        if found:
            await ports.report(step)
            state = state.with_steps(step)
        return replace(state, rewrites=rewrites).with_stats("rewrite", **figures)
