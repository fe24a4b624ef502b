"""Vector search where parts of the corpus are compared with another form of the question (D6, D7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragcore.embedding.latent import CosineScale
from ragcore.embedding.query_adapter import QueryAdapter
from ragcore.ports import FloatArray, VectorIndex
from ragcore.types import Hit


@dataclass(frozen=True, slots=True)
class AdaptedPart:
    """Some of the passages, and the adapter through which a question goes to them; None: as it is.

    `joined`: where the index compares domain vectors, the scale on which its cosines come (decision 025). Then a
    question has the embedder's numbers before those that are compared, and the index of coarse vectors uses the former.
    """

    index: VectorIndex
    adapter: QueryAdapter | None
    joined: CosineScale | None = None

    def question(self, vectors: FloatArray) -> FloatArray:
        """float32[n, d] or float32[n, 2 d], as this part is searched: the last d numbers go through the adapter."""
        if self.adapter is None:
            return vectors
        compared = self.adapter.dimensions
        return np.hstack([vectors[:, :-compared], self.adapter.apply(vectors[:, -compared:])])

    def hits(self, found: Sequence[Hit], *, by_coarse: bool = False) -> list[Hit]:
        """With cosines on the scale of plain questions; order kept. `by_coarse`: of an index of coarse vectors."""
        if self.adapter is None or (by_coarse and self.joined is not None):
            return list(found)
        scale = self.joined or CosineScale()
        plain = self.adapter.on_plain_scale
        return [hit._replace(score=scale(plain((hit.score - scale.offset) / scale.slope))) for hit in found]


@dataclass(frozen=True, slots=True)
class AdaptedVectorIndex:
    """Implements VectorIndex over parts of which each searches with its own form of the question.

    A passage in several parts counts with its best score.
    """

    parts: Sequence[AdaptedPart]

    def is_exact(self) -> bool:
        return all(part.index.is_exact() for part in self.parts)

    def exact_many(self, vectors: FloatArray, *, limit: int) -> list[list[Hit]]:
        found = [part.index.exact_many(part.question(vectors), limit=limit) for part in self.parts]
        return self._many(found, len(vectors), limit)

    def coarse(self, vector: FloatArray, *, limit: int) -> list[Hit]:
        return self.coarse_many(vector[None, :], limit=limit)[0]

    def coarse_many(self, vectors: FloatArray, *, limit: int) -> list[list[Hit]]:
        found = [part.index.coarse_many(part.question(vectors), limit=limit) for part in self.parts]
        return self._many(found, len(vectors), limit, by_coarse=True)

    def prefixes(self, vector: FloatArray, *, chunks: Sequence[int]) -> list[Hit]:
        found = [part.index.prefixes(part.question(vector[None, :])[0], chunks=chunks) for part in self.parts]
        return merged([part.hits(hits, by_coarse=True) for part, hits in zip(self.parts, found, strict=True)])

    def fine(self, vector: FloatArray, *, chunks: Sequence[int], limit: int) -> list[Hit]:
        questions = [part.question(vector[None, :])[0] for part in self.parts]
        found = [
            part.index.fine(question, chunks=chunks, limit=limit)
            for part, question in zip(self.parts, questions, strict=True)
        ]
        return merged([part.hits(hits) for part, hits in zip(self.parts, found, strict=True)])[:limit]

    def _many(
        self, found: Sequence[Sequence[Sequence[Hit]]], questions: int, limit: int, *, by_coarse: bool = False
    ) -> list[list[Hit]]:
        kinds = [by_coarse and not part.index.is_exact() for part in self.parts]
        return [
            merged(
                [part.hits(hits[at], by_coarse=kind) for part, hits, kind in zip(self.parts, found, kinds, strict=True)]
            )[:limit]
            for at in range(questions)
        ]


def merged(lists: Sequence[list[Hit]]) -> list[Hit]:
    """One list, best first, each passage once; one list alone stays as it is."""
    if len(lists) == 1:
        return lists[0]
    best: dict[int, Hit] = {}
    for hit in sorted((hit for hits in lists for hit in hits), key=lambda hit: (-hit.score, hit.chunk)):
        best.setdefault(hit.chunk, hit)
    return list(best.values())
