"""EXPLAIN: chains of editions, circles and waiting statements are found by their indexes."""

from __future__ import annotations

import json

import pytest
from django.db import connection

from knowledge.indexes.relations import LEADS_BACK, MOST_STEPS, NEWER
from knowledge.models import Document, DocumentRelation
from knowledge.selectors.visibility import visible_to
from knowledge.services.registration import source_ensure
from tests.factories import scope_of

MANY = 4000
pytestmark = pytest.mark.django_db


@pytest.fixture
def many(owner):
    source = source_ensure(tenant_id=owner.tenant_id, name="uploads")
    rows = [Document(tenant=owner.tenant, source=source, sha256=f"r{n}", title=f"edition {n}") for n in range(MANY)]
    documents = Document.objects.bulk_create(rows)
    pairs = zip(documents[1:], documents, strict=False)
    DocumentRelation.objects.bulk_create(
        [
            DocumentRelation(
                tenant=owner.tenant,
                kind="replaces",
                source=new,
                target=old,
                origin="rule",
                target_key=f"name:/{old.pk}",
            )
            for new, old in pairs
        ]
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE knowledge_document, knowledge_documentrelation")
    return documents


def plan_of(sql, params):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        return json.dumps(cursor.fetchone()[0])


def scanned(plan):
    """Tables that are read from end to end."""
    tables = []

    def walk(node):
        if node.get("Node Type") == "Seq Scan":
            tables.append(node["Relation Name"])
        for inner in node.get("Plans", ()):
            walk(inner)

    for one in json.loads(plan):
        walk(one["Plan"])
    return tables


def test_the_newest_edition_is_found_by_the_target(owner, many):
    visible = visible_to(scope=scope_of(owner))
    params = {**visible.params, "documents": f"{{{many[7].pk}}}", "most": MOST_STEPS}

    assert scanned(plan_of(visible.applied(NEWER), params)) == []


def test_a_circle_is_looked_for_by_the_source(many):
    plan = plan_of(LEADS_BACK, {"kind": "replaces", "source": many[9].pk, "target": many[3].pk})

    assert scanned(plan) == []


def test_statements_that_wait_are_found_by_their_keys(owner, many):
    rows = DocumentRelation.objects.filter(tenant=owner.tenant, target_key__in=["name:/1", "name:/2"])
    sql, params = rows.exclude(target_key="").values("pk").query.sql_with_params()

    plan = plan_of(sql, params)

    assert scanned(plan) == []
    assert "knowledge_relation_key" in plan
