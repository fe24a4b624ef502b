"""What is told of an answer besides its text (V15)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from chat import metrics
from chat.services.finishing import unused_options
from chat.services.strategies import strategy_record
from chat.services.tooling import Tooling
from chat.services.writing import Draft
from chat.threads import run_db
from chat.types import AnswerRecord
from ragcore.answering.types import AnswerState
from ragcore.types import Usage

if TYPE_CHECKING:
    from chat.services.making import Made, Turn


async def with_metadata(
    turn: Turn, record: AnswerRecord, made: Made, tooling: Tooling, draft: Draft, seconds: float
) -> AnswerRecord:
    """The record with its metadata and what led to it; counts it for the strategy that was taken."""
    state = made.state
    metadata = _metadata(turn, made, tooling, draft, seconds)
    metrics_observe(metadata, record)
    record = replace(record, metadata=metadata, reasoning=reasoning_of(state))
    await run_db(
        strategy_record,
        tenant_id=turn.scope.tenant_id,
        strategy=made.strategy,
        seconds=seconds,
        confidence=record.confidence,
        status=record.status,
    )
    return record


def reasoning_of(state: AnswerState) -> dict[str, Any]:
    """What was understood and done on the way, in plain values, under the names of the API."""
    loop = state.stats.get("loop.self_rag") or state.stats.get("loop.agentic") or {}
    return {
        "query_analysis": asdict(state.analysis) if state.analysis is not None else {},
        "agentic_steps": [asdict(step) for step in state.steps],
        "iteration_details": list(loop.get("details", ())),
        "iterations": int(loop.get("iterations", 1)),
        "quality_score": loop.get("quality_score"),
        "evidence": loop.get("evidence"),
        "retrieval_history": list(loop.get("searches", ())),
        "compression_stats": dict(state.stats.get("compress", {})),
        "standalone": dict(state.stats.get("understand.standalone", {})),
        "stages": [asdict(record) for record in state.records],
    }


def _metadata(turn: Turn, made: Made, tooling: Tooling, draft: Draft, seconds: float) -> dict[str, Any]:
    state, usage = made.state, draft.usage + tooling.usage
    return {
        "total_time": round(seconds, 4),
        "rewrite_time": _seconds(state, "understand.", "rewrite"),
        "retrieve_time": round(sum(found.seconds for found in tooling.searches), 4) if tooling.searches else None,
        "rerank_time": _summed([found.rerank_seconds for found in tooling.searches]),
        "generate_time": round(draft.seconds, 4) if draft.model else None,
        "first_token_time": draft.first_words_seconds,
        "stage_times": {record.stage: round(record.seconds, 4) for record in state.records},
        "chunks_found": len(state.sources),
        "model": draft.model,
        "usage": _usage(usage),
        "cost": draft.cost,
        "tier": draft.tier or None,
        "strategy": made.strategy,
        "mode_used": made.mode,
        "cache": "none",
        "understood": state.standalone if state.standalone not in ("", state.question.text) else None,
        "rewritten_queries": queries_of(state, tooling),
        "options_sha256": turn.manner.sha256(),
        "error_message": draft.degraded,
        "stopped": draft.stopped,
        "unused_options": unused_options(turn.request),
        "skipped_stages": {record.stage: record.error for record in state.records if record.error},
        "warnings": [asdict(w) for w in tooling.searches[0].retrieved.warnings] if tooling.searches else [],
        "notes": list(draft.warnings),
    }


def queries_of(state: AnswerState, tooling: Tooling) -> list[str]:
    """Other forms in which the question was asked: first the one without its conversation."""
    forms = [state.standalone] if state.standalone and state.standalone != state.question.text else []
    forms += [rewrite.text for rewrite in state.rewrites]
    forms += [query for found in tooling.searches for query in found.queries[1:]]
    return list(dict.fromkeys(forms))


def _seconds(state: AnswerState, *stages: str) -> float | None:
    spent = [record.seconds for record in state.records if record.stage.startswith(stages)]
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


def metrics_observe(metadata: Mapping[str, Any], record: AnswerRecord) -> None:
    for stage in ("total", "rewrite", "retrieve", "rerank", "generate"):
        if metadata[f"{stage}_time"] is not None:
            metrics.STAGE_SECONDS.labels(stage).observe(metadata[f"{stage}_time"])
    for kind in ("prompt", "completion"):
        metrics.TOKENS.labels(kind, metadata["model"]).inc(metadata["usage"][f"{kind}_tokens"])
    for citation in record.cited:
        metrics.CITATIONS.labels("weak" if citation.weak else "strong").inc()
