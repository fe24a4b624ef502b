"""Passages are what people are told of; entries, each with its vectors, are what searches go through."""

from __future__ import annotations

import pytest

from knowledge.indexes.counting import has_more_entries
from knowledge.indexes.tail import tenants_beyond
from knowledge.models import Chunk, IndexEntry, KnowledgeSet
from knowledge.services.retrieval import retrieve
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, scope_of

pytestmark = pytest.mark.django_db

EVERYTHING = {"representations": {"summaries": True, "questions": True}}
TEXT = "The beam manager selects the strongest beam of the cell. " * 30


@pytest.fixture
def owner():
    return make_admin()


@pytest.fixture
def rich(owner):
    """A set of which every passage has several entries."""
    rich = make_set(owners=[owner])
    KnowledgeSet.objects.filter(pk=rich.pk).update(options=EVERYTHING)
    ingest(owner, rich, a=TEXT, b="Gamma rays. " + TEXT)
    assert IndexEntry.objects.count() > Chunk.objects.count()
    return rich


@pytest.mark.usefixtures("rich")
def test_a_passage_is_counted_once_whatever_stands_for_it(owner):
    found = retrieve(scope=scope_of(owner), request=RetrievalRequest(query="strongest beam"))

    assert found.searched == Chunk.objects.count()


@pytest.mark.usefixtures("rich")
def test_a_tenant_is_large_by_its_vectors(owner):
    passages, entries = Chunk.objects.count(), IndexEntry.objects.count()

    assert tenants_beyond(passages) == tenants_beyond(entries - 1) == [owner.tenant_id]
    assert tenants_beyond(entries) == []
    assert has_more_entries(tenant_id=owner.tenant_id, limit=entries - 1)
    assert not has_more_entries(tenant_id=owner.tenant_id, limit=entries)
