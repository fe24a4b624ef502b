"""EXPLAIN: every search can use its index."""

import json
import re

import numpy as np
import pytest
from django.db import DataError, connection, transaction

from knowledge.indexes import (
    entry_scores,
    index_maintenance,
    lexical,
    lexical_statistics,
    names,
    search_space,
    vectors,
    visible_passages,
)
from knowledge.indexes.statements import fetch, fetch_by_index
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Document, DocumentNames, IndexEntry
from knowledge.selectors import documents_askable
from tests.factories import ingest, make_admin, make_set, scope_of

VECTOR = vectors.vector_text(np.full(384, 0.05, dtype=np.float32))
FINE_VECTOR = vectors.vector_text(np.full(768, 0.03, dtype=np.float32))


MANY = """
WITH documents AS (
    INSERT INTO knowledge_document (tenant_id, source_id, external_id, sha256, title, state, clearance, tags, metadata,
        handled, series, is_whole, error_code, error_message, error_data, created, updated, weight, ratings)
    SELECT tenant_id, source_id, 'filler' || n, md5(n::text), 'filler', 'live', 0, '{}', '{}',
        '{}', '', false, '', '', '{}', now(), now(), 1, 0
    FROM knowledge_document, generate_series(1, 3000) n WHERE external_id = 'a' RETURNING id
), versions AS (
    INSERT INTO knowledge_documentversion (document_id, number, sha256, file, file_name, size_bytes, title, markdown,
        pipeline, parsed, rendition, report, text_sha256, sent_as, created)
    SELECT id, 1, '', '', '', 0, '', '', '', '', '', '{}', '', '', now() FROM documents RETURNING id, document_id
), chunks AS (
    INSERT INTO knowledge_chunk (version_id, ordinal, kind, text, heading_path, is_continuation, boxes, tokens)
    SELECT id, 0, 'body', 'filler', '{}', false, '[]', 1 FROM versions RETURNING id, version_id
), entries AS (
    INSERT INTO knowledge_indexentry (chunk_id, version_id, tenant_id, representation, language, length, coarse,
        lexemes, bm25, embedding_model, merged, rotation)
    SELECT c.id, c.version_id, e.tenant_id, 'body', 'en', 9, e.coarse,
        (SELECT array_to_tsvector(array_agg((1000 + (c.id * 7919 + n * 104729) %% 5000)::text))
         FROM generate_series(1, 9) n),
        e.bm25, e.embedding_model, false, e.rotation
    FROM chunks c, (SELECT * FROM knowledge_indexentry LIMIT 1) e RETURNING id, chunk_id, version_id
), vectors AS (
    INSERT INTO knowledge_wholevector
        (entry_id, chunk_id, version_id, tenant_id, representation, embedding_model, vector)
    SELECT m.id, m.chunk_id, m.version_id, v.tenant_id, v.representation, v.embedding_model, v.vector
    FROM entries m, (SELECT * FROM knowledge_wholevector LIMIT 1) v
)
INSERT INTO knowledge_document_sets (document_id, knowledgeset_id)
SELECT v.document_id, %(set)s FROM versions v
"""
TERMS = """
INSERT INTO knowledge_term (tenant_id, language, text, frequency)
SELECT tenant_id, 'en', 'filler' || n, 1 FROM knowledge_knowledgeset, generate_series(1, 5000) n
"""
SWITCH = """
UPDATE knowledge_document d SET live_version_id = v.id, passages = 1, entries = 1
FROM knowledge_documentversion v WHERE v.document_id = d.id AND d.live_version_id IS NULL
"""
ANALYSE = """
ANALYZE knowledge_document, knowledge_documentversion, knowledge_chunk, knowledge_indexentry,
    knowledge_wholevector, knowledge_document_sets, knowledge_term
"""


def many_make():
    """Two real documents among three thousand, so that the planner has something to plan; what their owner sees."""
    owner = make_admin()
    common = make_set("common", owners=[owner])
    ingest(owner, common, a="alpha beta gamma", b="beta delta")
    with connection.cursor() as cursor:
        cursor.execute(MANY, {"set": common.pk})
        cursor.execute(SWITCH)
        cursor.execute(TERMS)
        cursor.execute(ANALYSE)
    return visible_sql(documents_askable(scope=scope_of(owner)))


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=many_make), pytest.mark.usefixtures("visible")]


@pytest.fixture
def visible(kept_rows):
    """For tests that start from `many_make`."""
    return kept_rows


def indexes_used(sql, params):
    """Names of the indexes in the plan."""
    return set(re.findall(r'"Index Name": "(\w+)"', explained(sql, params)))


