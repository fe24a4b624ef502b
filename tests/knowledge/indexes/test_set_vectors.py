"""Vectors by models of sets: their searches use their indexes, and those of the site's model never read them."""

from __future__ import annotations

import pytest
from django.db import connection

from knowledge.indexes import set_vectors, set_vectors_fill, vectors
from knowledge.indexes.vectors import sql_of
from knowledge.indexes.visibility import visible_part
from knowledge.models import Document
from tests.factories import make_set
from tests.knowledge.indexes.test_plans import FINE_VECTOR, VECTOR, explained, indexes_used, many_make

COPY = """
INSERT INTO knowledge_setvector (entry_id, chunk_id, version_id, tenant_id, representation, embedding_model, vector)
SELECT entry_id, chunk_id, version_id, tenant_id, representation,
    CASE WHEN representation = 'body' AND version_id IN (SELECT live_version_id FROM knowledge_document
        WHERE external_id IN ('a', 'b')) THEN 'narrow' ELSE 'wide' END, vector
FROM knowledge_wholevector
"""


def part_make():
    """A set of two documents, whose model is another one than that of three thousand others."""
    visible = many_make()
    rows = Document.objects.filter(external_id__in=("a", "b"))
    narrow = make_set("narrow", tenant=rows[0].tenant)
    narrow.documents.set(rows)
    with connection.cursor() as cursor:
        cursor.execute(COPY)
        cursor.execute("ANALYZE knowledge_setvector, knowledge_document_sets")
    return visible_part(visible, [narrow.pk], inside=True), narrow


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=part_make)]


@pytest.fixture
def part(kept_rows):
    return kept_rows


def params(part, **more):
    visible, narrow = part
    named = {"tenant": narrow.tenant_id, "model": "narrow", "vector": FINE_VECTOR, "limit": 10, "fetched": 20}
    return {**visible.params, **named, **more}


def searched(sql, part):
    return part[0].applied(sql_of(sql, of_set=True))


def test_a_small_set_with_the_model_of_a_large_one_is_reached_from_its_documents(part):
    used = indexes_used(searched(vectors.DOCUMENTS, part), params(part, model="wide"))

    assert "knowledge_set_vector_version" in used


def test_a_scan_reads_the_vectors_of_its_model_only(part):
    assert "knowledge_set_vector_model" in indexes_used(searched(vectors.SCAN, part), params(part))


@pytest.mark.parametrize("sql", [vectors.FINE, set_vectors.PREFIXES], ids=["whole", "prefixes"])
def test_chosen_passages_are_read_by_chunk(part, sql):
    vector = FINE_VECTOR if sql is vectors.FINE else VECTOR
    used = indexes_used(searched(sql, part), params(part, chunks="{1,2}", vector=vector))

    assert "knowledge_set_vector_chunk" in used


def test_what_is_missing_is_looked_up_by_entry(part):
    given = {"set": part[1].pk, "model": "narrow", "after": 0, "limit": 10}

    assert "knowledge_setvector_pkey" in indexes_used(set_vectors_fill.MISSING, given)


def test_what_no_set_needs_is_read_by_pages_of_a_model(part):
    sql = set_vectors_fill.DROP.format(of_model=set_vectors_fill.OF_MODEL, needed=set_vectors_fill.NEEDED)
    given = {"tenant": part[1].tenant_id, "model": "narrow", "after": 0, "limit": 10, "states": ["live"]}

    assert "knowledge_set_vector_model" in indexes_used(sql, given)


@pytest.mark.parametrize("sql", vectors.PATHS.values(), ids=vectors.PATHS.keys())
def test_searches_of_the_sites_model_do_not_touch_them(part, sql):
    vector = VECTOR if sql is vectors.INDEX else FINE_VECTOR
    assert "setvector" not in explained(part[0].applied(sql), params(part, vector=vector))
