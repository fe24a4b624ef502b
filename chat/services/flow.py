"""Which stages an answer goes through: modes and strategies are lists (U1, U14, V9, V10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ragcore.options import AnswerOptions

Steps = list[tuple[str, Mapping[str, Any]]]
Loop = Literal["none", "agentic", "self_rag", "iterative"]

ULTIMATE_CHUNKS = 8  # of each form of the question
ULTIMATE_ROUNDS = 2
ULTIMATE_ENOUGH = 0.7  # confidence from which its rounds stop


def understanding_steps(options: AnswerOptions, *, rewrites: bool, target: str = "") -> Steps:
    """What is done before the kind of flow is known; `rewrites`: whether other forms of the question are asked, too."""
    steps: Steps = [
        ("understand.standalone", {"related": rewrites}),
        # a model is asked about the question only where its word decides about the flow
        ("understand.analysis", {"target": target, "model": options.strategy == "adaptive"}),
    ]
    return [*steps, ("plan.adaptive", {})] if options.strategy == "adaptive" else steps


def steps_of(options: AnswerOptions, *, streaming: bool, rewrites: bool, loop: Loop = "none") -> Steps:
    """From the understood question to numbered sources, or to a finished text where a loop writes.

    `loop`: what the strategy asks for; `streaming`: nothing that the first word would wait for without need (V2);
    `rewrites`: whether other forms of the question are asked, too.
    """
    before: Steps = []
    if rewrites:
        before = [("rewrite", {"method": options.rewrite_method, "streaming": streaming})]
    limits = {"seconds": options.loop_seconds, "tokens": options.loop_tokens}
    match loop if loop != "none" else _loop(options):
        case "self_rag":
            graded = {"rounds": options.self_rag_rounds, "good": float(options.self_rag_quality)}
            return [*before, ("loop.self_rag", {**graded, **limits, "cost": options.max_cost})]
        case "agentic":
            return [*before, ("loop.agentic", {**_agentic(options), **limits, "cost": options.max_cost})]
        case "iterative":
            return [*before, ("loop.iterative", limits), *context_steps(options)]
        case _:
            return [*before, ("search", {}), *context_steps(options)]


def wants_rewrites(options: AnswerOptions, origin: Mapping[str, str], *, in_conversation: bool) -> bool:
    """Whether other forms are asked for: in a conversation, by a mode or strategy above the plain one (U14), or by
    somebody who has chosen a method (V2)."""
    is_plain = options.mode == "basic" and options.strategy == "standard" and not in_conversation
    return not is_plain or origin.get("rewrite_method", "default") != "default"


def context_steps(options: AnswerOptions) -> Steps:
    """From passages to numbered sources."""
    steps: Steps = []
    if options.whole_sections:
        steps.append(("sections.whole", {"budget_tokens": options.context_tokens}))
    if options.compression_method != "none":
        steps.append(("compress", {"method": options.compression_method, "ratio": options.compression_ratio}))
    built = {"max_chunks": options.max_chunks, "budget_tokens": options.context_tokens}
    return [*steps, ("context.build", built)]


def _loop(options: AnswerOptions) -> Loop:
    if options.strategy == "self_rag":
        return "self_rag"
    return "agentic" if options.mode in ("agentic", "ultimate") else "none"


def _agentic(options: AnswerOptions) -> Mapping[str, Any]:
    rounds, enough = options.max_agentic_iterations, options.confidence_threshold
    if options.mode == "ultimate":
        rounds, enough = min(rounds, ULTIMATE_ROUNDS), min(enough, ULTIMATE_ENOUGH)
    return {"rounds": rounds, "enough": enough}
