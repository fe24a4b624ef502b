"""Which stages an answer goes through: modes and strategies are lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ragcore.options import LOOP_TOKENS, AnswerOptions
from ragcore.presets import mode_layers

Steps = list[tuple[str, Mapping[str, Any]]]
Loop = Literal["none", "agentic", "self_rag", "iterative"]
ULTIMATE_REWRITES = 2  # besides the question
LOOP_SECONDS = 45.0  # for all rounds of a loop; the best answer so far is given after it
WRITING = ("agentic", "self_rag")  # loops that write, after steps that the reader sees
LOOPING = ("agentic", "ultimate")  # modes that grade passages and answers, and search again


def understanding_steps(options: AnswerOptions, *, rewrites: bool, target: str = "") -> Steps:
    """Stages before the plan is known; `rewrites`: whether abbreviations are searched for written out, too."""
    steps: Steps = [
        ("understand.standalone", {"related": rewrites}),
        # a model classifies the question only where its answer decides about the plan
        ("understand.analysis", {"target": target, "model": options.strategy == "adaptive"}),
    ]
    return [*steps, ("plan.adaptive", {})] if options.strategy == "adaptive" else steps


def answer_steps(
    options: AnswerOptions, *, streaming: bool, rewrites: bool, quick: bool = False, loop: Loop = "none"
) -> Steps:
    """From the understood question to numbered sources, or to a finished text where a loop writes.

    `loop`: of an adaptive plan; `streaming`: methods of rewriting that delay the first token are left out;
    `rewrites`: whether somebody chose to have other forms of the question, see `wants_rewrites`; `quick`: whether
    a model writes some by default, because it takes a second at most.
    """
    before: Steps = []
    loop = loop if loop != "none" else _loop(options)
    if rewrites or quick:
        has_two = options.mode == "ultimate" or (options.style == "advanced" and options.rewrite_method == "multi")
        most = ULTIMATE_REWRITES if has_two else None
        # a loop shows its steps long before its first token: who chose possible answers gets them, in a stream, too
        waits = loop in WRITING and options.rewrite_method == "hyde"
        hasty = (streaming and not waits) or not rewrites
        settings = {"method": options.rewrite_method, "streaming": hasty, "most": most}
        before = [("rewrite", settings if options.mode == "basic" else {**settings, "in_streams": "multi"})]
    limits = {"seconds": LOOP_SECONDS, "tokens": LOOP_TOKENS, "cost": options.max_cost}
    match loop:
        case "self_rag":
            return [*before, ("loop.self_rag", limits)]
        case "agentic":
            return [*before, ("loop.agentic", {**_agentic(options), **limits})]
        case "iterative":
            return [*before, ("loop.iterative", limits), *context_steps(options)]
        case _:
            return [*before, *basic_steps(options)]


def wants_rewrites(options: AnswerOptions, origin: Mapping[str, str], *, in_conversation: bool) -> bool:
    """Whether somebody chose to have other forms: in a conversation, by a mode or strategy above the plain one, or
    where a method was chosen. By default there are those that take no time, and those of a quick model."""
    is_plain = options.mode == "basic" and options.strategy == "standard" and _loop(options) == "none"
    is_plain = is_plain and not in_conversation
    return not is_plain or origin.get("rewrite_method", "default") != "default"


def wants_forms_of_style(options: AnswerOptions, origin: Mapping[str, str], *, in_conversation: bool) -> bool:
    """Whether the style asks a model for two more forms of the question: "advanced", where nobody chose a method."""
    is_open = origin.get("rewrite_method", "default") in ("default", "mode") and options.rewrite_method == "auto"
    return options.style == "advanced" and is_open and not in_conversation


def basic_steps(options: AnswerOptions) -> Steps:
    """One search and its context; also where a loop has failed."""
    return [("search", {}), *context_steps(options)]


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
    """Whether the agentic loop runs: by the option `agentic`, else by the mode."""
    return options.mode in LOOPING if not options.agentic else options.agentic == "on"


def is_loop_off(options: AnswerOptions) -> bool:
    """Whether a mode with a loop runs without it, and no strategy has its own."""
    return options.mode in LOOPING and _loop(options) == "none"


def chunks_per_form(options: AnswerOptions) -> int | None:
    """Passages per form of the question, where the mode sets it; None: one number for all forms."""
    return mode_layers("ultimate")["retrieval"]["top_k"] if options.mode == "ultimate" else None


def _agentic(options: AnswerOptions) -> Mapping[str, Any]:
    rounds, enough = options.max_agentic_iterations, options.confidence_threshold
    if options.mode == "ultimate":  # its own values are upper limits
        of_mode = mode_layers("ultimate")["answer"]
        rounds, enough = min(rounds, of_mode["max_agentic_iterations"]), min(enough, of_mode["confidence_threshold"])
    return {"rounds": rounds, "enough": enough, "variants": options.rewrite_method == "variants"}
