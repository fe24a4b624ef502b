"""`/api/v1/webhooks/{source}`: signed, recent, once."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from knowledge.models import Document, Source, SyncRun
from knowledge.services.composition import set_sources_put
from knowledge.services.sources import source_create, webhook_signature
from knowledge.types import SourceFilter
from tests.api.world import error_of, fields_of, set_make
from tests.factories import run_job, scope_of

SECRET = "a secret of enough length"
UPSERT = {"event": "upsert", "external_id": "case/1", "title": "Case", "text": "# Case\n\nAlpha", "format": "markdown"}


@pytest.fixture
def source(world):
    set_make(world.alice)
    cache.clear()
    values = {"name": "hook", "kind": "webhook", "credentials": {"secret": SECRET}, "options": {"tags": ["hook"]}}
    return source_create(scope=scope_of(world.alice), actor=world.alice, values=values)


def send(source: Any, body: Any, *, secret: str = SECRET, at: float | None = None, **headers: str) -> Any:
    """POST a signed body; bytes are sent as they are."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    timestamp = str(int(time.time() if at is None else at))
    signature = webhook_signature(secret=secret, timestamp=timestamp, body=sent)
    signed = {"HTTP_X_RAGSITE_TIMESTAMP": timestamp, "HTTP_X_RAGSITE_SIGNATURE": signature, **headers}
    named = source.pk if isinstance(source, Source) else source
    client = APIClient(raise_request_exception=False)
    return client.post(f"/api/v1/webhooks/{named}", sent, content_type="application/json", **signed)


def test_a_document_arrives_with_what_the_source_says_about_all_of_them(source, world):
    response = send(source, {**UPSERT, "tags": ["new"], "metadata": {"a": 1}, "clearance": 1})

    assert response.status_code == 202, response.content
    assert (response.json()["accepted"], response.json()["rejected"]) == (1, [])
    run_job(response.json()["job_id"])
    document = Document.objects.get(source=source)
    assert (document.title, document.state, document.tags, document.metadata, document.clearance) == (
        "Case",
        "live",
        ["hook", "new"],
        {"a": 1},
        1,
    )


def test_it_goes_into_the_sets_that_are_composed_of_the_source(source, world):
    radio = set_make(world.alice)
    set_sources_put(
        scope=scope_of(world.alice),
        actor=world.alice,
        set_id=radio.pk,
        sources=[(source.pk, SourceFilter(paths=("case/*",)))],
    )

    send(source, [UPSERT, {**UPSERT, "external_id": "other/1"}])

    assert list(Document.objects.filter(sets=radio).values_list("external_id", flat=True)) == ["case/1"]


def test_the_source_may_be_named(source):
    assert send("hook", UPSERT).status_code == 202


def test_other_text_is_a_new_version_and_the_same_is_nothing(source):
    send(source, UPSERT)
    send(source, {**UPSERT, "text": "# Case\n\nBeta"})
    again = send(source, {**UPSERT, "text": "# Case\n\nBeta"}, at=time.time() + 1)

    assert again.json() == {"job_id": None, "accepted": 1, "rejected": [], "fetches": []}
    assert Document.objects.get(source=source).versions.count() == 2


def test_files_come_in_base64(source):
    content = base64.b64encode(b"# Title\n\nText").decode()

    send(source, {"event": "upsert", "external_id": "f", "content_base64": content, "name": "f.md"})

    assert Document.objects.get(source=source).versions.get().file_name == "f.md"


def test_an_address_is_fetched_in_the_background(source):
    response = send(source, {"event": "upsert", "external_id": "p", "url": "https://docs.invalid/p"})

    [job_id] = response.json()["fetches"]
    assert SyncRun.objects.get(job=job_id).request["external_id"] == "p"


def test_a_private_address_is_refused_alone(source):
    response = send(source, [UPSERT, {"event": "upsert", "external_id": "p", "url": "http://127.0.0.1/"}])

    assert [(one["index"], one["code"]) for one in response.json()["rejected"]] == [(1, "url_not_allowed")]
    assert Document.objects.filter(source=source).count() == 1


def test_a_deletion_is_seen_at_once_and_may_be_repeated(source):
    send(source, UPSERT)

    assert send(source, {"event": "delete", "external_id": "case/1"}).status_code == 202
    assert send(source, [{"event": "delete", "external_id": "case/1"}]).json()["accepted"] == 1
    assert Document.objects.get(source=source).state == "deleted"


