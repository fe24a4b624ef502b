"""Milvus that does not answer, refuses, or does not look deep enough: Postgres answers, and the trace says so."""

from __future__ import annotations

import socket
import time
from dataclasses import replace

import pytest

from accounts.scope import Scope
from knowledge.backends.errors import BackendRefusedError, BackendUnavailableError
from knowledge.backends.milvus import collection, search
from knowledge.backends.milvus.collection import number_of
from knowledge.backends.milvus.search import expression_of
from knowledge.indexes.visibility import Bounds
from knowledge.models import Document, KnowledgeSet, TenantBackend
from knowledge.services import retrieve
from knowledge.types import Filters, RetrievalRequest
from tests.factories import ingest, make_set, make_user, scope_of
from tests.knowledge.backends.conftest import Index, copy_all, watch
from tests.knowledge.owned_rows import owned

DEAD = "http://127.0.0.1:9"


def corpus_make(owner, common):
    return ingest(owner, common, **{f"d{n}": f"alpha number{n} beta" for n in range(5)})


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(corpus_make))]


@pytest.fixture
def corpus(kept_rows):
    return kept_rows[2]


@pytest.fixture
def copied(milvus, corpus):
    watch()
    copy_all()
    return corpus


def ask(user, query="alpha number3", **request):
    return retrieve(scope=scope_of(user), request=RetrievalRequest(query=query, rerank=False, **request))


def titles(done):
    return [c.passage.external_id for c in done.state.candidates]


def notes(done):
    return {r.stage: r.note.get("fallback") for r in done.state.records if "backend" in r.note}


def test_a_search_in_milvus_ranks_as_one_in_postgres(copied, owner, settings):
    there = ask(owner)
    settings.SEARCH_BACKEND = "postgres"
    here = ask(owner)

    assert titles(there) == titles(here)
    assert notes(there) == {"search.coarse": None, "search.fine": None}
    assert notes(here) == {}
    for name in ("lexical", "dense"):
        assert there.state.arms[name] == pytest.approx(here.state.arms[name], abs=2e-3)
    # Postgres compares all whole vectors of a small corpus at once, and half ones only for a reranker
    assert ("coarse" in there.state.arms, "coarse" in here.state.arms) == (True, False)


def test_a_dead_address_costs_a_moment_once_and_postgres_answers(copied, owner, settings):
    settings.MILVUS_URI = DEAD
    begin = time.monotonic()
    done = ask(owner)
    first = time.monotonic() - begin

    assert titles(done)[0] == "d3"
    reasons = dict.fromkeys(("lexical", "coarse"), "backend_unavailable")
    assert notes(done) == {"search.coarse": reasons, "search.fine": {**reasons, "dense": "backend_unavailable"}}
    assert first < 2 * collection.CONNECT_SECONDS + 1
    with pytest.raises(BackendUnavailableError):  # at once: nobody waits for it again
        collection.call("search", seconds=60, collection_name="tests")


def test_an_address_that_swallows_packets_costs_no_more_than_the_time_limit(milvus, settings, monkeypatch):
    monkeypatch.setattr(collection, "CONNECT_SECONDS", 0.3)
    with socket.socket() as silent:  # accepts connections and never says a word
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        settings.MILVUS_URI = f"http://127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(BackendUnavailableError):
            collection.call("has_collection", seconds=0.3, collection_name="tests")

    assert time.monotonic() - begin < 3


def test_it_is_asked_again_after_a_rest(copied, owner, settings):
    uri, settings.MILVUS_URI = settings.MILVUS_URI, DEAD
    assert notes(ask(owner))["search.coarse"]
    settings.MILVUS_URI = uri

    assert notes(ask(owner)) == {"search.coarse": None, "search.fine": None}


def test_a_collection_that_was_dropped_is_searched_in_postgres(copied, owner):
    TenantBackend.objects.update(collection="dropped_by_somebody")

    done = ask(owner)

    assert titles(done)[0] == "d3"
    assert notes(done)["search.coarse"] == {"lexical": "backend_refused", "coarse": "backend_refused"}


