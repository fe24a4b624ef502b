"""Which stages a search runs, in which order and with which options; several questions at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragcore.options import RetrievalOptions
from ragcore.pipeline import PlannedStage
from ragcore.ports import LexicalIndex, VectorIndex
from ragcore.retrieval import stages  # noqa: F401 (registers the stages)
from ragcore.retrieval.pipeline import PipelineRetriever, with_joining
from ragcore.retrieval.stages.search import SearchCoarse
from ragcore.types import Hit, Query, StageRecord, State

Steps = list[PlannedStage]
LEAST_OF_EACH_ARM = 160  # hits of words, and of meaning, that are fused; twice `fused_limit` where that is more


def stage_plan(mode: str, options: RetrievalOptions, *, has_editions: bool = False) -> Steps:
    """The stages of a retrieval mode (hybrid, vector, bm25 or graph) with their options.

    `has_editions`: whether any document replaces another one.
    """
    each = max(LEAST_OF_EACH_ARM, 2 * options.fused_limit)
    coarse = {"exact_limit": each, "lexical": mode != "vector", "vectors": mode != "bm25"}
    keep = max(options.fused_limit, options.top_k)
    fused: Steps = [
        ("search.fine", {"limit": each}),
        *_stage_if(options.profile, "boost.profile", each=each),
        ("fuse.rsf", {"vector_weight": options.vector_weight, "each": each, "keep": keep}),
    ]
    by_mode: dict[str, Steps] = {
        "hybrid": fused,
        "graph": fused,
        "vector": [fused[0], ("rank.single_arm", {"arm": "dense", "keep": keep})],
        "bm25": [("rank.single_arm", {"arm": "lexical", "keep": keep})],
    }
    return with_joining(
        [
            *_stage_if(options.fuzzy and mode != "vector", "correct.terms"),
            ("search.coarse", coarse),
            *by_mode[mode],
            ("load.passages", {}),
            *_stage_if(has_editions, "drop.replaced"),
            ("drop.copies", {}),
            *_stage_if(options.rerank and mode != "bm25", "compare.prefixes"),
            *_stage_if(mode != "bm25", "compare.sentences"),
            *_stage_if(options.rerank, "rerank"),
            ("weigh.quality", {"only_weight": not options.quality}),
            *_stage_if(options.use_shift > 0, "weigh.use", most=options.use_shift),
            *_stage_if(options.cliff, "cutoff.cliff"),
            *_graph(mode, options, keep),
            *_stage_if(options.deduplicate, "drop.duplicates", keep=options.top_k),
            ("cutoff.top_k", {"keep": options.top_k}),
            *_stage_if(options.neighbours > 0, "merge.neighbours", around=options.neighbours),
        ]
    )


def _graph(mode: str, options: RetrievalOptions, keep: int) -> Steps:
    """The graph of entities: the ranking of the mode graph, a third one for hybrid."""
    if mode == "graph":
        return [("search.graph", {}), ("rank.graph", {"keep": keep})]
    if mode != "hybrid" or options.graph == "off":
        return []
    return [("search.graph", {"auto": options.graph == "auto"}), ("fuse.graph", {"keep": options.top_k})]


def _stage_if(condition: bool, name: str, **options: Any) -> Steps:
    """One stage, or none."""
    return [(name, options)] if condition else []


def run_queries(
    pipeline: PipelineRetriever, queries: Sequence[Query], *, on_stage: Callable[[StageRecord], None] | None = None
) -> list[State]:
    """What the pipeline finds for each query; embeddings and coarse searches of all of them are made at once."""
    at = next((at for at, step in enumerate(pipeline.stages) if isinstance(step, SearchCoarse)), None)
    if at is None or len(queries) < 2:
        return [pipeline.run(State(query=query), on_stage=on_stage) for query in queries]
    coarse = pipeline.stages[at]
    assert isinstance(coarse, SearchCoarse)
    first = PipelineRetriever(pipeline.stages[:at], pipeline.ports)
    states = [first.run(State(query=query), on_stage=on_stage) for query in queries]
    if coarse.vectors:
        vectors = pipeline.ports.embedder.embed_queries([state.query.embedded_text for state in states])
        states = [
            replace(state, query=replace(state.query, vector=vector))
            for state, vector in zip(states, vectors, strict=True)
        ]
    rests = _rests(pipeline, at, coarse, [state.query for state in states])
    return [rest.run(state, on_stage=on_stage) for rest, state in zip(rests, states, strict=True)]


def _rests(
    pipeline: PipelineRetriever, at: int, coarse: SearchCoarse, queries: Sequence[Query]
) -> list[PipelineRetriever]:
    """The pipeline from the coarse search on for each query, with what all coarse searches have found already."""
    ports = pipeline.ports
    nothing: list[list[Hit]] = [[] for _ in queries]
    exact = coarse.is_exact(ports)
    limit = coarse.depth(exact=exact)
    lexical = ports.lexical.search_many(queries, limit=limit) if coarse.lexical else nothing
    search = ports.vectors.exact_many if exact else ports.vectors.coarse_many
    near = search(queries, limit=limit) if coarse.vectors else nothing
    return [
        PipelineRetriever(
            pipeline.stages[at:],
            replace(
                ports,
                lexical=FetchedLexicalIndex(ports.lexical, words),
                vectors=FetchedVectorIndex(ports.vectors, hits, exact),
            ),
        )
        for words, hits in zip(lexical, near, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class FetchedLexicalIndex:
    """A lexical index whose hits for the one question that is asked are there already."""

    index: LexicalIndex
    hits: Sequence[Hit]

    def search(self, query: Query, *, limit: int) -> list[Hit]:
        return list(self.hits[:limit])

    def search_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        return self.index.search_many(queries, limit=limit)

    def weights(self, query: Query) -> dict[str, float]:
        return self.index.weights(query)


@dataclass(frozen=True, slots=True)
class FetchedVectorIndex:
    """A vector index whose hits for the one question that is asked are there already."""

    index: VectorIndex
    hits: Sequence[Hit]
    exact: bool  # whether they come from `exact_many`

    def is_exact(self) -> bool:
        return self.exact

    def exact_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        return [list(self.hits[:limit])]

    def coarse(self, query: Query, *, limit: int) -> list[Hit]:
        return list(self.hits[:limit])

    def coarse_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        return self.index.coarse_many(queries, limit=limit)

    def prefixes(self, query: Query, *, chunks: Sequence[int]) -> list[Hit]:
        return self.index.prefixes(query, chunks=chunks)

    def fine(self, query: Query, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        return self.index.fine(query, chunks=chunks, limit=limit)
