"""`/api/v1/entities`: what documents mention, decisions about it, export."""

from __future__ import annotations

import json

import pytest

from accounts.key_scopes import KeyScope
from accounts.models import AuditEvent
from accounts.services import api_key_create
from knowledge import model_registry
from knowledge.indexes.graph_triples import NewTriple, triples_store
from knowledge.models import Chunk, Document, EntityDecision, KnowledgeSet
from ragcore.graph.triples import Triple
from tests.api.world import error_of, set_make
from tests.factories import ingest
from tests.knowledge.fills import entities_tend

ENTITIES = "/api/v1/entities"
DECISIONS = f"{ENTITIES}/decisions"


@pytest.fixture
def shelf(world):
    into = set_make(world.alice, visibility="members")
    ingest(
        world.alice,
        into,
        unit="The Mobile Session Controller (MSC) is part of the Base Station. Anna Berg tests the Base Station.",
        mast="The Base Station stands on the Mast.",
    )
    entities_tend()
    return into


def listed(client, **asked):
    return [row["name"] for row in client.get(ENTITIES, {"page_size": 500, **asked}).json()["results"]]


def test_entities_are_listed_shown_and_exported(alice, shelf):
    assert {"Anna Berg", "Base Station", "MSC"} <= set(listed(alice, set=shelf.pk))
    assert listed(alice, name="anna BERG") == ["Anna Berg"]
    assert listed(alice, text="session") == ["Mobile Session Controller"]
    assert listed(alice, kind="identifier") == []

    [found] = alice.get(ENTITIES, {"name": "Base Station"}).json()["results"]
    one = alice.get(f"{ENTITIES}/{found['id']}").json()
    assert (one["mentions"], one["passages"], one["documents"]) == (3, 2, 2)
    assert found["type"] == one["type"] == "TECHNOLOGY"
    assert one["confidence"] == 0.7  # 3 of 5 mentions, 2 of 3 words, the cue in its name
    assert ("Anna Berg", 1) in [(row["name"], row["sentences"]) for row in one["neighbours"]]
    assert "The Base Station stands on the Mast." in [row["text"] for row in one["sentences"]]
    [msc] = alice.get(ENTITIES, {"name": "MSC"}).json()["results"]
    others = alice.get(f"{ENTITIES}/{msc['id']}").json()["other_names"]
    assert [(row["name"], row["kind"]) for row in others] == [("Mobile Session Controller", "abbreviation")]

    table = alice.get(f"{ENTITIES}/export?set={shelf.pk}").getvalue().decode()
    graph = json.loads(alice.get(f"{ENTITIES}/export?format=jsonld").getvalue())
    assert len(table.splitlines()) - 1 == len(graph["@graph"]) == len(listed(alice))


def test_who_may_only_ask_about_a_set_cannot_go_through_its_entities(alice, bob, world, shelf):
    shelf.visibility = KnowledgeSet.Visibility.EVERYONE
    shelf.save()
    assert "Anna Berg" in listed(bob)

    shelf.originals = KnowledgeSet.Originals.KEEPERS
    shelf.save()

    assert listed(bob) == []
    assert json.loads(bob.get(f"{ENTITIES}/export?format=jsonld").getvalue())["@graph"] == []
    [found] = alice.get(ENTITIES, {"name": "Base Station"}).json()["results"]
    assert bob.get(f"{ENTITIES}/{found['id']}").status_code == 404


def test_who_may_only_ask_about_a_set_cannot_go_through_the_facts_of_its_documents(alice, bob, world, shelf):
    shelf.visibility = KnowledgeSet.Visibility.EVERYONE
    shelf.save()
    document = Document.objects.filter(sets=shelf).order_by("pk")[0]
    chunk = Chunk.objects.filter(version=document.live_version_id, retired=None)[0]
    read = NewTriple(
        set_id=shelf.pk, triple=Triple(subject="Mast", relation="carries", object="Antenna"), document=document.pk,
        version=document.live_version_id, chunk=chunk.pk,
    )  # fmt: skip
    imported = NewTriple(set_id=shelf.pk, triple=Triple(subject="Belgium", relation="has", object="Antwerp"))
    triples_store([read, imported], tenant_id=shelf.tenant_id, source_id=None, tokenizer=model_registry.tokenizer())
    facts = lambda client: {row["subject"] for row in client.get("/api/v1/triples").json()["results"]}  # noqa: E731
    assert {"Mast", "Belgium"} <= facts(bob)

    shelf.originals = KnowledgeSet.Originals.KEEPERS
    shelf.save()

    assert "Mast" not in facts(bob)
    assert "Belgium" in facts(bob)
    assert "Mast" not in bob.get(f"/api/v1/triples/export?set={shelf.pk}").getvalue().decode()
    assert "Mast" in facts(alice)