def test_what_lies_deeper_than_milvus_looks_is_found_in_postgres(copied, owner, monkeypatch):
    monkeypatch.setattr(search, "WINDOW", 2)
    Document.objects.filter(external_id__in=["d0", "d1", "d2", "d3"]).update(clearance=4)
    reader = make_user(clearance=0)

    done = ask(reader, query="alpha beta")

    assert titles(done) == ["d4"]
    assert notes(done)["search.coarse"]["coarse"] == "backend_too_deep"


def test_nothing_of_what_is_not_visible_reaches_the_trace(copied, owner):
    Document.objects.exclude(external_id="d3").update(clearance=4)  # Milvus has not heard of it
    reader = make_user(clearance=0)

    state = ask(reader).state

    seen = {*state.pool, *(c for arm in state.arms.values() for c in arm), *(c for d in state.drops for c in d.chunks)}
    assert seen == set(copied["d3"].live_version.chunks.values_list("pk", flat=True))


def test_filters_that_milvus_does_not_know_become_a_list_of_documents(copied, owner, monkeypatch):
    Document.objects.filter(external_id="d2").update(metadata={"product": "BTS"})
    asked = []
    real = collection.call
    monkeypatch.setattr(search, "call", lambda name, **given: asked.append(given["filter"]) or real(name, **given))

    done = ask(owner, filters=Filters(metadata={"product": "BTS"}))

    assert titles(done) == ["d2"]
    assert all(f"document in [{copied['d2'].pk}]" in expression for expression in asked)
    asked.clear()
    monkeypatch.setattr(search, "NAMED_DOCUMENTS", 0)  # too many to be named
    assert titles(ask(owner, filters=Filters(metadata={"product": "BTS"}))) == ["d2"]
    assert all("document in" not in expression for expression in asked)


def test_for_who_can_read_no_set_milvus_is_not_asked(copied, monkeypatch):
    KnowledgeSet.objects.update(visibility="members")
    monkeypatch.setattr(search, "call", lambda *_, **__: pytest.fail("asked"))

    assert titles(ask(make_user())) == []


def test_expressions_hold_numbers_only():
    bounds = Bounds(clearance=2, sets=((3, 1), (5,)), tags=('x" or tenant > 0',), is_exact=True)

    made = expression_of(tenant_id=7, bounds=bounds, documents=[9, 8], model="m' or 1 == 1")

    tag, model = number_of('x" or tenant > 0'), number_of("m' or 1 == 1")
    assert made == (
        "tenant == 7 and clearance <= 2 and array_contains_any(sets, [1, 3]) and array_contains_any(sets, [5]) "
        f"and array_contains_any(tags, [{tag}]) and document in [8, 9] and model == {model}"
    )
    assert 0 <= tag < 2**63


def test_two_people_together_find_what_both_may(copied, owner, common):
    closed = make_set("closed", owners=[owner], visibility="members")
    Document.objects.get(external_id="d0").sets.set([closed])
    other = make_user(clearance=4)

    shared = scope_of(owner).limited_to(scope_of(other))
    done = retrieve(scope=shared, request=RetrievalRequest(query="alpha beta", rerank=False))

    assert notes(done)["search.coarse"] is None
    assert "d0" not in titles(done)


def test_a_scope_without_bounds_still_sees_its_tenant_only(copied, owner):
    ports = Index().ports(owner)
    reach = ports.vectors.first.searched.reach
    unbound = replace(reach.visible, bounds=None)
    plain = search.Reach(Scope(tenant_id=999_999, user_id=1, clearance=4), unbound)

    assert "tenant == 999999" in plain.expression()
    hits = search.Searched(collection="tests", reach=plain).hits([{1: 1.0}], limit=5, anns_field="sparse")
    assert hits == [[]]


def test_refusals_do_not_put_milvus_to_rest(milvus):
    with pytest.raises(BackendRefusedError):
        collection.call("query", seconds=3, collection_name="tests", filter="nonsense ==", output_fields=["id"])

    assert collection.call("has_collection", seconds=3, collection_name="tests") is True
