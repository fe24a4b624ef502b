"""Scope and options to a pipeline: here ports are bound to what one asker may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.scope import Scope
from knowledge import engines
from knowledge.indexes.lexical import LexicalQuery, lexical_query, lexical_search
from knowledge.indexes.passages import passages_load
from knowledge.indexes.vectors import coarse_search, fine_search
from knowledge.indexes.visibility import Visible
from knowledge.types import RetrievalMode
from ragcore import stages  # noqa: F401 (registers the stages)
from ragcore.options import RetrievalOptions
from ragcore.pipeline import Pipeline, build
from ragcore.ports import FloatArray, Ports
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import cjk_share, language_of
from ragcore.types import Hit, Passage, Query

Steps = list[tuple[str, Mapping[str, Any]]]  # stage names with their options


@dataclass(slots=True)
class ScopedLexicalIndex:
    """LexicalIndex of one asker; the terms of a question are looked up once."""

    scope: Scope
    visible: Visible
    looked_up: tuple[tuple[str, ...], LexicalQuery] | None = None

    def weights(self, query: Query) -> dict[str, float]:
        return dict(self._query(query).idf)

    def search(self, query: Query, *, limit: int) -> list[Hit]:
        return lexical_search(scope=self.scope, visible=self.visible, query=self._query(query), limit=limit)

    def _query(self, query: Query) -> LexicalQuery:
        if self.looked_up is None or self.looked_up[0] != query.terms:
            self.looked_up = (query.terms, lexical_query(scope=self.scope, terms=query.terms))
        return self.looked_up[1]


@dataclass(frozen=True, slots=True)
class ScopedVectorIndex:
    """VectorIndex of one asker and one embedding model."""

    scope: Scope
    visible: Visible
    model: str

    def coarse(self, vector: FloatArray, *, limit: int) -> list[Hit]:
        return coarse_search(scope=self.scope, visible=self.visible, vector=vector, model=self.model, limit=limit)

    def fine(self, vector: FloatArray, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        return fine_search(
            scope=self.scope, visible=self.visible, vector=vector, model=self.model, chunks=chunks, limit=limit
        )


@dataclass(frozen=True, slots=True)
class ScopedPassageStore:
    """PassageStore of one asker."""

    scope: Scope
    visible: Visible

    def load(self, chunks: Sequence[int]) -> dict[int, Passage]:
        return passages_load(scope=self.scope, visible=self.visible, chunks=chunks)


def query_of(text: str) -> Query:
    """A question as the stages want it."""
    normal = normalise_query(text)
    tokenizer = engines.tokenizer()
    return Query(
        text=normal,
        terms=tuple(tokenizer.terms(normal)),
        words=tuple(tokenizer.words(normal)),
        language=language_of(normal),
        cjk_share=cjk_share(normal),
    )


def retrieval_pipeline(*, scope: Scope, visible: Visible, mode: RetrievalMode, options: RetrievalOptions) -> Pipeline:
    """The stages of a mode, bound to the asker's rights."""
    embedder = engines.embedder()
    ports = Ports(
        lexical=ScopedLexicalIndex(scope, visible),
        vectors=ScopedVectorIndex(scope, visible, embedder.model),
        passages=ScopedPassageStore(scope, visible),
        embedder=embedder,
        tokenizer=engines.tokenizer(),
        reranker=engines.reranker() if options.rerank else None,
    )
    return Pipeline(build(steps_of(mode, options)), ports)


def steps_of(mode: RetrievalMode, options: RetrievalOptions) -> Steps:
    """Names and options of the stages of a mode (V3). A new mode is a new list."""
    coarse = {"limit": options.coarse_limit, "lexical": mode != "vector", "vectors": mode != "bm25"}
    keep = max(options.fused_limit, options.top_k)
    ranks: dict[str, Steps] = {
        "hybrid": [
            ("search.fine", {"limit": options.fine_limit}),
            (
                "fuse.rsf",
                {
                    "centre": options.alpha_centre,
                    "slope": options.alpha_slope,
                    "vector_weight": options.vector_weight,
                    "each": options.fine_limit,
                    "keep": keep,
                },
            ),
        ],
        "vector": [
            ("search.fine", {"limit": options.fine_limit}),
            ("rank.single_arm", {"arm": "dense", "keep": keep}),
        ],
        "bm25": [("rank.single_arm", {"arm": "lexical", "keep": keep})],
    }
    rerank: Steps = [("rerank", {})] if options.rerank and mode == "hybrid" else []
    cliff: Steps = [("cutoff.cliff", {})] if options.cliff else []
    return [
        ("search.coarse", coarse),
        *ranks[mode],
        ("load.passages", {}),
        *rerank,
        *cliff,
        ("cutoff.top_k", {"keep": options.top_k}),
    ]
