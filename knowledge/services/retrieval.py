"""Searching: the one entrance for REST, chat, evaluation and the lab (D3 to D5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import OperationalError

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.errors import GraphNotBuiltError, RetrievalUnavailableError
from knowledge.indexes.counting import passages_visible
from knowledge.indexes.limits import statements_limited
from knowledge.indexes.visibility import visible_sql
from knowledge.models import KnowledgeSet
from knowledge.selectors import corpus_epoch, documents_askable, sets_listed
from knowledge.types import RetrievalRequest, Retrieved
from knowledge.wiring import query_of, retrieval_pipeline
from ragcore.options import Resolved, RetrievalOptions, resolve
from ragcore.types import StageRecord, State

STATEMENT_SECONDS = 10  # V6

TIMED = {
    "search.coarse": "coarse",
    "search.fine": "fine",
    "fuse.rsf": "fine",
    "rank.single_arm": "fine",
    "load.passages": "fine",
    "rerank": "rerank",
}


def retrieve(
    *, scope: Scope, request: RetrievalRequest, on_stage: Callable[[StageRecord], None] | None = None
) -> Retrieved:
    """Passages for a question, best first, within the asker's rights.

    Raises NotFoundError for a set that does not exist, GraphNotBuiltError, InvalidOptionsError,
    RetrievalUnavailableError where Postgres does not answer.
    """
    if request.mode == "graph":
        raise GraphNotBuiltError
    query = query_of(request.query)
    try:
        with statements_limited(seconds=STATEMENT_SECONDS):
            sets = _sets(scope=scope, set_ids=request.sets)
            options = retrieval_options(sets=sets, request=request).value
            visible = visible_sql(documents_askable(scope=scope, sets=request.sets, filters=request.filters))
            pipeline = retrieval_pipeline(scope=scope, visible=visible, mode=request.mode, options=options)
            state = pipeline.run(State(query=query), on_stage=on_stage)
            searched = passages_visible(scope=scope, visible=visible, epoch=corpus_epoch(scope=scope))
    except OperationalError as error:
        raise RetrievalUnavailableError from error
    return Retrieved(
        state=state,
        relevant=_is_relevant(state, options),
        timings_ms=_timings(state),
        searched=searched,
    )


def retrieval_options(*, sets: Sequence[KnowledgeSet], request: RetrievalRequest) -> Resolved[RetrievalOptions]:
    """Default, then the set's own where it is asked alone (D14), then the request's."""
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if len(sets) == 1:
        layers.append((f"set {sets[0].code}", sets[0].options.get("retrieval", {})))
    asked = {"top_k": request.top_k, "rerank": request.rerank, "cliff": request.cliff, **request.options}
    return resolve(RetrievalOptions, *layers, ("request", asked))


def _sets(*, scope: Scope, set_ids: Sequence[int]) -> list[KnowledgeSet]:
    """The sets asked for. Everyone may know that a set exists; what is in it is decided by the search."""
    found = list(sets_listed(scope=scope).filter(pk__in=set_ids))
    if missing := set(set_ids) - {s.pk for s in found}:
        raise NotFoundError(f"There is no knowledge set {min(missing)}.", sets=sorted(missing))
    return found


def _is_relevant(state: State, options: RetrievalOptions) -> bool:
    """False where the best BM25 and the best cosine both stay below their thresholds (D23).

    BM25 grows with the question, so it is measured by the idf that the question holds; a term that the corpus does
    not know counts as much as the rarest one that it knows.
    """
    weights = state.query.weights
    unknown = len(set(state.query.terms) - set(weights))
    held = sum(weights.values()) + unknown * max(weights.values(), default=1.0)
    best_match = max(state.arms.get("lexical", {}).values(), default=0.0) / (held or 1.0)
    best_cosine = max((state.arms.get("dense") or state.arms.get("coarse") or {}).values(), default=-1.0)
    return best_match >= options.min_match or best_cosine >= options.min_cosine


def _timings(state: State) -> dict[str, float]:
    timings = {"coarse": 0.0, "fine": 0.0, "rerank": 0.0}
    for record in state.records:
        if record.stage in TIMED:
            timings[TIMED[record.stage]] += 1000 * record.seconds
    timings["total"] = 1000 * sum(record.seconds for record in state.records)
    return {name: round(value, 2) for name, value in timings.items()}
