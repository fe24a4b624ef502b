"""`/api/v1/documents/{document_id}/relations`."""

from __future__ import annotations

import pytest

from tests.api.world import document_make, set_make

pytestmark = pytest.mark.django_db
RELATIONS = "/api/v1/documents/{}/relations"


@pytest.fixture
def documents(world):
    common = set_make(world.alice)
    return [document_make(common, title=title) for title in ("new", "old")]


def add(client, document, kind, other):
    return client.post(RELATIONS.format(document.pk), {"kind": kind, "document": other.pk}, format="json")


def test_a_keeper_adds_lists_and_removes(alice, documents):
    new, old = documents

    answer = add(alice, new, "replaces", old)

    assert answer.status_code == 201
    [line] = answer.json()["relations"]
    assert (line["kind"], line["origin"], line["words"]) == ("replaces", "hand", "replaces")
    assert (line["document"]["id"], line["document"]["title"]) == (old.pk, "old")
    back = alice.get(RELATIONS.format(old.pk)).json()
    assert [one["kind"] for one in back["relations"]] == ["replaced_by"]
    assert alice.delete(f"{RELATIONS.format(old.pk)}/{line['id']}").status_code == 204
    assert alice.get(RELATIONS.format(new.pk)).json() == {"relations": [], "more": 0}


def test_a_circle_is_refused_in_words(alice, documents):
    new, old = documents
    add(alice, new, "replaces", old)

    answer = add(alice, old, "replaces", new)

    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "relation_invalid"
    assert "circle" in answer.json()["error"]["message"]


def test_readers_may_not_change_and_strangers_see_nothing(world, alice, bob, eve, documents):
    new, old = documents
    add(alice, new, "links", old)

    assert add(bob, new, "links", old).status_code in (403, 404)
    assert eve.get(RELATIONS.format(new.pk)).status_code == 404


@pytest.mark.parametrize(
    "body", [{}, {"kind": "links"}, {"kind": "loves", "document": 1}, {"kind": "links", "document": 0}]
)
def test_bad_bodies_are_refused(alice, documents, body):
    assert alice.post(RELATIONS.format(documents[0].pk), body, format="json").status_code == 422


def test_a_relation_of_another_document_is_not_found(alice, documents):
    new, old = documents
    third = document_make(*new.sets.all(), title="third")
    row = add(alice, new, "links", old).json()["relations"][0]

    assert alice.delete(f"{RELATIONS.format(third.pk)}/{row['id']}").status_code == 404
