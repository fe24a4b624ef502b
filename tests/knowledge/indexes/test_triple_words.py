"""Words of many facts: counted in samples, searched together, by index."""

import json
import re

import pytest
from django.db import connection

from knowledge.indexes import triple_words
from knowledge.indexes.triple_words import CANDIDATES, FREQUENCIES, words_queries
from knowledge.services.triple_search import triple_index
from tests.factories import make_admin, make_set, make_user, scope_of

FACTS = """
INSERT INTO knowledge_triple (tenant_id, knowledge_set_id, subject, relation, object, subject_type, object_type,
    subject_key, object_key, digest, lexemes, length, confidence, sentence)
SELECT %(tenant)s, %(set)s, %(name)s || n, 'is', %(name)s, '', '', %(name)s || n, %(name)s,
    ('x' || substr(md5(%(name)s || n), 1, 16))::bit(64)::bigint, array_to_tsvector(%(words)s), 2, 1, ''
FROM generate_series(1, %(count)s) n
"""


def store(into, name, words, count):
    given = {"tenant": into.tenant_id, "set": into.pk, "name": name, "words": words, "count": count}
    with connection.cursor() as cursor:
        cursor.execute(FACTS, given)


@pytest.fixture
def owner(db):
    return make_admin()


@pytest.fixture
def index(owner):
    """Facts with a word that thousands have, one that hundreds have, and one that three have; others of strangers."""
    into = make_set(owners=[owner], visibility="members")
    hidden = make_set(owners=[make_user(tenant=owner.tenant)], visibility="members")
    store(into, "a", ["often"], 4000)
    store(into, "b", ["some"], 300)
    store(into, "c", ["seldom"], 3)
    store(hidden, "d", ["often", "seldom", "secret"], 3000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE knowledge_triple")
    return triple_index(scope=scope_of(owner), sets=[into.pk])


def test_rare_words_are_counted_and_frequent_ones_estimated_among_visible_facts(index):
    counts = index._counts(["often", "some", "seldom", "secret", "nowhere"])

    assert counts["seldom"] == 3
    assert 4000 / 1.7 < counts["often"] < 4000 * 1.7
    assert 300 / 1.7 < counts["some"] < 300 * 1.7
    assert set(counts) == {"often", "some", "seldom"}
    rarity = index.rarity(["often", "some", "seldom"])
    assert rarity["seldom"] > rarity["some"] > rarity["often"] > 0


def test_a_frequent_word_is_counted_by_the_index_of_a_sample(index):
    given = {"tenant": index.scope.tenant_id, "sets": list(index.sets), **index.visible.params, "terms": ["'often'"]}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # so small a table may also be read as a whole
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {index.visible.applied(FREQUENCIES)}", given)
        plan = json.dumps(cursor.fetchone()[0])

    used = set(re.findall(r'"Index Name": "(\w+)"', plan))
    # rows that other tests have rolled back make the small samples look as dear as all facts
    assert used & {"knowledge_triple_words_512", "knowledge_triple_words_64", "knowledge_triple_words_8"}
    assert "knowledge_triple_lexemes" in used
    assert "knowledge_triple_once" not in used  # it would bring all facts of a sample for each word
    assert index._counts(["often"])["often"] % 64 == 0  # the whole index was not asked


def test_facts_with_all_of_several_frequent_words_are_found_among_facts_with_one(index, owner, monkeypatch):
    [set_id] = index.sets
    with connection.cursor() as cursor:
        cursor.execute("UPDATE knowledge_triple SET lexemes = lexemes || '''rest'''::tsvector WHERE lexemes @@ 'some'")
        cursor.execute("SELECT id FROM knowledge_triple WHERE lexemes @@ 'often' AND knowledge_set_id = %s", [set_id])
        one = cursor.fetchall()[3000][0]
        cursor.execute("UPDATE knowledge_triple SET lexemes = lexemes || '''rest'''::tsvector WHERE id = %s", [one])
    monkeypatch.setattr(triple_words, "CANDIDATES", 50)
    again = triple_index(scope=scope_of(owner), sets=[set_id])

    best = again.by_words("often rest", limit=5)

    assert len(best) == 5
    assert best[0].id == one


def test_rare_words_are_searched_alone_and_frequent_ones_together_first():
    many = CANDIDATES + 1

    assert words_queries({"a": 3, "b": 5}) == ["'a' | 'b'"]
    assert words_queries({"a": 3, "b": many}) == ["'a'", "'b'"]
    assert words_queries({"a": many, "b": many}) == ["'a' & 'b'", "'a'"]
    assert words_queries({"a": many, "b": many, "c": 2 * many}) == [
        "'a' & 'b' & 'c'",
        "'a' & 'b' | 'a' & 'c' | 'b' & 'c'",
        "'a'",
    ]
    assert words_queries({}) == []
