"""One pipeline for several questions at once (feature V3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragcore.ports import FloatArray, LexicalIndex, VectorIndex
from ragcore.retrieval.pipeline import PipelineRetriever
from ragcore.retrieval.stages.search_coarse import SearchCoarse
from ragcore.types import Hit, Query, StageRecord, State


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
        vectors = pipeline.ports.embedder.embed_queries([state.query.text for state in states])
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
    vectors = [query.vector for query in queries if query.vector is not None]
    lexical = ports.lexical.search_many(queries, limit=coarse.limit) if coarse.lexical else nothing
    near = ports.vectors.coarse_many(np.stack(vectors), limit=coarse.limit) if vectors else nothing
    return [
        PipelineRetriever(
            pipeline.stages[at:],
            replace(
                ports,
                lexical=FetchedLexicalIndex(ports.lexical, words),
                vectors=FetchedVectorIndex(ports.vectors, hits),
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
    """A vector index whose coarse hits for the one question that is asked are there already."""

    index: VectorIndex
    hits: Sequence[Hit]

    def coarse(self, vector: FloatArray, *, limit: int) -> list[Hit]:
        return list(self.hits[:limit])

    def coarse_many(self, vectors: FloatArray, *, limit: int) -> list[list[Hit]]:
        return self.index.coarse_many(vectors, limit=limit)

    def fine(self, vector: FloatArray, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        return self.index.fine(vector, chunks=chunks, limit=limit)
