"""`/api/v1/jobs/{id}`: items, pause, resume, cancel, retry; and retrying one document."""

from __future__ import annotations

from typing import Any

import pytest

from knowledge.models import Document
from knowledge.services import ingestion_advance
from knowledge.services.ingestion import advance
from tests.api.test_documents import bulk, line
from tests.api.world import error_of, set_make
from tests.factories import run_job


@pytest.fixture
def job_id(world: Any, alice: Any) -> int:
    home = set_make(world.alice)
    lines = "".join(line(external_id=f"x-{number}", title=f"T{number}", sets=[home.pk]) for number in range(3))
    return int(bulk(alice, lines).json()["job_id"])


def post(client: Any, job_id: int, action: str) -> Any:
    return client.post(f"/api/v1/jobs/{job_id}/{action}")


def items(client: Any, job_id: int, **query: Any) -> Any:
    return client.get(f"/api/v1/jobs/{job_id}/items", query)


def test_items_of_a_job_are_listed_page_by_page_with_their_place_in_the_queue(alice, job_id):
    page = items(alice, job_id, page_size=2).json()

    assert (page["count"], len(page["results"])) == (3, 2)
    first = page["results"][0]
    assert (first["title"], first["stage"], first["queue"], first["position"]) == ("T0", "received", "ingest", 1)
    assert (first["progress_done"], first["progress_total"], first["error"], first["finished"]) == (0, 0, None, None)
    assert [row["title"] for row in items(alice, job_id, page_size=2, page=2).json()["results"]] == ["T2"]


def test_items_that_are_over_have_no_place_in_the_queue(alice, job_id):
    run_job(job_id)

    rows = items(alice, job_id).json()["results"]

    assert {(row["stage"], row["stage_label"], row["position"]) for row in rows} == {("live", "Searchable", None)}
    assert all(row["finished"] for row in rows)


def test_the_reason_of_a_failure_is_told_in_the_readers_language(alice, job_id, monkeypatch):
    monkeypatch.setattr(advance, "item_read", lambda *args: 1 / 0)
    ingestion_advance(job_id=job_id)

    error = items(alice, job_id).json()["results"][0]["error"]

    assert error["code"] == "ingestion_fault"
    assert error["message"].startswith("Reading this document failed")


def test_a_job_is_paused_resumed_and_cancelled(alice, job_id):
    assert post(alice, job_id, "pause").json()["paused"] is True
    assert ingestion_advance(job_id=job_id) == 0
    assert post(alice, job_id, "resume").json()["paused"] is False

    cancelled = post(alice, job_id, "cancel").json()

    assert (cancelled["state"], cancelled["cancelled"], cancelled["total"]) == ("failed", 3, 3)
    assert error_of(post(alice, job_id, "pause"))["code"] == "job_over"


def test_what_was_cancelled_can_be_tried_again(alice, job_id):
    post(alice, job_id, "cancel")

    again = post(alice, job_id, "retry")
    run_job(again.json()["job_id"])

    assert again.status_code == 202
    assert set(Document.objects.values_list("state", flat=True)) == {"live"}
    assert post(alice, job_id, "retry").json() == {"job_id": None}


@pytest.mark.parametrize("action", ["pause", "resume", "cancel", "retry"])
def test_the_jobs_of_others_are_as_unknown_as_those_that_do_not_exist(bob, job_id, action):
    theirs, nobodys = post(bob, job_id, action), post(bob, 999_999, action)

    assert (theirs.status_code, nobodys.status_code) == (404, 404)
    assert items(bob, job_id).status_code == 404


def test_a_document_is_tried_again_from_a_stage(alice, job_id, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(advance, "item_read", lambda *args: 1 / 0)
        ingestion_advance(job_id=job_id)
    document = Document.objects.first()

    answer = alice.post(f"/api/v1/documents/{document.pk}/retry", {"stage": "parsed"}, format="json")
    run_job(answer.json()["job_id"])

    assert answer.status_code == 202
    assert Document.objects.get(pk=document.pk).state == "live"


@pytest.mark.parametrize("body", [{"stage": "embedded"}, {"step": "parsed"}])
def test_an_unknown_stage_is_refused(alice, job_id, body):
    document = Document.objects.first()

    assert alice.post(f"/api/v1/documents/{document.pk}/retry", body, format="json").status_code == 422