def explained(sql, params):
    """The plan as JSON text."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        plan = cursor.fetchone()[0]
    return plan if isinstance(plan, str) else json.dumps(plan)


def test_bm25_candidates_come_from_gin(visible):
    params = {**visible.params, "query": "{1:0.5}/1000000000", "terms": "1 | 2", "fetched": 20, "limit": 10}

    assert "knowledge_entry_lexemes" in indexes_used(lexical.SEARCH.format(visible=visible.sql), params)


def test_the_approximate_search_uses_hnsw_for_the_merged_part(visible):
    first = IndexEntry.objects.order_by("pk").first()
    IndexEntry.objects.filter(pk__lte=first.pk + 50).update(merged=True)
    named = {"tenant": first.tenant_id, "model": "m", "vector": VECTOR, "fetched": 20, "limit": 10}

    with vectors.hnsw_scan_settings(20):
        used = indexes_used(vectors.INDEX.format(visible=visible.sql), {**visible.params, **named})

    assert {"knowledge_entry_coarse", "knowledge_document_live_version_id_key"} <= used


def test_fine_vectors_are_read_by_chunk(visible):
    params = {**visible.params, "model": "m", "vector": FINE_VECTOR, "chunks": [1, 2], "limit": 10}

    used = indexes_used(vectors.FINE.format(visible=visible.sql), params)

    assert "knowledge_whole_chunk" in used


def test_passages_are_read_by_id(visible):
    used = indexes_used(visible_passages.LOAD.format(visible=visible.sql), {**visible.params, "chunks": [1, 2]})

    assert "knowledge_chunk_pkey" in used


@pytest.mark.parametrize(("sql", "terms"), [(names.BY_KEYS, ["/alpha"]), (names.BY_WORDS, ["alpha", "beta"])])
def test_names_are_looked_up_by_their_terms(visible, sql, terms):
    tenant = IndexEntry.objects.values_list("tenant", flat=True).first()
    rows = Document.objects.exclude(external_id__in=("a", "b")).values_list("pk", flat=True)
    DocumentNames.objects.bulk_create(
        DocumentNames(document_id=pk, tenant_id=tenant, terms=[f"w{pk}", f"/k{pk}"]) for pk in rows
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE knowledge_documentnames")
    limits = {"read": 5000, "limit": 60, "listed": 20, "passages": 120}
    params = {**visible.params, **limits, "tenant": tenant, "terms": terms}

    assert "knowledge_names_terms" in indexes_used(visible.applied(sql), params)


def test_neighbours_are_read_by_version_and_place(visible):
    params = {**visible.params, "chunks": [1, 2], "around": 1}

    used = indexes_used(visible_passages.NEIGHBOURS.format(visible=visible.sql), params)

    assert "knowledge_chunk_pkey" in used  # the hits
    assert used & {"knowledge_chunk_ordinal_once"} or any(n.startswith("knowledge_chunk_version_id") for n in used)


def test_the_passages_of_a_section_are_read_by_their_parent(visible):
    params = {**visible.params, "chunks": [1, 2], "tokens": 1600, "least": 1, "share": 0.0}

    used = indexes_used(visible_passages.SECTIONS.format(visible=visible.sql), params)

    assert any(name.startswith("knowledge_chunk_parent_id") for name in used)


def test_the_passages_of_a_document_are_read_by_version_and_place(visible):
    params = {**visible.params, "chunks": [1, 2], "most": 60}

    used = indexes_used(visible_passages.OF_VERSIONS.format(visible=visible.sql), params)

    assert "knowledge_chunk_pkey" in used  # the hits
    assert used & {"knowledge_chunk_ordinal_once"} or any(n.startswith("knowledge_chunk_version_id") for n in used)


def test_terms_are_looked_up_by_tenant_and_text():
    tenant = IndexEntry.objects.values_list("tenant", flat=True).first()

    used = indexes_used(lexical.TERMS, {"tenant": tenant, "texts": ["alpha", "beta"]})

    assert "knowledge_term_once" in used


def test_the_recount_of_statistics_reads_entries_by_version():
    sql = lexical_statistics.COUNT_TERMS.format(which=lexical_statistics.OF_VERSIONS)

    used = indexes_used(sql, {"ids": [1], "sign": 1})

    assert any(name.startswith("knowledge_indexentry_version_id") for name in used)


def test_evidence_for_named_passages_is_read_by_chunk(visible):
    params = {
        **visible.params,
        "model": "m",
        "whole_model": "m",
        "rotations": [0],
        "vector": VECTOR,
        "fine": FINE_VECTOR,
        "terms": ["{1:1}/1000000000"],
        "chunks": [1, 2],
    }

    used = indexes_used(entry_scores.EVIDENCE.format(visible=visible.sql), params)

    assert "knowledge_wholevector_pkey" in used
    assert any(name.startswith("knowledge_indexentry_chunk_id") for name in used)


# ── what searches in large corpora and their upkeep say to Postgres ─────────────────────────────


@pytest.fixture
def narrow(visible):
    """Rights on two documents of three thousand."""
    owner = Document.objects.get(external_id="a").created_by
    chosen = make_set("narrow", owners=[owner])
    chosen.documents.set(Document.objects.filter(external_id__in=("a", "b")))
    return visible_sql(documents_askable(scope=scope_of(owner), sets=(chosen.pk,)))


def of_versions(used):
    return any(name.startswith("knowledge_indexentry_version_id") for name in used)


def test_few_visible_documents_lead_to_their_entries(narrow):
    tenant = IndexEntry.objects.values_list("tenant", flat=True).first()
    near = {**narrow.params, "tenant": tenant, "model": "m", "vector": FINE_VECTOR, "limit": 10}
    words = {**narrow.params, "tenant": tenant, "query": "{1:0.5}/1000000000", "limit": 10}
    term = {**narrow.params, "ids": [1], "vectors": ["{1:1}/1000000000"]}

    assert "knowledge_whole_version" in indexes_used(vectors.DOCUMENTS.format(visible=narrow.sql), near)
    assert of_versions(indexes_used(lexical.DOCUMENTS.format(visible=narrow.sql), words))
    assert of_versions(indexes_used(lexical.FREQUENCIES.format(visible=narrow.sql), term))
    assert of_versions(indexes_used(lexical.TOTALS.format(visible=narrow.sql), narrow.params))


def test_a_scan_looks_up_only_the_documents_of_what_it_found(visible):
    named = {"tenant": 1, "model": "m", "vector": FINE_VECTOR, "fetched": 20, "limit": 10}

    used = indexes_used(vectors.SCAN.format(visible=visible.sql), {**visible.params, **named})

    assert "knowledge_document_live_version_id_key" in used


def test_rights_are_checked_one_hit_after_another_and_not_for_all_documents(visible):
    named = {"query": "{1:0.5}/1000000000", "terms": "1 | 2", "fetched": 20, "limit": 10}

    plan = explained(lexical.SEARCH.format(visible=visible.sql), {**visible.params, **named})

    assert '"Node Type": "Seq Scan"' not in plan


def test_counting_reads_documents_and_no_entries(visible):
    for sql in (
        search_space.VISIBLE.format(visible=visible.sql),
        search_space.OF_TENANT,
        index_maintenance.LARGE_TENANTS,
    ):
        plan = explained(sql, {**visible.params, "tenant": 1, "limit": 10})

        assert "knowledge_indexentry" not in plan


def test_the_tail_is_counted_and_moved_by_its_own_index(visible):
    IndexEntry.objects.update(merged=True)
    IndexEntry.objects.filter(pk=IndexEntry.objects.first().pk).update(merged=False)
    with connection.cursor() as cursor:
        cursor.execute(ANALYSE)
    tenant = IndexEntry.objects.values_list("tenant", flat=True).first()

    for sql in (search_space.TAIL, index_maintenance.MERGE):
        assert "knowledge_entry_tail" in indexes_used(sql, {"tenant": tenant, "limit": 10})


def test_entries_are_reweighed_by_their_ids():
    last = IndexEntry.objects.order_by("-pk").first()
    next_ones = {"tenant": last.tenant_id, "language": "en", "after": last.pk - 20, "until": last.pk, "limit": 10}

    assert "knowledge_indexentry_pkey" in indexes_used(lexical_statistics.NEXT, next_ones)
    weights = {"ids": [last.pk], "weights": ["{1:1}/1000000000"]}
    assert "knowledge_indexentry_pkey" in indexes_used(lexical_statistics.REWEIGH, weights)


def test_documents_get_their_numbers_from_the_entries_of_their_versions_and_passages():
    entry = IndexEntry.objects.first()

    assert of_versions(indexes_used(lexical_statistics.PASSAGES_OF_VERSIONS, {"ids": [entry.version_id]}))
    used = indexes_used(lexical_statistics.PASSAGES_OF_CHUNKS, {"ids": [entry.chunk_id], "sign": 1})
    assert any(name.startswith("knowledge_indexentry_chunk_id") for name in used)


def test_a_search_by_index_reads_no_table_from_end_to_end_and_others_may_again():
    allowed = "SELECT current_setting('enable_seqscan'), %(number)s::int"

    assert fetch_by_index(allowed, [{"number": 1}, {"number": 2}]) == [[("off", 1)], [("off", 2)]]
    assert fetch(allowed, {"number": 3}) == [("on", 3)]


def test_a_search_by_index_that_fails_leaves_the_planner_as_it_was():
    with pytest.raises(DataError), transaction.atomic():
        fetch_by_index("SELECT 1 / %(number)s::int", [{"number": 0}])

    assert fetch("SELECT current_setting('enable_seqscan')", {}) == [("on",)]
