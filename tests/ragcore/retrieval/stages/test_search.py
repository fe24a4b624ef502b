"""The first two stages: 384 numbers and then whole vectors, or all whole vectors at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from ragcore.retrieval.stages.search import ComparePrefixes, CompareSentences, SearchCoarse, SearchFine
from ragcore.types import Hit, Query, State
from ragcore.types.sentence_vectors import SentenceVectors
from tests.ragcore.states import passage, ports

WHOLE = {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.2, 5: 0.1}  # chunk -> cosine
WORDS = {5: 4.0, 1: 3.0, 4: 2.0}  # chunk -> BM25


def hits(scores, limit):
    return [Hit(chunk, 10 * chunk, score) for chunk, score in scores.items()][:limit]


class Words:
    """A lexical index in memory."""

    def weights(self, query):
        return {"a": 1.0}

    def search(self, query, *, limit):
        return hits(WORDS, limit)


@dataclass
class Vectors:
    """A vector index in memory that notes for which chunks it was asked."""

    exact: bool
    fine_chunks: list = field(default_factory=list)
    prefix_chunks: list = field(default_factory=list)

    def is_exact(self):
        return self.exact

    def exact_many(self, queries, *, limit):
        return [hits(WHOLE, limit) for _ in queries]

    def coarse(self, query, *, limit):
        return hits({chunk: score / 2 for chunk, score in WHOLE.items()}, limit)

    def prefixes(self, query, *, chunks):
        self.prefix_chunks.append(sorted(chunks))
        return [hit for hit in self.coarse(query, limit=99) if hit.chunk in chunks]

    def fine(self, query, *, chunks, limit):
        self.fine_chunks.append(sorted(chunks))
        return [hit for hit in hits(WHOLE, 99) if hit.chunk in chunks][:limit]


def searched(index, *, exact_limit=2, **options):
    state = State(query=Query(text="a", terms=("a",), words=("a",), vector=np.ones(768, dtype=np.float32)))
    bound = ports(lexical=Words(), vectors=index)
    state = SearchCoarse(limit=4, exact_limit=exact_limit, **options)(state, bound)
    return SearchFine(limit=2)(state, bound)


@pytest.mark.parametrize(("exact", "numbers"), [(True, 768), (False, 384)])
def test_the_record_says_with_how_many_numbers_vectors_were_searched(exact, numbers):
    state = State(query=Query(text="a", terms=("a",), words=("a",), vector=np.ones(768, dtype=np.float32)))
    bound = ports(lexical=Words(), vectors=Vectors(exact=exact))

    first = SearchCoarse(limit=4, exact_limit=2)(state, bound)

    assert first.pending_note["dimensions"] == numbers
    fine = SearchFine(limit=2)(replace(first, pending_note={}), bound).pending_note
    assert fine == ({} if exact else {"dense": 2, "compared": 5, "dimensions": 768})


def test_where_all_whole_vectors_are_compared_the_second_stage_has_nothing_to_do():
    index = Vectors(exact=True)

    state = searched(index)

    assert {name: dict(arm) for name, arm in state.arms.items()} == {
        "lexical": {5: 4.0, 1: 3.0},
        "dense": {1: 0.9, 2: 0.8},
    }
    assert (index.fine_chunks, index.prefix_chunks) == ([], [])


def test_the_prefixes_are_compared_for_the_candidates_that_are_left_and_for_the_reranker():
    index = Vectors(exact=True)
    state = searched(index).ranked("fuse.rsf", {5: 0.9, 1: 0.8, 2: 0.1}, keep=2)

    compared = ComparePrefixes()(state, ports(vectors=index))

    assert dict(compared.arms["coarse"]) == {1: 0.45, 5: 0.05}
    assert [(c.chunk, c.scores["coarse"], c.ranks["coarse"]) for c in compared.candidates] == [
        (5, 0.05, 2),
        (1, 0.45, 1),
    ]
    assert index.prefix_chunks == [[1, 5]]


def test_they_are_not_compared_again_where_the_first_stage_did():
    index = Vectors(exact=False)
    state = searched(index).ranked("fuse.rsf", {5: 0.9, 1: 0.8}, keep=2)

    assert ComparePrefixes()(state, ports(vectors=index)) is state
    assert index.prefix_chunks == []


@pytest.mark.parametrize(("exact", "exact_limit"), [(False, 2), (True, 0)])
def test_otherwise_the_second_stage_compares_what_both_arms_have_found(exact, exact_limit):
    index = Vectors(exact=exact)

    state = searched(index, exact_limit=exact_limit)

    assert list(state.arms["coarse"]) == [1, 2, 3, 4]
    assert list(state.arms["lexical"]) == [5, 1, 4]
    assert dict(state.arms["dense"]) == {1: 0.9, 2: 0.8}
    assert index.fine_chunks == [[1, 2, 3, 4, 5]]


def test_both_ways_rank_whole_vectors_the_same():
    exact, staged = searched(Vectors(exact=True)), searched(Vectors(exact=False))

    assert exact.arms["dense"] == staged.arms["dense"]


def test_where_nothing_was_found_nothing_is_looked_up():
    index = Vectors(exact=True)
    state = State(query=Query(text="a", terms=(), words=(), vector=np.ones(768, dtype=np.float32)))
    state = state.with_arm("dense", []).ranked("fuse.rsf", {}, keep=2)

    assert ComparePrefixes()(SearchFine()(state, ports(vectors=index)), ports(vectors=index)) is state
    assert index.prefix_chunks == []


class Sentences:
    """Passages 1 and 5 have vectors of two sentences each."""

    def question_vector(self, text):
        return np.eye(384, dtype=np.float32)[0]

    def vectors(self, chunks):
        rows = {1: [[0.6, 0.8], [1.0, 0.0]], 5: [[0.0, 1.0], [0.8, 0.6]]}
        wide = {c: np.pad(np.array(two, np.float32), ((0, 0), (0, 382))) for c, two in rows.items() if c in chunks}
        return {chunk: SentenceVectors.of(["a", "b"], two) for chunk, two in wide.items()}


def test_the_nearest_sentence_of_a_passage_scores_and_its_vectors_go_with_it():
    state = searched(Vectors(exact=True)).ranked("fuse.rsf", {5: 0.9, 1: 0.8, 2: 0.1}, keep=3)
    loaded = replace(state, candidates=tuple(c.loaded(passage(c.chunk, "text", "")) for c in state.candidates))

    compared = CompareSentences()(loaded, ports(sentences=Sentences()))

    told = {c.chunk: (c.scores.get("sentence"), c.ranks.get("sentence")) for c in compared.candidates}
    assert told[1] == (pytest.approx(1.0, abs=0.01), 1)
    assert told[5] == (pytest.approx(0.8, abs=0.01), 2)
    assert told[2] == (None, None)
    assert [c.chunk for c in compared.candidates] == [5, 1, 2]
    with_vectors = {c.chunk for c in compared.candidates if c.passage is not None and c.passage.sentences is not None}
    assert with_vectors == {1, 5}
    assert compared.pending_note["compared"] == 2


def test_an_embedder_without_vectors_of_sentences_changes_nothing():
    state = searched(Vectors(exact=True)).ranked("fuse.rsf", {5: 0.9}, keep=1)

    assert CompareSentences()(state, ports()) is state