def test_strangers_learn_nothing(source, world):
    silent = source_create(scope=scope_of(world.alice), actor=world.alice, values={"name": "silent", "kind": "webhook"})
    upload = Source.objects.create(tenant=world.home, name="uploads")
    answers = [
        send(999_999, UPSERT),
        send("nobody", UPSERT),
        send(source, UPSERT, secret="another secret of that length"),
        send(source, UPSERT, secret=""),
        send(silent, UPSERT, secret=""),
        send(upload, UPSERT),
        send(source, UPSERT, at=time.time() - 400),
        send(source, UPSERT, at=time.time() + 400),
        send(source, UPSERT, HTTP_X_RAGSITE_SIGNATURE=""),
        send(source, UPSERT, HTTP_X_RAGSITE_SIGNATURE="sha256=ü"),
        send(source, UPSERT, HTTP_X_RAGSITE_TIMESTAMP="now"),
        send(source, UPSERT, HTTP_X_RAGSITE_TIMESTAMP="٣"),
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert not Document.objects.filter(source=source).exists()


def test_a_disabled_source_takes_nothing(source):
    Source.objects.filter(pk=source.pk).update(enabled=False)

    assert send(source, UPSERT).status_code == 401


def test_a_request_is_taken_once(source):
    now = time.time()
    send(source, UPSERT, at=now)

    again = send(source, UPSERT, at=now)

    assert error_of(again)["code"] == "replayed"
    assert send(source, UPSERT, at=now + 1).status_code == 202


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**UPSERT, "event": "move"}, "event"),
        ({**UPSERT, "external_id": ""}, "external_id"),
        ({**UPSERT, "url": "https://docs.invalid"}, ""),
        ({"event": "upsert", "external_id": "a"}, ""),
        ({**UPSERT, "more": 1}, "more"),
        ({**UPSERT, "clearance": 5}, "clearance"),
        ({**UPSERT, "text": "a\x00b"}, "text"),
        ({"event": "upsert", "external_id": "a", "content_base64": "?", "name": "a.md"}, "content_base64"),
        ({"event": "upsert", "external_id": "a", "content_base64": "YQ=="}, "name"),
        ([UPSERT, {**UPSERT, "event": "move"}], "1.event"),
        ([], ""),
        ([UPSERT] * 101, ""),
        (5, ""),
    ],
)
def test_a_bad_body_is_named(source, body, field):
    response = send(source, body)

    assert response.status_code == 422, response.content
    assert field in fields_of(response)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_refused(source, body):
    response = send(source, body)

    assert response.status_code == 422
    assert error_of(response)["code"] == "malformed"


def test_events_that_cannot_be_taken_do_not_stop_the_others(source):
    response = send(source, [{**UPSERT, "text": " "}, UPSERT])

    assert response.status_code == 202
    assert Document.objects.filter(source=source, external_id="case/1").exists()


def test_a_namesake_with_unreadable_credentials_does_not_shut_others_out(source, world):
    Source.objects.create(tenant=world.eve.tenant, name="hook", kind="webhook", credentials="damaged")

    assert send("hook", UPSERT).status_code == 202


def test_a_source_with_unreadable_credentials_is_as_unknown_as_any(source):
    Source.objects.filter(pk=source.pk).update(credentials="damaged")

    assert send(source, UPSERT).status_code == 401


def readers_of(source):
    row = Document.objects.select_related("source_readers").get(source=source).source_readers
    return row and (row.users, row.groups, row.unknown)


def test_readers_come_with_a_document_and_change_at_once_without_it(source, world):
    send(source, {**UPSERT, "readers": [f"user:{world.bob.username}", "user:ghost"]})
    assert readers_of(source) == ([world.bob.pk], [], ["user:ghost"])

    send(source, {"event": "readers", "external_id": "case/1", "readers": [f"user:{world.alice.username}"]})
    assert readers_of(source) == ([world.alice.pk], [], [])

    send(source, {"event": "readers", "external_id": "case/1", "readers": ["everyone"]})
    assert readers_of(source) == ([], [0], [])
    send(source, {"event": "readers", "external_id": "case/1", "readers": []})
    assert readers_of(source) == ([], [], [])


def test_a_change_of_readers_names_them(source):
    response = send(source, {"event": "readers", "external_id": "case/1"})

    assert (response.status_code, list(fields_of(response))) == (422, ["readers"])
