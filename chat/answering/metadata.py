"""What is told of an answer besides its text (V15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from chat import metrics
from chat.answering.grounding import unused_options
from chat.answering.progress import tier_step
from chat.answering.stage_ports import Tooling
from chat.answering.streaming import Draft
from chat.types import AnswerRecord
from ragcore.answering.pipeline import answer_stage_infos
from ragcore.llm.usage import UsageEntry, group_by_purpose, total_cost, total_usage
from ragcore.types import Usage
from ragcore.types.answering import AnswerState

if TYPE_CHECKING:
    from chat.answering.pipeline import Made, Turn


def with_metadata(
    turn: Turn, record: AnswerRecord, made: Made, tooling: Tooling, draft: Draft, seconds: float
) -> AnswerRecord:
    """The record with its metadata and what led to it."""
    spent = _spent(made.state, tooling, draft)
    metadata = _metadata(turn, made, tooling, draft, spent, seconds)
    metrics_observe(metadata, record, spent)
    return replace(record, metadata=metadata, reasoning=reasoning_of(made.state, draft))


def reasoning_of(state: AnswerState, draft: Draft) -> dict[str, Any]:
    """What was understood and done on the way, in plain values, under the names of the API."""
    steps = [*state.steps, *([tier_step(draft.choice, draft.tier)] if draft.choice else [])]
    loop = state.stats.get("loop.self_rag") or state.stats.get("loop.agentic") or {}
    return {
        "query_analysis": asdict(state.analysis) if state.analysis is not None else {},
        "agentic_steps": [asdict(step) for step in steps],
        "iteration_details": list(loop.get("details", ())),
        "iterations": int(loop.get("iterations", 1)),
        "quality_score": loop.get("quality_score"),
        "evidence": loop.get("evidence"),
        "retrieval_history": list(loop.get("searches", ())),
        "compression_stats": dict(state.stats.get("compress", {})),
        "standalone": dict(state.stats.get("understand.standalone", {})),
        "stages": [asdict(record) for record in state.records],
    }


def _spent(state: AnswerState, tooling: Tooling, draft: Draft) -> list[UsageEntry]:
    """What all requests to models used, also those for texts that nobody has seen; each once."""
    final = [] if state.written is not None else draft.spent  # a loop's texts are counted with the loop
    return [each for each in (*tooling.spent, *final) if each.usage.total_tokens]


def _metadata(
    turn: Turn, made: Made, tooling: Tooling, draft: Draft, spent: Sequence[UsageEntry], seconds: float
) -> dict[str, Any]:
    state = made.state
    return {
        "total_time": round(seconds, 4),
        "rewrite_time": _seconds(state, "rewrite"),
        "retrieve_time": round(sum(found.seconds for found in tooling.searches), 4) if tooling.searches else None,
        "rerank_time": _summed([found.rerank_seconds for found in tooling.searches]),
        "generate_time": round(draft.seconds, 4) if draft.model else None,
        "first_token_time": draft.first_words_seconds,
        "stage_times": {record.stage: round(record.seconds, 4) for record in state.records},
        "chunks_found": len(state.sources),
        "model": draft.model,
        "usage": _usage(total_usage(spent)),
        "cost": _money(total_cost(spent)),
        "usage_by_purpose": {
            purpose: {**_usage(total_usage(part)), "cost": _money(total_cost(part))}
            for purpose, part in group_by_purpose(spent).items()
        },
        "choice": [*state.stats.get("plan.adaptive", {}).get("reasons", ()), *draft.choice],
        "tier": draft.tier or None,
        "strategy": made.strategy,
        "mode_used": made.mode,
        "cache": "none",
        "understood": state.standalone if state.standalone not in ("", state.question.text) else None,
        "rewritten_queries": tooling.other_forms(state.standalone),
        "options_sha256": turn.manner.sha256(),
        "error_message": draft.degraded,
        "stopped": draft.stopped,
        "is_cut": draft.is_cut,
        "unused_options": unused_options(turn.request, turn.manner),
        "skipped_stages": {record.stage: record.error for record in state.records if record.error},
        "warnings": [asdict(w) for w in tooling.searches[0].retrieved.warnings] if tooling.searches else [],
        "notes": list(draft.warnings),
    }


def _seconds(state: AnswerState, timing: str) -> float | None:
    """Seconds of the stages that declare this timing; None where none ran."""
    infos = answer_stage_infos()
    spent = [record.seconds for record in state.records if infos[record.stage].timing == timing]
    return round(sum(spent), 4) if spent else None


def _summed(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 4) if known else None


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def _money(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


def metrics_observe(metadata: Mapping[str, Any], record: AnswerRecord, spent: Sequence[UsageEntry]) -> None:
    """Add an answer to the figures for Prometheus; tokens count for the model that used them."""
    for stage in ("total", "rewrite", "retrieve", "rerank", "generate"):
        if metadata[f"{stage}_time"] is not None:
            metrics.STAGE_SECONDS.labels(stage).observe(metadata[f"{stage}_time"])
    for each in spent:
        metrics.TOKENS.labels("prompt", each.model).inc(each.usage.prompt_tokens)
        metrics.TOKENS.labels("completion", each.model).inc(each.usage.completion_tokens)
        if each.cost is not None:
            metrics.COST.labels(each.model).inc(float(each.cost))
    metrics.CHUNKS.observe(metadata["chunks_found"])
    for citation in record.cited:
        metrics.CITATIONS.labels("weak" if citation.weak else "strong").inc()
