"""EXPLAIN: every search can use its index."""

import json
import re

import numpy as np
import pytest
from django.db import connection

from knowledge.indexes import lexical, passages, statistics, vectors
from knowledge.indexes.visibility import visible_sql
from knowledge.models import IndexEntry
from knowledge.selectors import documents_askable
from tests.factories import ingest, make_admin, make_set, scope_of

pytestmark = pytest.mark.django_db

VECTOR = vectors.vector_text(np.full(384, 0.05, dtype=np.float32))
FINE_VECTOR = vectors.vector_text(np.full(768, 0.03, dtype=np.float32))


MANY = """
WITH documents AS (
    INSERT INTO knowledge_document (tenant_id, source_id, external_id, sha256, title, state, clearance, tags, metadata,
        handled, series, is_whole, error_code, error_message, created, updated)
    SELECT tenant_id, source_id, 'filler' || n, md5(n::text), 'filler', 'live', 0, '{}', '{}',
        '{}', '', false, '', '', now(), now()
    FROM knowledge_document, generate_series(1, 3000) n WHERE external_id = 'a' RETURNING id
), versions AS (
    INSERT INTO knowledge_documentversion (document_id, number, sha256, file, file_name, size_bytes, title, markdown,
        pipeline, parsed, rendition, report, text_sha256, sent_as, created)
    SELECT id, 1, '', '', '', 0, '', '', '', '', '', '{}', '', '', now() FROM documents RETURNING id, document_id
), chunks AS (
    INSERT INTO knowledge_chunk (version_id, ordinal, kind, text, heading_path, is_continuation, boxes, tokens)
    SELECT id, 0, 'body', 'filler', '{}', false, '[]', 1 FROM versions RETURNING id, version_id
), entries AS (
    INSERT INTO knowledge_indexentry (chunk_id, version_id, tenant_id, representation, language, length, coarse, fine,
        lexemes, bm25, embedding_model, merged)
    SELECT c.id, c.version_id, e.tenant_id, 'body', 'en', 9, e.coarse, e.fine,
        (SELECT array_to_tsvector(array_agg((1000 + (c.id * 7919 + n * 104729) %% 5000)::text))
         FROM generate_series(1, 9) n),
        e.bm25, e.embedding_model, false
    FROM chunks c, (SELECT * FROM knowledge_indexentry LIMIT 1) e RETURNING version_id
)
INSERT INTO knowledge_document_sets (document_id, knowledgeset_id)
SELECT v.document_id, %(set)s FROM versions v
"""
TERMS = """
INSERT INTO knowledge_term (tenant_id, language, text, frequency)
SELECT tenant_id, 'en', 'filler' || n, 1 FROM knowledge_knowledgeset, generate_series(1, 5000) n
"""
SWITCH = """
UPDATE knowledge_document d SET live_version_id = v.id
FROM knowledge_documentversion v WHERE v.document_id = d.id AND d.live_version_id IS NULL
"""
ANALYSE = """
ANALYZE knowledge_document, knowledge_documentversion, knowledge_chunk, knowledge_indexentry,
    knowledge_document_sets, knowledge_term
"""


@pytest.fixture
def visible():
    """Two real documents among three thousand, so that the planner has something to plan."""
    owner = make_admin()
    common = make_set("common", owners=[owner])
    ingest(owner, common, a="alpha beta gamma", b="beta delta")
    with connection.cursor() as cursor:
        cursor.execute(MANY, {"set": common.pk})
        cursor.execute(SWITCH)
        cursor.execute(TERMS)
        cursor.execute(ANALYSE)
    return visible_sql(documents_askable(scope=scope_of(owner)))


def indexes_used(sql, params):
    """Names of the indexes in the plan."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        plan = cursor.fetchone()[0]
    return set(re.findall(r'"Index Name": "(\w+)"', plan if isinstance(plan, str) else json.dumps(plan)))


def test_bm25_candidates_come_from_gin(visible):
    params = {**visible.params, "query": "{1:0.5}/1000000000", "terms": "1 | 2", "limit": 10}

    assert "knowledge_entry_lexemes" in indexes_used(lexical.SEARCH.format(visible=visible.sql), params)


def test_the_approximate_search_uses_hnsw_for_the_merged_part(visible):
    first = IndexEntry.objects.order_by("pk").first()
    IndexEntry.objects.filter(pk__lte=first.pk + 50).update(merged=True)
    params = {**visible.params, "tenant": first.tenant_id, "model": "m", "vector": VECTOR, "limit": 10}

    assert "knowledge_entry_coarse" in indexes_used(vectors.APPROXIMATE.format(visible=visible.sql), params)


def test_fine_vectors_are_read_by_chunk(visible):
    params = {**visible.params, "model": "m", "vector": FINE_VECTOR, "chunks": [1, 2], "limit": 10}

    used = indexes_used(vectors.FINE.format(visible=visible.sql), params)

    assert any(name.startswith("knowledge_indexentry_chunk_id") for name in used)


def test_passages_are_read_by_id(visible):
    used = indexes_used(passages.LOAD.format(visible=visible.sql), {**visible.params, "chunks": [1, 2]})

    assert "knowledge_chunk_pkey" in used


@pytest.mark.usefixtures("visible")
def test_terms_are_looked_up_by_tenant_and_text():
    tenant = IndexEntry.objects.values_list("tenant", flat=True).first()

    used = indexes_used(lexical.TERMS, {"tenant": tenant, "texts": ["alpha", "beta"]})

    assert "knowledge_term_once" in used


def test_the_approximate_search_finds_what_the_exact_one_finds(visible, monkeypatch):
    first = IndexEntry.objects.order_by("pk").first()
    scope = scope_of(first.version.document.created_by)
    vector = np.full(768, 0.03, dtype=np.float32)
    search = {"scope": scope, "visible": visible, "vector": vector, "model": first.embedding_model, "limit": 10}
    exact = vectors.coarse_search(**search)
    IndexEntry.objects.filter(pk=first.pk).update(merged=True)  # one part in HNSW, the other in the tail

    monkeypatch.setattr(vectors, "EXACT_LIMIT", 0)
    approximate = vectors.coarse_search(**search)

    assert [hit.chunk for hit in approximate] == [hit.chunk for hit in exact]


def test_the_recount_of_statistics_reads_entries_by_version():
    sql = statistics.COUNT_TERMS.format(which=statistics.OF_VERSIONS)

    used = indexes_used(sql, {"ids": [1], "sign": 1})

    assert any(name.startswith("knowledge_indexentry_version_id") for name in used)
