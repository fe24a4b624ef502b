"""Stage 1: BM25 and 384-d vectors, each its best, united (feature D3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.pipeline import stage
from ragcore.ports import Ports
from ragcore.types import State


@stage("search.coarse")
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoarse:
    """Fill state.candidates with the union of both arms ("lexical": BM25, "coarse": cosine of the 384-d prefix).

    The query's vector and the idf of its terms are added to state.query for later stages.
    """

    limit: int = 1500  # of each arm
    lexical: bool = True
    vectors: bool = True

    def __call__(self, state: State, ports: Ports) -> State:
        query = state.query
        if self.lexical:
            query = replace(query, weights=ports.lexical.weights(query))
        if self.vectors and query.vector is None:
            query = replace(query, vector=ports.embedder.embed_queries([query.text])[0])
        state = replace(state, query=query)
        if self.lexical:
            state = state.with_arm("lexical", ports.lexical.search(query, limit=self.limit))
        if self.vectors and query.vector is not None:
            state = state.with_arm("coarse", ports.vectors.coarse(query.vector, limit=self.limit))
        return state.noted(**{name: len(arm) for name, arm in state.arms.items()})
