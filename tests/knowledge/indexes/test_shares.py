"""k hits come back wherever k exist, at any share of the corpus and on every way through the index."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge.backends import ScopedLexicalIndex, ScopedVectorIndex
from knowledge.indexes import lexical, rotations, search_space, vectors
from knowledge.indexes.copy import vectors_copy
from knowledge.indexes.search_space import AccessPlan
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Document, IndexEntry, KnowledgeSet
from knowledge.selectors import documents_askable
from knowledge.wiring import query_of
from tests.factories import ingest, make_admin, make_set, question_with, scope_of
from tests.forms_plugin import examples
from tests.knowledge.indexes.test_plans import ANALYSE, MANY, SWITCH

DOCUMENTS = 400
SHARES = (1.0, 0.5, 0.1, 0.01, 0.0025, 0.0)
SPREAD = """
UPDATE knowledge_indexentry e SET merged = e.id %% 3 > 0, coarse = made.vector, lexemes = made.lexemes, bm25 = made.bm25
FROM (
    SELECT id, ('[' || array_to_string(array_agg(sin(id * n) ORDER BY n), ',') || ']')::halfvec(384) AS vector,
        array_to_tsvector(ARRAY[%(term)s::text]) AS lexemes,
        ('{' || %(term)s || ':' || 0.5 + (id %% 97) / 100.0 || '}/1000000000')::sparsevec AS bm25
    FROM knowledge_indexentry, generate_series(1, 384) n GROUP BY id
) made WHERE made.id = e.id
"""


@pytest.fixture(autouse=True)
def _forgotten():
    for memory in (
        search_space.counts,
        search_space.tails,
        search_space.indexed,
        lexical.totals,
        lexical.terms_counted,
    ):
        memory.clear()


@transaction.atomic
def corpus_make():
    """Four hundred documents of one entry with the word "alpha", a third of them not yet in the index, in sets."""
    owner = make_admin()
    common = make_set("common", owners=[owner])
    ingest(owner, common, a="alpha")
    entry = IndexEntry.objects.get()
    [term] = entry.bm25.indices()
    with connection.cursor() as cursor:
        cursor.execute(MANY.replace("3000", str(DOCUMENTS - 1)), {"set": common.pk})
        cursor.execute(SWITCH)
        cursor.execute(SPREAD, {"term": term + 1})
        spread_whole_vectors(entry.embedding_model)
        # the rows began as copies of one vector, which would leave a poor graph behind, a different one each time
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("REINDEX INDEX knowledge_entry_coarse")
        cursor.execute("UPDATE knowledge_term SET frequency = %s WHERE id = %s", [DOCUMENTS, term + 1])
        cursor.execute("UPDATE knowledge_lexicalstatistics SET entries = %s", [DOCUMENTS])
        cursor.execute(ANALYSE)
    ids = list(Document.objects.order_by("pk").values_list("pk", flat=True))
    narrow = {}
    for share in SHARES:
        narrow[share] = make_set(f"share{share}", owners=[owner])
        narrow[share].documents.set(ids[: int(share * DOCUMENTS)])
    return owner, entry.embedding_model, narrow


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=corpus_make)]


@pytest.fixture
def corpus(kept_rows):
    return kept_rows


def spread_whole_vectors(model):
    """Give each entry a whole vector whose rotated half is its coarse vector, the other half being 0."""
    columns = rotations.coarse_vectors(np.eye(768, dtype=np.float32), rotation=-1, model=model)
    rows = list(IndexEntry.objects.values_list("pk", "coarse"))
    whole = np.array([np.array(coarse, dtype=np.float32) for _, coarse in rows]) @ columns.T
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE made (id bigint PRIMARY KEY, vector halfvec(768)) ON COMMIT DROP")
        vectors_copy("made", "vector", ids=[number for number, _ in rows], vectors=whole / 10)
        cursor.execute("UPDATE knowledge_wholevector v SET vector = made.vector FROM made WHERE made.id = v.entry_id")
        cursor.execute("DROP TABLE made")


def forced(monkeypatch, way):
    """Every plan goes this way, and asks for no more hits than are wanted, so that more have to be fetched."""
    for module, name in ((vectors, "exact_plan"), (lexical, "lexical_plan")):
        original = getattr(search_space, name)

        def plan(space, *, limit, original=original, **given):
            made = original(space, limit=limit, **given)
            return replace(made, path=way if way in made.costs else made.path, fetched=limit)

        monkeypatch.setattr(module, name, plan)
    path = "index" if way == "index" else "scan"
    monkeypatch.setattr(vectors, "vector_plan", lambda space, **given: AccessPlan(path=path, fetched=0, costs={}))
    monkeypatch.setattr(vectors, "fetched_for", lambda space, *, limit, **given: limit)


@pytest.mark.parametrize("way", ["scan", "documents", "index", "terms", "planned"])
def test_every_share_brings_as_many_hits_as_there_are(corpus, monkeypatch, way):
    owner, model, narrow = corpus
    if way != "planned":
        forced(monkeypatch, way)

    @settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(share=st.sampled_from(SHARES), limit=st.integers(1, 2 * DOCUMENTS), seed=st.integers(0, 99))
    def law(share, limit, seed):
        expected = min(limit, int(share * DOCUMENTS))
        near, words = bound(owner, narrow[share], model)
        vector = np.random.default_rng(seed).standard_normal(768).astype(np.float32)

        assert len({hit.chunk for hit in near.coarse(question_with(vector), limit=limit)}) == expected
        assert len({hit.chunk for hit in words.search(query_of("alpha"), limit=limit)}) == expected

    law()


def bound(owner, chosen: KnowledgeSet, model):
    scope = scope_of(owner)
    visible = visible_sql(documents_askable(scope=scope, sets=(chosen.pk,)))
    return ScopedVectorIndex(scope, visible, model), ScopedLexicalIndex(scope, visible)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_all_ways_find_the_same_in_the_same_order(corpus, monkeypatch, share):
    owner, model, narrow = corpus
    vectors_asked = np.random.default_rng(5).standard_normal((8, 768)).astype(np.float32)
    found, worded = {}, {}
    for way in ("scan", "documents", "index", "terms"):
        with monkeypatch.context() as patch:
            forced(patch, way)
            near, words = bound(owner, narrow[share], model)
            found[way] = [
                [rounded(hit) for hit in near.coarse(question_with(vector), limit=30)] for vector in vectors_asked
            ]
            worded[way] = [rounded(hit) for hit in words.search(query_of("alpha"), limit=30)]

    assert found["scan"] == found["documents"]
    chunks = {way: [{chunk for chunk, _ in hits} for hits in rows] for way, rows in found.items()}
    common = [len(some & every) for some, every in zip(chunks["index"], chunks["scan"], strict=True)]
    # a graph is built with chance, and these vectors point anywhere: how near it comes is measured by `bench-scale`
    assert np.mean(common) >= 0.8 * 30
    assert all(a == b for a, b in itertools.pairwise(worded.values()))


def rounded(hit):
    return hit.chunk, round(hit.score, 4)


def test_several_vectors_at_once_find_what_each_finds_alone(corpus):
    owner, model, narrow = corpus
    near, _ = bound(owner, narrow[0.5], model)
    asked = np.random.default_rng(2).standard_normal((5, 768)).astype(np.float32)

    together = near.coarse_many([question_with(vector) for vector in asked], limit=20)

    assert together == [near.coarse(question_with(vector), limit=20) for vector in asked]
    assert near.coarse_many([], limit=20) == []


def test_the_trace_says_which_way_each_arm_went(corpus):
    owner, model, narrow = corpus
    near, words = bound(owner, narrow[0.1], model)
    near.coarse(question_with(np.ones(768)), limit=5)
    words.search(query_of("alpha"), limit=5)

    assert near.said["vector_plan"]["way"] == "documents"
    assert words.said["lexical_plan"]["way"] in {"terms", "documents"}
    assert near.said["vector_plan"]["ms"] > 0


def test_several_queries_at_once_find_what_each_finds_alone(owner_with_words):
    words = owner_with_words
    queries = [query_of(text) for text in ("random access", "nothing like it", "terminal", "", "终端 随机接入")]

    together = words.search_many(queries, limit=10)

    assert together == [words.search(query, limit=10) for query in queries]
    assert [len(hits) for hits in together] == [1, 0, 2, 0, 1]


@pytest.fixture
def owner_with_words():
    owner = make_admin()
    common = make_set("common", owners=[owner])
    texts = {"a": "Random access of a terminal.", "b": "A terminal and its carriers.", "c": "随机接入是终端的过程。"}
    ingest(owner, common, **texts)
    scope = scope_of(owner)
    return ScopedLexicalIndex(scope, visible_sql(documents_askable(scope=scope)))
