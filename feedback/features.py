"""What is kept with every judgement and signal: how the answer came to be, without any of its words (D35)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from chat.models import Message
from ragcore.text.question_type import question_type
from ragcore.text.scripts import language_of


def answer_features(message: Message) -> dict[str, Any]:
    """Figures and codes of one answer as JSON; the same for one answer, so that events can be counted by them."""
    data, request = message.metadata, message.request
    analysis = (message.trace.get("reasoning") or {}).get("query_analysis") or {}
    return {
        "query_type": analysis.get("query_type") or question_type(message.question),
        "language": language_of(message.question),
        "length": len(message.question),
        "complexity": analysis.get("complexity"),
        "strategy": data.get("strategy", ""),
        "mode": data.get("mode_used", ""),
        "retrieval_mode": request.get("retrieval_mode", ""),
        "model": data.get("model", ""),
        "tier": data.get("tier"),
        "sets": list(request.get("sets") or ()),
        "status": message.status or message.state,
        "confidence": message.confidence,
        "support": dict(Counter(one.get("support", "") for one in message.sentences)),
        "cache": data.get("cache", ""),
        "seconds": data.get("total_time"),
        "stage_seconds": data.get("stage_times") or {},
        "scores": _best_scores(message.trace),
        "options": data.get("options_sha256", ""),
        "experiment": data.get("experiment", ""),
    }


def standalone_question(message: Message) -> str:
    """The question with what its conversation adds, as the search understood it."""
    understood = message.metadata.get("understood") if isinstance(message.metadata, dict) else None
    return understood if isinstance(understood, str) and understood else message.question


def _best_scores(trace: Mapping[str, Any]) -> dict[str, float]:
    """The score of the best passage in every ranking that it stands in."""
    best: Mapping[str, Any] = next(iter(trace.get("candidates") or ()), {})
    return {name: round(float(score), 4) for name, score in (best.get("scores") or {}).items()}
