"""Which stages an answer goes through: modes and strategies are lists (U1, U14, V9, V10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ragcore.options import AnswerOptions
from ragcore.presets import mode_layers

Steps = list[tuple[str, Mapping[str, Any]]]
Loop = Literal["none", "agentic", "self_rag", "iterative"]
ULTIMATE_REWRITES = 2  # besides the question (U14)
LOOPING = ("agentic", "ultimate")  # modes that judge what they find, and ask again


def understanding_steps(options: AnswerOptions, *, rewrites: bool, target: str = "") -> Steps:
    """What is done before the kind of flow is known; `rewrites`: whether other forms of the question are asked, too."""
    steps: Steps = [
        ("understand.standalone", {"related": rewrites}),
        # a model is asked about the question only where its word decides about the flow
        ("understand.analysis", {"target": target, "model": options.strategy == "adaptive"}),
    ]
    return [*steps, ("plan.adaptive", {})] if options.strategy == "adaptive" else steps


def answer_steps(options: AnswerOptions, *, streaming: bool, rewrites: bool, loop: Loop = "none") -> Steps:
    """From the understood question to numbered sources, or to a finished text where a loop writes.

    `loop`: what the strategy asks for; `streaming`: nothing that the first word would wait for without need (V2);
    `rewrites`: whether other forms of the question are asked, too.
    """
    before: Steps = []
    if rewrites:
        most = ULTIMATE_REWRITES if options.mode == "ultimate" else None
        before = [("rewrite", {"method": options.rewrite_method, "streaming": streaming, "most": most})]
    limits = {"seconds": options.loop_seconds, "tokens": options.loop_tokens, "cost": options.max_cost}
    match loop if loop != "none" else _loop(options):
        case "self_rag":
            graded = {"rounds": options.self_rag_rounds, "good": float(options.self_rag_quality)}
            return [*before, ("loop.self_rag", {**graded, **limits})]
        case "agentic":
            return [*before, ("loop.agentic", {**_agentic(options), **limits})]
        case "iterative":
            return [*before, ("loop.iterative", limits), *context_steps(options)]
        case _:
            return [*before, ("search", {}), *context_steps(options)]


def wants_rewrites(options: AnswerOptions, origin: Mapping[str, str], *, in_conversation: bool) -> bool:
    """Whether other forms are asked for: in a conversation, by a mode or strategy above the plain one (U14), or by
    somebody who has chosen a method (V2)."""
    is_plain = options.mode == "basic" and options.strategy == "standard" and _loop(options) == "none"
    is_plain = is_plain and not in_conversation
    return not is_plain or origin.get("rewrite_method", "default") != "default"


def context_steps(options: AnswerOptions) -> Steps:
    """From passages to numbered sources."""
    steps: Steps = []
    if options.whole_sections:
        steps.append(("sections.whole", {"budget_tokens": options.context_tokens}))
    if options.compression_method != "none" or options.overflow:
        shorter = {"method": options.compression_method, "ratio": options.compression_ratio}
        together = {"overflow": options.overflow, "budget_tokens": options.context_tokens}
        steps.append(("compress", {**shorter, **together, "most": options.max_chunks}))
    built = {"max_chunks": options.max_chunks, "budget_tokens": options.context_tokens}
    return [*steps, ("context.build", built)]


def _loop(options: AnswerOptions) -> Loop:
    if options.strategy == "self_rag":
        return "self_rag"
    return "agentic" if _has_loop(options) else "none"


def _has_loop(options: AnswerOptions) -> bool:
    """Whether passages and answers are judged in rounds: as the mode does, unless somebody has said (U14)."""
    return options.mode in LOOPING if not options.agentic else options.agentic == "on"


def is_loop_off(options: AnswerOptions) -> bool:
    """Whether somebody has taken its rounds from a mode that has them, and no strategy has its own."""
    return options.mode in LOOPING and _loop(options) == "none"


def chunks_per_form(options: AnswerOptions) -> int | None:
    """How many passages each form of the question brings, where the mode says it (U14); None: one number for all."""
    return mode_layers("ultimate")["retrieval"]["top_k"] if options.mode == "ultimate" else None


def _agentic(options: AnswerOptions) -> Mapping[str, Any]:
    rounds, enough = options.max_agentic_iterations, options.confidence_threshold
    if options.mode == "ultimate":  # its own are limits: who asks for more rounds does not get them
        own = mode_layers("ultimate")["answer"]
        rounds, enough = min(rounds, own["max_agentic_iterations"]), min(enough, own["confidence_threshold"])
    return {"rounds": rounds, "enough": enough}
