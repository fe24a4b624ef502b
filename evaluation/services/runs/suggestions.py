"""What the figures of a run suggest to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

LOW = 0.7  # share below which something is suggested
SLOW_MS = 10_000  # p95

Suggestion = Literal["faithfulness", "relevance", "coherence", "completeness", "citations", "failures", "slow"]
# The first figure of each row that the run has decides: ours before the plain rules of the same.
DECIDED_BY: Mapping[Suggestion, tuple[str, ...]] = {
    "faithfulness": ("faithfulness", "faithfulness_overlap"),
    "relevance": ("answer_relevance", "relevance_cosine"),
    "coherence": ("coherence",),
    "completeness": ("completeness", "completeness_aspects"),
    "citations": ("cites_relevant",),
}


def suggestions_of(figures: Mapping[str, Mapping[str, Any]], *, failed: int = 0) -> tuple[Suggestion, ...]:
    """What is low, slow or failing, in a fixed order; () where nothing is. `figures`: of one configuration."""
    suggestions: list[Suggestion] = []
    for suggestion, names in DECIDED_BY.items():
        value = next((figures[name]["value"] for name in names if name in figures), None)
        if value is not None and value < LOW:
            suggestions.append(suggestion)
    if failed:
        suggestions.append("failures")
    if figures.get("p95_ms", {}).get("value", 0) > SLOW_MS:
        suggestions.append("slow")
    return tuple(suggestions)
