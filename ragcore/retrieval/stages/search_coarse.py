"""Stage 1: BM25 and 384-d vectors, each its best, united (feature D3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.types import Hit, Query, State


@stage("search.coarse", label=_("first stage"), timing="coarse")
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoarse:
    """Fill state.candidates with the union of both arms ("lexical": BM25, "coarse": cosine of the 384-d prefix).

    The query's vector and the idf of its terms are added to state.query for later stages. Neither arm needs the other.
    """

    limit: int = 1500  # of each arm
    lexical: bool = True
    vectors: bool = True

    def __call__(self, state: State, ports: Ports) -> State:
        words, near = ports.together(partial(self._words, state.query, ports), partial(self._near, state.query, ports))
        weighted, matching = words
        embedded, nearest = near
        state = replace(state, query=replace(weighted, vector=embedded.vector))
        for name, hits in (("lexical", matching), ("coarse", nearest)):
            state = state if hits is None else state.with_arm(name, hits)
        found = {name: len(arm) for name, arm in state.arms.items()}
        return state.noted(**found, **ports.backend_note)

    def _words(self, query: Query, ports: Ports) -> tuple[Query, list[Hit] | None]:
        """The query with the idf of its terms, and the hits of the lexical index; None: it was not asked."""
        if not self.lexical:
            return query, None
        query = replace(query, weights=ports.lexical.weights(query))
        return query, ports.lexical.search(query, limit=self.limit)

    def _near(self, query: Query, ports: Ports) -> tuple[Query, list[Hit] | None]:
        """The query with its vector, and the hits of the vector index; None: it was not asked."""
        if not self.vectors:
            return query, None
        if query.vector is None:
            query = replace(query, vector=ports.embedder.embed_queries([query.text])[0])
        return query, None if query.vector is None else ports.vectors.coarse(query.vector, limit=self.limit)
