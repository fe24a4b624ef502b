"""Triples in memory with BM25 and vectors: for tests, benchmarks and small collections."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from ragcore.graph.ports import PREFIX, TripleHit, prefix
from ragcore.graph.triples import Triple
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.lexical_features import bm25_saturation, idf

_B = 0.75


class MemoryTriples:
    """Implements `TripleIndex`; ids are places in the sequence given."""

    def __init__(self, triples: Sequence[Triple], *, tokenizer: Tokenizer, embedder: Embedder | None = None) -> None:
        self.triples = list(triples)
        self._tokenizer = tokenizer
        counts = [Counter(tokenizer.terms(triple.text)) for triple in self.triples]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / max(len(lengths), 1) or 1.0
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, count in enumerate(counts):
            for term, times in count.items():
                self._postings[term].append((number, bm25_saturation(times, lengths[number] / mean, b=_B)))
        texts = [triple.text for triple in self.triples]
        whole = embedder.embed_documents(texts) if embedder and texts else np.zeros((0, PREFIX), np.float32)
        self._vectors = prefix(whole)

    def by_words(self, question: str, *, limit: int) -> list[TripleHit]:
        """See `TripleIndex`."""
        scores: dict[int, float] = defaultdict(float)
        for term, weight in self.rarity(sorted(set(self._tokenizer.terms(question)))).items():
            for number, saturation in self._postings[term]:
                scores[number] += weight * saturation
        best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
        return [TripleHit(id=n, triple=self.triples[n], score=scores[n]) for n in best]

    def by_meaning(self, vector: FloatArray, *, limit: int) -> list[TripleHit]:
        """See `TripleIndex`."""
        if not len(self._vectors):
            return []
        cosines = self._vectors @ prefix(vector)
        best = np.argsort(-cosines, kind="stable")[:limit]
        return [TripleHit(id=int(n), triple=self.triples[int(n)], score=float(cosines[n])) for n in best]

    def meanings(self, vector: FloatArray, ids: Sequence[int]) -> Mapping[int, float]:
        """See `TripleIndex`."""
        question_vector = prefix(vector)
        return {n: float(self._vectors[n] @ question_vector) for n in ids} if len(self._vectors) else {}

    def rarity(self, terms: Sequence[str]) -> Mapping[str, float]:
        """See `TripleIndex`."""
        total = len(self.triples)
        return {t: idf(total, len(self._postings[t])) for t in terms if t in self._postings}
