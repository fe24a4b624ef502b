"""EXPLAIN: filters and what can be filtered by use their indexes."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection

from knowledge.indexes import document_attributes
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Document
from knowledge.selectors import documents_askable
from knowledge.services.registration import source_ensure
from knowledge.types import Filters
from tests.factories import make_set, make_user, scope_of

pytestmark = pytest.mark.django_db

MANY = 3000


@pytest.fixture
def owner():
    """Owns a set of many documents, each with an attribute of its own, and a small one of two."""
    owner = make_user()
    large, small = make_set(owners=[owner]), make_set(owners=[owner])
    source = source_ensure(tenant_id=large.tenant_id, name="uploads")
    rows = [
        Document(
            tenant=large.tenant,
            source=source,
            external_id=f"d{n}",
            title="filler",
            state="live",
            tags=[f"t{n}"],
            metadata={"number": f"n{n}", "year": 2000 + n % 30},
        )
        for n in range(MANY)
    ]
    through = Document.sets.through
    made = Document.objects.bulk_create(rows)
    links = [through(document_id=row.pk, knowledgeset_id=large.pk) for row in made]
    through.objects.bulk_create([*links, *(through(document=row, knowledgeset=small) for row in made[:2])])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE knowledge_document, knowledge_document_sets")
    return owner, small


def indexes_used(sql, params):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        plan = cursor.fetchone()[0]
    return set(re.findall(r'"Index Name": "(\w+)"', plan if isinstance(plan, str) else json.dumps(plan)))


FILTERS = {
    "knowledge_document_attributes": (
        Filters(metadata={"number": "n7"}),
        Filters(metadata={"number": ["n7", "n8"]}),
        Filters(metadata={"number": "n7", "year": {"gte": 2020}}),
    ),
    "knowledge_document_tags": (Filters(tags=("t7", "t8")),),
}


def test_a_filter_is_answered_by_an_index(owner):
    for index, several in FILTERS.items():
        for filters in several:
            visible = visible_sql(documents_askable(scope=scope_of(owner[0]), filters=filters))
            assert index in indexes_used(visible.sql, visible.params), filters


def test_what_can_be_filtered_by_is_counted_from_what_may_be_seen(owner):
    asker, small = owner
    visible = visible_sql(documents_askable(scope=scope_of(asker), sets=[small.pk]))
    more = {"words": "", "limit": 50, "longest": 1024, "newest": 50_000, "sets": [small.pk]}

    several = [
        document_attributes.of_documents(sql, visible)
        for sql in (document_attributes.COUNTED, document_attributes.TAGS, document_attributes.ATTRIBUTES)
    ]
    for sql in (document_attributes.SETS.format(visible=visible.sql), *several):
        used = indexes_used(sql, {**visible.params, **more})
        assert any(name.startswith("knowledge_document_sets_knowledgeset_id") for name in used), sql
