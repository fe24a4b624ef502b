"""Who may do what, on every address."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.test import AsyncClient
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import ApiKey
from knowledge.models import Document
from ragsite.openapi import METHODS, merged_schema
from tests.api.test_documents import bulk, line, upload
from tests.api.world import client_of, document_make, error_of, group_make, message_make, set_make

DOCUMENTS = "/api/v1/documents"
SETS = "/api/v1/knowledge-sets"
IDS = ("set_id", "document_id", "job_id", "source_id", "source", "request_id", "notification_id", "place_id")
IDS += (
    "triple_id",
    "import_id",
    "entity_id",
    "decision_id",
    "background_job_id",
    "version_id",
    "file_id",
    "relation_id",
)
UUIDS = ("message_id", "attachment_id", "link_id")
VALUES = {**dict.fromkeys(IDS, "1"), **dict.fromkeys(UUIDS, str(uuid.UUID(int=1))), "name": "ragsite", "number": "1"}
SIGNED = "/api/v1/webhooks/"  # opened by a signature instead of a key


def addresses() -> list[tuple[str, str]]:
    """Every documented address, with values for its parameters."""
    filled = [
        (method, re.sub(r"{(\w+)}", lambda found: VALUES[found[1]], path))
        for path, methods in merged_schema()["paths"].items()
        for method in methods
        if method in METHODS
    ]
    assert len(filled) > 20
    return filled


async def ask(method: str, path: str, **headers: str) -> Any:
    call = getattr(AsyncClient(raise_request_exception=False), method)
    return (
        await call(path, headers=headers)
        if method == "get"
        else await call(path, data="{}", content_type="application/json", headers=headers)
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("key", [None, "Bearer wrong", "Bearer ", "Basic cm9vdDpyb290"])
async def test_no_address_answers_without_a_valid_key(key):
    headers = {"Authorization": key} if key else {}

    for method, path in addresses():
        response = await ask(method, path, **headers)

        assert response.status_code == 401, (method, path, response.status_code)
        assert error_of(response)["code"] == "not_authenticated"
        assert path.startswith(SIGNED) or response.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_key_and_a_key_of_someone_who_left_are_useless(world):
    clients = client_of(world.alice), client_of(world.bob)
    ApiKey.objects.filter(user=world.alice).update(revoked=timezone.now())
    world.bob.is_active = False
    world.bob.save()

    assert [client.get(SETS).status_code for client in clients] == [401, 401]


def test_a_browser_needs_its_csrf_token_to_change_something(world):
    browser = APIClient(enforce_csrf_checks=True, raise_request_exception=False)
    browser.force_login(world.alice)
    body = {"name": "Radio", "code": "radio"}

    assert browser.get(SETS).status_code == 200
    refused = browser.post(SETS, body)
    assert (refused.status_code, error_of(refused)["code"]) == (403, "csrf_failed")

    token = "t" * 32
    browser.cookies["csrftoken"] = token
    assert browser.post(SETS, body, headers={"X-CSRFToken": token}).status_code == 201


def test_a_browser_uploads_and_loads_with_its_token(world):
    made = set_make(world.alice)
    browser = APIClient(enforce_csrf_checks=True, HTTP_X_CSRFTOKEN="t" * 32)
    browser.force_login(world.alice)
    browser.cookies["csrftoken"] = "t" * 32

    assert upload(browser, made).status_code == 202
    assert bulk(browser, line(sets=[made.pk])).json()["accepted"] == 1


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def opens(client: Any, document: Document) -> bool:
    """Whether a document can be opened; all ways to it must agree."""
    direct = {
        client.get(f"{DOCUMENTS}/{document.pk}{tail}").status_code == 200 for tail in ("", "/markdown", "/chunks")
    }
    listed = client.get(DOCUMENTS).json()
    found = client.get(DOCUMENTS, {"q": document.title}).json()["count"] > 0
    named = client.get(DOCUMENTS, {"external_id": document.external_id}).json()["count"] > 0
    in_list = document.pk in [row["id"] for row in listed["results"]]
    answers = {*direct, found, named, in_list, listed["count"] > 0}
    assert len(answers) == 1, answers
    return bool(answers.pop())


def test_documents_above_ones_clearance_do_not_exist(world, alice, bob):
    made = set_make(world.alice)
    document = document_make(made, clearance=1)

    assert opens(alice, document)
    assert not opens(bob, document)
    world.bob.clearance = 1
    world.bob.save()
    assert opens(bob, document)


def test_an_owner_does_not_see_past_the_own_clearance_either(world, alice):
    assert not opens(alice, document_make(set_make(world.alice), clearance=3))


def test_documents_of_members_sets_are_for_members(world, bob):
    made = set_make(world.alice, visibility="members")
    document = document_make(made)
    assert not opens(bob, document)

    made.members.add(world.bob)
    assert opens(bob, document)

    made.members.clear()
    assert not opens(bob, document)
    made.member_groups.add(group_make(world.home, "radio", world.bob))
    assert opens(bob, document)


def test_a_document_is_open_to_whom_one_of_its_sets_is_open(world, bob):
    document = document_make(set_make(world.alice, visibility="members"), set_make(world.alice))

    assert opens(bob, document)


def test_a_document_in_no_set_is_for_administrators(world, root, alice, bob):
    made = set_make(world.alice)
    document = document_make(made)

    assert alice.delete(f"{SETS}/{made.pk}").status_code == 204

    assert opens(root, document)
    assert not opens(alice, document)
    assert not opens(bob, document)


def test_tenants_do_not_know_of_each_other(world, alice, eve):
    made = set_make(world.alice)
    document = document_make(made)
    message = message_make(world.alice)
    job = upload(alice, made).json()["job_id"]

    assert not opens(eve, document)
    attempts = [
        eve.get(f"{SETS}/{made.pk}"),
        eve.patch(f"{SETS}/{made.pk}", {"name": "Mine"}),
        eve.delete(f"{SETS}/{made.pk}"),
        eve.put(f"{SETS}/{made.pk}/members", {"owners": ["eve"]}),
        eve.delete(f"{DOCUMENTS}/{document.pk}"),
        eve.get(f"/api/v1/jobs/{job}"),
        upload(eve, made),
        eve.post("/api/v1/feedback", {"message_id": str(message.pk), "vote": "up"}),
        eve.post("/api/v1/signals", {"message_id": str(message.pk), "kind": "copy"}),
        eve.post("/api/v1/api-keys", {"username": "alice", "name": "k"}),
    ]
    assert {(response.status_code, error_of(response)["code"]) for response in attempts} == {(404, "not_found")}


def test_a_line_cannot_name_another_tenant(world, alice, root):
    abroad = set_make(world.eve)
    lines = line(tenant="abroad") + line(sets=[abroad.pk])

    assert bulk(alice, lines).json()["accepted"] == 0
    assert bulk(root, lines).json()["accepted"] == 2


def test_a_set_of_another_tenant_is_no_filter(world, alice):
    document_make(set_make(world.eve))
    document_make(set_make(world.alice))

    assert alice.get(DOCUMENTS, {"set": set_make(world.eve).pk}).json()["count"] == 0


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def test_whoever_may_not_see_a_document_is_not_told_that_it_was_there(world, alice, root):
    hidden = set_make(world.root, visibility="members")
    upload(root, hidden, content=b"secret", clearance=4)

    response = upload(alice, set_make(world.alice), content=b"secret")

    assert response.json()["duplicate"] is False


def test_an_employee_cannot_put_documents_into_no_set_nor_change_what_is_there(world, alice, bob, root):
    made = set_make(world.root)
    bulk(root, line(external_id="x-1", text="known text", sets=[made.pk]))

    refused = bulk(bob, line(external_id="x-1", text="known text", sets=[], tags=["mine"], title="Mine"))
    fresh = bulk(bob, line(external_id="x-2", text="other text", sets=None))

    codes = {row["code"] for answer in (refused, fresh) for row in answer.json()["rejected"]}
    assert codes == {"set_not_owned"}
    document = Document.objects.get()
    assert (document.title, document.tags) == ("One", [])


def test_whoever_has_the_same_bytes_cannot_rename_the_document_of_others(world, alice, root):
    shared = set_make(world.root)
    upload(root, shared, content=b"same", title="Theirs", metadata='{"product": "A"}')

    upload(alice, set_make(world.alice), content=b"same", title="Mine", metadata='{"product": "B"}')

    theirs, mine = Document.objects.order_by("pk")
    assert [(one.title, one.metadata, one.sets.count()) for one in (theirs, mine)] == [
        ("Theirs", {"product": "A"}, 1),
        ("Mine", {"product": "B"}, 1),
    ]
    assert theirs.versions.get().file.name == mine.versions.get().file.name  # stored once


def test_bytes_that_are_there_unseen_are_answered_like_new_ones(world, alice, root):
    upload(root, set_make(world.root, visibility="members"), content=b"secret", clearance=4)
    mine = set_make(world.alice)

    hidden, fresh = upload(alice, mine, content=b"secret"), upload(alice, mine, content=b"new")

    assert hidden.status_code == fresh.status_code == 202
    jobs = [alice.get(f"/api/v1/jobs/{answer.json()['job_id']}").json() for answer in (hidden, fresh)]
    assert [(job["state"], job["total"]) for job in jobs] == [("queued", 1), ("queued", 1)]


def test_an_external_id_is_no_way_into_another_owners_document(world, alice):
    hidden = set_make(world.root, visibility="members")
    document = document_make(hidden, external_id="x-1")
    mine = set_make(world.alice)

    upload(alice, mine, external_id="x-1", content=b"other text")
    bulk(alice, line(external_id="x-1", sets=[mine.pk]))

    assert list(document.sets.all()) == [hidden]
    assert document.versions.count() == 1
    assert not opens_text_of(alice, document)


def opens_text_of(client: Any, document: Document) -> bool:
    return bool(client.get(f"{DOCUMENTS}/{document.pk}/markdown").status_code == 200)


def test_an_owner_of_one_set_does_not_delete_what_others_share(world, alice, root):
    document = document_make(set_make(world.alice), set_make(world.root))

    assert alice.delete(f"{DOCUMENTS}/{document.pk}").status_code == 404
    assert root.delete(f"{DOCUMENTS}/{document.pk}").status_code == 204
