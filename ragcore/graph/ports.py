"""What retrieval of triples needs from a store, bound to one scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ragcore.graph.triples import Triple
from ragcore.ports import FloatArray
from ragcore.text.matching import normalised

PREFIX = 384  # numbers of a vector that facts are compared by; a fact is short, and a million of them is many


def prefix(vectors: FloatArray) -> FloatArray:
    """float32[…, 768] to float32[…, 384] of length 1."""
    return normalised(vectors[..., :PREFIX])


@dataclass(frozen=True, slots=True, kw_only=True)
class TripleHit:
    """A stored triple that a search found; higher scores are better."""

    id: int
    triple: Triple
    score: float


class TripleIndex(Protocol):
    """Triples that the bound scope may see."""

    def by_words(self, question: str, *, limit: int) -> list[TripleHit]:
        """Best first; score is BM25 or its like, above 0."""
        ...

    def by_meaning(self, vector: FloatArray, *, limit: int) -> list[TripleHit]:
        """Best first by cosine with float32[768]; triples without a vector yet are left out."""
        ...

    def meanings(self, vector: FloatArray, ids: Sequence[int]) -> Mapping[int, float]:
        """Cosine of the vector with each of these triples that has one."""
        ...

    def rarity(self, terms: Sequence[str]) -> Mapping[str, float]:
        """Weight of terms, larger for rarer ones; terms that no triple has are left out."""
        ...
