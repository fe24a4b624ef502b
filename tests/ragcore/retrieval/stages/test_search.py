"""Stage 2 asks for whole vectors only where the first stage has not read them (D4)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragcore.retrieval.stages.search import SearchCoarse, SearchFine
from ragcore.types import Hit, Query, State
from tests.ragcore.states import ports

VECTOR = np.ones(768, dtype=np.float32)
COSINES = st.dictionaries(st.integers(1, 30), st.floats(-1, 1, allow_nan=False, width=16), max_size=30)


class Vectors:
    """An index of known cosines, which reads those of some chunks in its first stage."""

    def __init__(self, cosines, near, read):
        self.cosines, self.near, self.read = cosines, near, read
        self.asked = []

    def coarse(self, vector, *, limit):
        return [Hit(c, c, 0.5, "body", self.cosines[c] if c in self.read else None) for c in self.near][:limit]

    def fine(self, vector, *, chunks, limit):
        self.asked += chunks
        hits = [Hit(chunk, chunk, self.cosines[chunk]) for chunk in chunks]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk))[:limit]


class Words:
    def __init__(self, chunks):
        self.chunks = chunks

    def weights(self, query):
        return {}

    def search(self, query, *, limit):
        return [Hit(chunk, chunk, 1.0) for chunk in self.chunks]


def dense(vectors, words, limit=5):
    state = State(query=Query(text="q", terms=("q",), words=("q",), vector=VECTOR))
    bound = ports(vectors=vectors, lexical=Words(words))
    return SearchFine(limit=limit)(SearchCoarse()(state, bound), bound).arms["dense"]


@given(COSINES, st.data())
def test_the_best_by_whole_vectors_are_the_same_whoever_reads_them(cosines, data):
    chunks = list(cosines)
    near, words, read = (data.draw(st.lists(st.sampled_from(chunks), unique=True)) if chunks else [] for _ in range(3))
    reading, asking = Vectors(cosines, near, set(read)), Vectors(cosines, near, set())

    assert dense(reading, words) == dense(asking, words)
    assert set(reading.asked) == {*near, *words} - (set(near) & set(read))


def test_of_several_entries_of_a_passage_the_nearest_counts():
    hits = [Hit(1, 1, 0.9, "summary", 0.2), Hit(2, 2, 0.8, "body", 0.5), Hit(1, 1, 0.7, "body", 0.6)]

    class Both(Vectors):
        def coarse(self, vector, *, limit):
            return hits

    assert list(dense(Both({}, [], set()), []).items()) == [(1, 0.6), (2, 0.5)]