def test_facts_are_exported(alice, shelf):
    body = b'{"subject": "Belgium", "relation": "leader name", "object": "Charles Michel"}'
    alice.generic("POST", f"/api/v1/triples?set={shelf.pk}", body, content_type="application/x-ndjson")

    answer = alice.get("/api/v1/triples/export")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "Belgium,leader name,Charles Michel" in answer.getvalue().decode()
    [node] = json.loads(alice.get("/api/v1/triples/export?format=jsonld").getvalue())["@graph"]
    assert node["name"] == "Belgium"


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "merge", "name": "MSC", "other": "Base Station"},
        {"kind": "split", "name": "MSC", "other": "Mobile Session Controller"},
        {"kind": "reject", "name": "Base Station"},
        {"kind": "confirm", "name": "Anna Berg"},
    ],
)
def test_a_decision_is_made_listed_and_undone(alice, shelf, body):
    made = alice.post(DECISIONS, {**body, "set": shelf.pk}, "json")
    assert made.status_code == 201, made.content
    assert made.json().items() >= {"other": "", **body, "set": shelf.pk, "undone": None, "author": "alice"}.items()

    assert [row["id"] for row in alice.get(DECISIONS).json()["results"]] == [made.json()["id"]]
    assert alice.delete(f"{DECISIONS}/{made.json()['id']}").status_code == 204
    assert alice.get(DECISIONS).json()["results"][0]["undone"] is not None
    actions = AuditEvent.objects.filter(action__startswith="entity.").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["entity.decide", "entity.undo"]


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "merge", "name": "MSC"},
        {"kind": "reject", "name": "MSC", "other": "Mast"},
        {"kind": "forget", "name": "MSC"},
        {"kind": "reject"},
        {"kind": "merge", "name": "Mast", "other": "MAST"},
    ],
)
def test_a_decision_that_means_nothing_is_refused(alice, shelf, body):
    refused = alice.post(DECISIONS, {**body, "set": shelf.pk}, "json")

    assert refused.status_code in (400, 422), refused.content
    assert EntityDecision.objects.count() == 0


def test_others_neither_read_nor_decide(alice, bob, eve, shelf):
    decision = alice.post(DECISIONS, {"kind": "reject", "name": "Anna Berg", "set": shelf.pk}, "json").json()
    [found] = alice.get(ENTITIES, {"name": "Anna Berg"}).json()["results"]

    for stranger in (bob, eve):
        assert listed(stranger) == []
        assert stranger.get(f"{ENTITIES}/{found['id']}").status_code == 404
        assert "Anna" not in stranger.get(f"{ENTITIES}/export").getvalue().decode()
        assert stranger.get(DECISIONS).json()["count"] == 0
        assert stranger.delete(f"{DECISIONS}/{decision['id']}").status_code == 404
        for home in ({"set": shelf.pk}, {}):
            made = stranger.post(DECISIONS, {"kind": "confirm", "name": "Anna Berg", **home}, "json")
            assert made.status_code in (403, 404), made.content
    assert EntityDecision.objects.get().undone is None


def test_keys_need_the_scope(world, client, shelf):
    key = api_key_create(user=world.alice, name="reads", scopes=[KeyScope.READ])[1]
    headers = {"Authorization": f"Bearer {key}"}
    body = {"kind": "reject", "name": "Mast", "set": shelf.pk}
    refused = client.post(DECISIONS, body, content_type="application/json", headers=headers)

    assert (refused.status_code, error_of(refused)["code"]) == (403, "missing_scope")
    assert client.get(ENTITIES, headers=headers).status_code == 200
