"""Values that cross the border of the knowledge app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ragcore.types import State

RetrievalMode = Literal["hybrid", "vector", "bm25", "graph"]
JobState = Literal["queued", "running", "succeeded", "partial", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What narrows a search besides the sets; empty means no restriction."""

    axis: str | None = None  # 1, X or Y
    capability: tuple[str, ...] = ()  # codes of X sets
    organisation: tuple[str, ...] = ()  # codes of Y sets
    tags: tuple[str, ...] = ()  # any of them
    metadata: Mapping[str, Any] = field(default_factory=dict)  # attributes that must be equal


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalRequest:
    """One search. `options` are allow-listed overrides of ragcore.options.RetrievalOptions."""

    query: str
    sets: tuple[int, ...] = ()  # empty: all readable ones
    filters: Filters = Filters()
    top_k: int = 10
    mode: RetrievalMode = "hybrid"
    rerank: bool = True
    cliff: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What a search found. Candidates are best first, each with its passage and all its scores."""

    state: State
    relevant: bool  # False: both arms stayed below their thresholds (D23)
    timings_ms: Mapping[str, float]  # coarse, fine, rerank, total
    searched: int  # passages that the asker may see


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """Where an ingestion job stands."""

    id: int
    state: JobState
    total: int
    done: int
    failed: int
    stage: str  # the least advanced stage of its open items; the last one when it is over
    errors: tuple[Mapping[str, Any], ...] = ()
