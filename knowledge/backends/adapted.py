"""Vector search where parts of the corpus are compared with another form of the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragcore.embedding.query_adapter import QueryAdapter
from ragcore.embedding.vectors import question_vectors
from ragcore.ports import VectorIndex
from ragcore.types import Hit, Query


@dataclass(frozen=True, slots=True)
class AdaptedPart:
    """Some of the passages, and the adapter through which a question goes to them; None: as it is."""

    index: VectorIndex
    adapter: QueryAdapter | None

    def adapted(self, queries: Sequence[Query]) -> Sequence[Query]:
        """The questions as this part is searched."""
        if self.adapter is None:
            return queries
        vectors = self.adapter.apply(question_vectors(queries))
        return [replace(query, vector=vector) for query, vector in zip(queries, vectors, strict=True)]

    def hits(self, found: Sequence[Hit]) -> list[Hit]:
        """With cosines on the scale of plain questions; order kept."""
        if self.adapter is None:
            return list(found)
        return [hit._replace(score=self.adapter.on_plain_scale(hit.score)) for hit in found]


@dataclass(frozen=True, slots=True)
class AdaptedVectorIndex:
    """Implements VectorIndex over parts of which each searches with its own form of the question.

    A passage in several parts counts with its best score.
    """

    parts: Sequence[AdaptedPart]

    def is_exact(self) -> bool:
        return all(part.index.is_exact() for part in self.parts)

    def exact_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        found = [part.index.exact_many(part.adapted(queries), limit=limit) for part in self.parts]
        return self._many(found, len(queries), limit)

    def coarse(self, query: Query, *, limit: int) -> list[Hit]:
        return self.coarse_many([query], limit=limit)[0]

    def coarse_many(self, queries: Sequence[Query], *, limit: int) -> list[list[Hit]]:
        found = [part.index.coarse_many(part.adapted(queries), limit=limit) for part in self.parts]
        return self._many(found, len(queries), limit)

    def prefixes(self, query: Query, *, chunks: Sequence[int]) -> list[Hit]:
        return self._each(lambda part: part.index.prefixes(part.adapted([query])[0], chunks=chunks))

    def fine(self, query: Query, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        return self._each(lambda part: part.index.fine(part.adapted([query])[0], chunks=chunks, limit=limit))[:limit]

    def _many(self, found: Sequence[Sequence[Sequence[Hit]]], questions: int, limit: int) -> list[list[Hit]]:
        return [
            merged([part.hits(hits[at]) for part, hits in zip(self.parts, found, strict=True)])[:limit]
            for at in range(questions)
        ]

    def _each(self, look: Callable[[AdaptedPart], Sequence[Hit]]) -> list[Hit]:
        return merged([part.hits(look(part)) for part in self.parts])


def merged(lists: Sequence[list[Hit]]) -> list[Hit]:
    """One list, best first, each passage once; one list alone stays as it is."""
    if len(lists) == 1:
        return lists[0]
    best: dict[int, Hit] = {}
    for hit in sorted((hit for hits in lists for hit in hits), key=lambda hit: (-hit.score, hit.chunk)):
        best.setdefault(hit.chunk, hit)
    return list(best.values())
