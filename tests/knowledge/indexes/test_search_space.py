"""Passages are what people are told of; entries, each with its vectors, are what searches go through."""

from __future__ import annotations

from itertools import count

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from knowledge.indexes import corpus_epoch
from knowledge.indexes.corpus_epoch import EpochCache, epoch_now, epoch_of
from knowledge.indexes.index_maintenance import large_tenants
from knowledge.indexes.search_space import CorpusSize, visible_size
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Chunk, Document, IndexEntry, KnowledgeSet
from knowledge.selectors import documents_askable
from knowledge.services import document_delete
from knowledge.services.edits import chunk_disable, chunk_questions_set, chunk_replace, edit_undo
from knowledge.services.maintenance import index_check, index_repair
from knowledge.services.retrieval import retrieve
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, scope_of

numbers = count()
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

    assert large_tenants(passages) == large_tenants(entries - 1) == [owner.tenant_id]
    assert large_tenants(entries) == []


# ── counts that documents carry ─────────────────────────────────────────────────────────────────


def counted(owner):
    scope = scope_of(owner)
    return visible_size(
        scope=scope, visible=visible_sql(documents_askable(scope=scope)), epoch=epoch_now(tenant_id=scope.tenant_id)
    )


def recounted():
    live = IndexEntry.objects.filter(version__live_for__isnull=False, version__live_for__deleted=None)
    passages = live.values("chunk").distinct().count()
    return CorpusSize(passages, live.count(), live.values("version").distinct().count())


def test_numbers_follow_every_way_in_which_passages_come_and_go(owner, rich):
    scope = scope_of(owner)
    assert counted(owner) == recounted()

    documents = ingest(owner, rich, a="A new version. " + TEXT, c="Something else altogether.")
    assert counted(owner) == recounted()
    first = Chunk.objects.filter(version__live_for=documents["a"], retired=None).first()
    edited = chunk_replace(scope=scope, actor=owner, chunk_id=first.pk, text="Only this is left.")
    assert counted(owner) == recounted()
    chunk_questions_set(scope=scope, actor=owner, chunk_id=edited.pk, questions=["What is left?"])
    assert counted(owner) == recounted()
    other = Chunk.objects.filter(version__live_for=documents["c"], retired=None).first()
    edit = chunk_disable(scope=scope, actor=owner, chunk_id=other.pk)
    assert counted(owner) == recounted()
    edit_undo(scope=scope, actor=owner, edit_id=edit.pk)
    assert counted(owner) == recounted()
    document_delete(scope=scope, actor=owner, document_id=documents["a"].pk)

    assert counted(owner) == recounted()
    assert index_check() == []


@pytest.mark.usefixtures("rich")
def test_a_wrong_number_is_found_and_counted_again():
    Document.objects.filter(external_id="a").update(passages=99)

    [drift] = index_check()

    assert (drift.kind, drift.stored) == ("passages", 99)
    assert index_repair([drift]) == []


def test_a_cheap_count_is_made_again_after_every_change():
    memory = EpochCache()

    values = [memory.get(("key",), epoch=epoch, make=lambda: next(numbers), stale=60) for epoch in (1, 1, 2)]

    assert values[0] == values[1] != values[2]


def test_a_dear_count_may_be_a_minute_old_and_no_older(monkeypatch):
    memory, clock = EpochCache(), iter([0.0, 5.0, 5.0, 30.0, 70.0, 70.1, 70.1])  # now, after it, when it was put, …
    monkeypatch.setattr(corpus_epoch, "CHEAP_SECONDS", 0.02)
    monkeypatch.setattr(corpus_epoch.time, "monotonic", lambda: next(clock))

    values = [memory.get(("key",), epoch=epoch, make=lambda: next(numbers), stale=60) for epoch in (1, 2, 3)]

    assert values[0] == values[1] != values[2]


def test_a_process_remembers_only_so_many():
    memory = EpochCache(limit=2)
    for key in "abc":
        memory.put((key,), key, epoch=1)

    assert [memory.peek((key,), epoch=1) for key in "abc"] == [None, "b", "c"]
    assert memory.peek(("c",), epoch=2) is None


def test_the_epoch_of_a_search_is_the_one_with_which_it_began(owner, rich):
    scope = scope_of(owner)
    documents = documents_askable(scope=scope)
    now = epoch_now(tenant_id=scope.tenant_id)

    assert epoch_of(scope=scope, visible=visible_sql(documents)) == now
    assert epoch_of(scope=scope, visible=visible_sql(documents, epoch=now - 1)) == now - 1


def test_a_search_reads_the_epoch_once(owner, rich):
    with CaptureQueriesContext(connection) as statements:  # in a test's transaction all searches share its connection
        retrieve(scope=scope_of(owner), request=RetrievalRequest(query="beam"))

    assert sum("knowledge_corpusepoch" in statement["sql"] for statement in statements) == 1
