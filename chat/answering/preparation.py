"""From the question to numbered sources, or to a finished text where a loop writes: runs the plans of stages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chat.answering.attached_files import AttachedSubject
from chat.answering.context import AnswerContext
from chat.answering.stage_plans import (
    Loop,
    answer_steps,
    basic_steps,
    is_loop_off,
    understanding_steps,
    wants_forms_of_style,
    wants_rewrites,
)
from chat.answering.stage_ports import AnswerPorts, StageRun
from ragcore.answering import stages  # noqa: F401 (registers the stages)
from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages.question import FORM_SECONDS, Plan, build_plan
from ragcore.options import AnswerOptions
from ragcore.types.answering import AnswerState
from ragcore.understanding.rewriting import writes_in_time

UNGRADED_CONFIDENCE = 0.8  # at most, where a mode with a loop runs without it, and the default model writes
FALLBACK_CONFIDENCE = 0.3
WRITING_LOOPS = ("loop.agentic", "loop.self_rag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """The state before the final text, with the mode and strategy that led to it."""

    state: AnswerState
    mode: str  # basic, …, ultimate; fallback where the mode's own way failed
    strategy: str
    files: AttachedSubject | None = None  # attached files that the question is about

    @property
    def most_confidence(self) -> float:
        """The upper limit of the answer's confidence: the grade of a loop, little for a fallback."""
        graded = 1.0 if self.state.confidence is None else self.state.confidence
        return min(graded, FALLBACK_CONFIDENCE) if self.mode == "fallback" else graded


async def understand(context: AnswerContext, ports: AnswerPorts) -> AnswerState:
    """The question without its conversation, and what kind of question it is."""
    options = context.config.options
    steps = understanding_steps(
        options, rewrites=options.rewrite_method != "none", target=context.request.prompt_type or ""
    )
    return await run_stages(build_stages(steps), AnswerState(question=context.question), ports.stage_ports)


async def retrieve(
    context: AnswerContext, ports: AnswerPorts, state: AnswerState, *, files: AttachedSubject | None = None
) -> Preparation:
    """Numbered sources, or a text where a loop wrote one; where the mode's own way fails, by the basic one.

    Raises what the search raises.
    """
    options, strategy = context.config.options, str(context.config.options.strategy)
    loop: Loop = "none"
    run = StageRun(files=files)
    if strategy == "adaptive" and state.analysis is not None:
        plan = build_plan(state.analysis)
        options, strategy, loop = _planned_options(context, plan), plan.strategy, plan.loop
        run = replace(run, options=options, top_k=None if "top_k" in context.request.given else plan.top_k)
    rewrites = _wants_rewrites(context)
    if ports.stage_ports.llm is not None and _wants_forms_of_style(context, options):
        options, rewrites = replace(options, rewrite_method="multi"), True
    is_searched = files is None or not files.is_alone
    steps = answer_steps(
        options,
        streaming=context.is_streaming,
        rewrites=rewrites,
        quick=is_searched and _has_quick_model(options, ports),
        loop=loop,
    )
    is_loop = steps[-1][0].startswith("loop.")  # its iterations are shown while they run
    bound = ports.bound(replace(run, reports_first_search=is_loop))
    after = await run_stages(build_stages(steps), state, bound)
    strategy = _followed(strategy, after)
    if context.stop.is_set():
        return Preparation(state=after, mode=options.mode, strategy=strategy, files=files)
    mode = "fallback" if _has_failed(after) else options.mode
    if after.result is not None or after.passages or after.answer_text is not None:
        return Preparation(state=_limit_ungraded(after, options), mode=mode, strategy=strategy, files=files)
    after = await run_stages(build_stages(basic_steps(options)), replace(after, rewrites=()), bound)
    return Preparation(state=after, mode=mode, strategy=strategy, files=files)


def _followed(strategy: str, state: AnswerState) -> str:
    """The strategy under which the answer counts: "hyde" only where a possible answer was searched for.

    Streams never wait for one, and a client may have chosen another method.
    """
    is_hyde = any(rewrite.is_hypothetical for rewrite in state.rewrites)
    return "direct" if strategy == "hyde" and not is_hyde else strategy


def _wants_rewrites(context: AnswerContext) -> bool:
    config = context.config
    return wants_rewrites(config.options, config.origin, in_conversation=bool(context.history))


def _wants_forms_of_style(context: AnswerContext, options: AnswerOptions) -> bool:
    return wants_forms_of_style(options, context.config.origin, in_conversation=bool(context.history))


def _has_quick_model(options: AnswerOptions, ports: AnswerPorts) -> bool:
    """Whether a model writes other forms of the question within the second that they may take."""
    llm = ports.stage_ports.llm
    return options.rewrite_method == "auto" and llm is not None and writes_in_time(llm, FORM_SECONDS)


def _planned_options(context: AnswerContext, plan: Plan) -> AnswerOptions:
    """The options with what the plan chose; what the client sent stays."""
    planned: dict[str, Any] = {
        "rewrite_method": plan.rewrite_method,
        "max_chunks": plan.max_chunks,
        "whole_sections": plan.whole_sections,
    }
    free = {name: value for name, value in planned.items() if name not in context.request.given}
    return replace(context.config.options, **free)


def _has_failed(state: AnswerState) -> bool:
    """Whether a loop broke off or took too long before it had written anything."""
    stopped = {figures.get("stopped") for stage, figures in state.stats.items() if stage in WRITING_LOOPS}
    broken = any(record.error for record in state.records if record.stage in WRITING_LOOPS)
    return state.answer_text is None and (broken or bool(stopped & {"failed", "seconds"}))


def _limit_ungraded(state: AnswerState, options: AnswerOptions) -> AnswerState:
    """Not graded, because the mode runs without its loop and without tiers, so confidence is capped."""
    return replace(state, confidence=UNGRADED_CONFIDENCE) if is_loop_off(options) and not options.tiered else state
