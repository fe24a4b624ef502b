"""`/api/v1/sources`, sources of sets, pages by their address."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from knowledge.models import Document, Source
from tests.api.world import error_of, fields_of, set_make
from tests.knowledge.sources.building import sync_run

SOURCES = "/api/v1/sources"
PAGES = "/api/v1/documents/url"
SECRET = "a secret of enough length"
HOOK = {"name": "hook", "kind": "webhook"}


@pytest.fixture
def radio(world):
    return set_make(world.alice)


@pytest.fixture
def shelf(tmp_path, settings):
    settings.SOURCE_FOLDERS = (str(tmp_path),)
    (tmp_path / "a.md").write_text("alpha")
    (tmp_path / "b.txt").write_text("beta")
    return {"name": "shelf", "kind": "folder", "location": str(tmp_path)}


def test_a_source_is_made_and_its_credentials_are_never_shown(alice, radio):
    made = alice.post(SOURCES, {**HOOK, "credentials": {"secret": SECRET}, "options": {"tags": ["a"]}}, "json")

    assert made.status_code == 201, made.content
    body = made.json()
    assert body | {"kind": "webhook", "owner": "alice", "has_credentials": True, "options": {"tags": ["a"]}} == body
    for answer in (made, alice.get(SOURCES), alice.get(f"{SOURCES}/{body['id']}")):
        assert SECRET not in answer.content.decode()
        assert "credentials" not in str(answer.json()).replace("has_credentials", "")


def test_who_owns_no_set_makes_no_source(bob, world):
    response = bob.post(SOURCES, HOOK, "json")

    assert (response.status_code, error_of(response)["code"]) == (403, "missing_right")


def test_others_do_not_know_it(alice, eve, bob, radio):
    made = alice.post(SOURCES, HOOK, "json").json()

    for person in (eve, bob):
        assert person.get(SOURCES).json()["count"] == 0
        assert person.get(f"{SOURCES}/{made['id']}").status_code == 404
        assert person.patch(f"{SOURCES}/{made['id']}", {"name": "x"}, "json").status_code == 404
        assert person.post(f"{SOURCES}/{made['id']}/run").status_code == 404
        assert person.delete(f"{SOURCES}/{made['id']}").status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "ftp"}, "kind"),
        ({"name": ""}, "name"),
        ({"options": {"unknown": 1}}, "options"),
        ({"options": {"allow_private": True}}, "options"),
        ({"options": {"clearance": 9}}, "options"),
        ({"credentials": 5}, "credentials"),
        ({"next_run": None}, "next_run"),
        ({"schedule": "yearly"}, "schedule"),
    ],
)
def test_a_bad_field_is_named(alice, radio, change, field):
    response = alice.post(SOURCES, {**HOOK, **change}, "json")

    assert response.status_code == 422
    assert {name.partition(".")[0] for name in fields_of(response)} == {field}


def test_a_folder_that_the_operator_has_not_opened_is_refused_in_words(alice, radio):
    response = alice.post(SOURCES, {"name": "etc", "kind": "folder", "location": "/etc"}, "json")

    assert response.status_code == 422
    assert error_of(response)["code"] == "folder_not_allowed"
    assert "Folders and hosts" in error_of(response)["message"]


def test_a_source_is_changed_and_removed(alice, radio):
    url = f"{SOURCES}/{alice.post(SOURCES, HOOK, 'json').json()['id']}"

    changed = alice.patch(url, {"name": "bell", "enabled": False, "credentials": SECRET}, "json").json()
    assert (changed["name"], changed["enabled"], changed["has_credentials"]) == ("bell", False, True)
    assert alice.delete(url).status_code == 204
    assert alice.get(url).status_code == 404


def test_a_set_is_composed_and_ingested(alice, radio, shelf):
    source = alice.post(SOURCES, shelf, "json").json()["id"]
    url = f"/api/v1/knowledge-sets/{radio.pk}/sources"

    put = alice.put(url, [{"source": source, "filter": {"paths": ["*.md"]}}], "json")
    assert put.status_code == 200, put.content
    assert alice.get(url).json() == [{"source": source, "name": "shelf", "filter": {"paths": ["*.md"]}}]
    started = alice.post(f"/api/v1/knowledge-sets/{radio.pk}/ingest")
    assert started.status_code == 202
    job = f"/api/v1/jobs/{started.json()['job_id']}"
    assert alice.get(job).json()["state"] == "queued"
    sync_run(job_id=started.json()["job_id"])

    assert list(Document.objects.filter(sets=radio).values_list("external_id", flat=True)) == ["a.md"]
    assert alice.get(job).json()["total"] == 2
    assert alice.get(f"{SOURCES}/{source}").json()["sets"] == [radio.pk]
    assert alice.put(url, [], "json").json() == []
    assert not Document.objects.filter(sets=radio).exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([{"source": 0}], "0.source"),
        ([{}], "0.source"),
        ([{"source": 1, "filter": {"folders": []}}], "0.filter"),
        ([{"source": 1, "more": 1}], "0.more"),
    ],
)
def test_a_bad_composition_is_named(alice, radio, body, field):
    response = alice.put(f"/api/v1/knowledge-sets/{radio.pk}/sources", body, "json")

    assert response.status_code == 422
    assert any(name.startswith(field) for name in fields_of(response))


@pytest.mark.parametrize("body", [{}, "x", 5])
def test_a_composition_is_a_list(alice, radio, body):
    assert alice.put(f"/api/v1/knowledge-sets/{radio.pk}/sources", body, "json").status_code == 422


def test_an_unknown_source_composes_nothing(alice, radio):
    response = alice.put(f"/api/v1/knowledge-sets/{radio.pk}/sources", [{"source": 999_999}], "json")

    assert response.status_code == 404


def test_runs_are_started_and_answered_with_the_same_job_while_they_go_on(alice, radio, shelf):
    source = alice.post(SOURCES, shelf, "json").json()["id"]

    first = alice.post(f"{SOURCES}/{source}/run")

    assert first.status_code == 202
    assert alice.post(f"{SOURCES}/{source}/run").json() == first.json()


def test_what_a_run_refuses_stands_in_its_job(alice, radio, shelf, tmp_path):
    (tmp_path / "c.exe").write_bytes(b"MZ")
    source = alice.post(SOURCES, shelf, "json").json()["id"]
    job_id = alice.post(f"{SOURCES}/{source}/run").json()["job_id"]
    sync_run(job_id=job_id)

    errors = alice.get(f"/api/v1/jobs/{job_id}").json()["errors"]

    assert [(e["document_id"], e["external_id"], e["code"]) for e in errors] == [(None, "c.exe", "unsupported_format")]


def test_a_source_is_tried_step_by_step(alice, bob, radio, shelf, settings):
    made = alice.post(SOURCES, shelf, "json").json()
    address = f"{SOURCES}/{made['id']}/test"

    works = alice.post(address).json()
    settings.SOURCE_FOLDERS = ()
    fails = alice.post(address).json()

    assert works["works"]
    assert [step["state"] for step in works["steps"]] == ["ok"] * 5
    assert not fails["works"]
    assert [step["state"] for step in fails["steps"]] == ["failed"] + ["skipped"] * 4
    assert "folder" in fails["steps"][0]["message"].lower()
    assert bob.post(address).status_code == 404


def test_a_count_is_there_once_a_job_has_begun(alice, radio, shelf, monkeypatch):
    made = alice.post(SOURCES, shelf, "json").json()
    address = f"{SOURCES}/{made['id']}/preview"
    assert alice.get(address).status_code == 404
    assert (
        alice.post(address).json() | {"count": 2, "is_complete": True, "goes_on": False} == alice.post(address).json()
    )
    monkeypatch.setattr("knowledge.services.sources.trials.PREVIEW_SECONDS", -1)

    assert alice.post(address).json()["goes_on"]

    assert alice.get(address).json()["goes_on"]


def test_deletions_that_wait_are_listed_and_decided(alice, bob, radio, shelf, tmp_path):
    for number in range(28):
        (tmp_path / f"{number:02}.txt").write_text(f"page {number}")
    made = alice.post(SOURCES, {**shelf, "options": {"delete_missing": True}}, "json").json()
    one = f"{SOURCES}/{made['id']}"
    sync_run(job_id=alice.post(f"{one}/run").json()["job_id"])
    assert alice.get(f"{one}/attention").json() == {"deletions": None, "items": []}
    for number in range(12):
        (tmp_path / f"{number:02}.txt").unlink()
    (tmp_path / "empty.txt").write_text("")
    sync_run(job_id=alice.post(f"{one}/run", {"mode": "list"}, "json").json()["job_id"])

    waits = alice.get(f"{one}/attention").json()

    assert (waits["deletions"]["count"], waits["deletions"]["total"]) == (12, 30)
    assert [(row["external_id"], row["code"]) for row in waits["items"]] == [("empty.txt", "empty_document")]
    assert (
        bob.get(f"{one}/attention").status_code == bob.post(f"{one}/deletions", {"decision": "keep"}).status_code == 404
    )
    assert alice.post(f"{one}/deletions", {"decision": "all"}, "json").status_code == 422
    assert alice.post(f"{one}/deletions", {"decision": "delete"}, "json").json() == {"documents": 12}
    assert Document.objects.filter(source=made["id"], deleted=None).count() == 18
    assert alice.post(f"{one}/deletions", {"decision": "delete"}, "json").status_code == 404


def test_a_page_is_taken_in_the_background(alice, radio):
    response = alice.post(PAGES, {"url": "https://docs.invalid/a", "sets": [radio.pk]}, "json")

    assert response.status_code == 202
    assert response.json()["document_id"] is None
    assert alice.get(f"/api/v1/jobs/{response.json()['job_id']}").json()["state"] == "queued"


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/", "http://10.0.0.8/x"])
def test_private_pages_are_refused(alice, radio, url):
    response = alice.post(PAGES, {"url": url, "sets": [radio.pk]}, "json")

    assert response.status_code == 422
    assert error_of(response)["code"] == "url_not_allowed"


def test_pages_go_only_into_sets_of_ones_own(bob, radio):
    assert bob.post(PAGES, {"url": "https://docs.invalid/a", "sets": [radio.pk]}, "json").status_code == 404


def test_removing_a_source_with_documents_needs_a_word(alice, radio, shelf):
    source = alice.post(SOURCES, shelf, "json").json()["id"]
    sync_run(job_id=alice.post(f"{SOURCES}/{source}/run").json()["job_id"])

    refused = alice.delete(f"{SOURCES}/{source}")
    assert (refused.status_code, error_of(refused)["code"]) == (409, "source_in_use")
    assert alice.delete(f"{SOURCES}/{source}?documents=delete").status_code == 204
    assert not Source.objects.filter(pk=source).exists()


# ── archives ────────────────────────────────────────────────────────────────────────────────────


def zipped(**members):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, content in members.items():
            made.writestr(name.replace("_", "."), content)
    return SimpleUploadedFile("pack.zip", target.getvalue())


def test_an_archive_is_unpacked_into_documents_where_the_form_says_so(alice, radio):
    form = {"file": zipped(a_md="alpha", b_txt="beta", c_exe="MZ"), "sets": [radio.pk], "unpack": "true"}

    response = alice.post("/api/v1/documents", form, "multipart")

    assert response.status_code == 202, response.content
    assert response.json()["refused"] == 1
    found = Document.objects.filter(pk__in=response.json()["documents"], sets=radio)
    assert sorted(found.values_list("external_id", flat=True)) == ["pack.zip!/a.md", "pack.zip!/b.txt"]


def test_other_files_are_uploaded_as_they_are(alice, radio):
    form = {"file": SimpleUploadedFile("a.md", b"alpha"), "sets": [radio.pk], "unpack": "true"}

    response = alice.post("/api/v1/documents", form, "multipart")

    assert response.status_code == 202
    assert Document.objects.get(pk=response.json()["document_id"]).external_id == ""
