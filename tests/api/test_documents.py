"""`/api/v1/documents` and `/api/v1/jobs`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from knowledge.api import documents
from knowledge.models import Document, KnowledgeSet
from tests.api.world import document_make, error_of, fields_of, set_make
from tests.factories import run_job

DOCUMENTS = "/api/v1/documents"


def upload(client: Any, *sets: Any, name: str = "a.txt", content: bytes = b"hello", **fields: Any) -> Any:
    file = SimpleUploadedFile(name, content)
    return client.post(DOCUMENTS, {"file": file, "sets": [s.pk for s in sets], **fields}, format="multipart")


def bulk(client: Any, body: bytes | str, content_type: str = "application/x-ndjson") -> Any:
    return client.post(f"{DOCUMENTS}/bulk", body.encode() if isinstance(body, str) else body, content_type=content_type)


def line(**values: Any) -> str:
    return json.dumps({"external_id": "x-1", "title": "One", "text": "some text", **values}) + "\n"


# ── uploading ───────────────────────────────────────────────────────────────────────────────────


def test_an_upload_is_taken_and_can_be_followed(world, alice):
    one, two = set_make(world.alice), set_make(world.alice)

    response = upload(
        alice, one, two, title="Title", external_id="x-1", source="wiki", clearance=2, metadata='{"a": [1]}', tags=["t"]
    )

    assert response.status_code == 202
    answer = response.json()
    assert answer["duplicate"] is False
    document = alice.get(f"{DOCUMENTS}/{answer['document_id']}").json()
    expected = {"title": "Title", "external_id": "x-1", "source": "wiki", "clearance": 2, "state": "processing"}
    assert document | expected | {"metadata": {"a": [1]}, "tags": ["t"], "error": None} == document
    assert sorted(document["sets"]) == sorted([one.pk, two.pk])
    assert [version["number"] for version in document["versions"]] == [1]
    job = alice.get(f"/api/v1/jobs/{answer['job_id']}").json()
    assert job == job | {"state": "queued", "total": 1, "done": 0, "failed": 0, "errors": []}


def test_a_version_names_its_pipeline(world, alice, bob):
    hidden = set_make(world.alice, visibility="members")
    shared = set_make(world.alice, visibility="everyone")
    taken = upload(alice, hidden, shared).json()
    address = f"{DOCUMENTS}/{taken['document_id']}"
    assert [version["pipeline"] for version in alice.get(address).json()["versions"]] == [None]

    run_job(taken["job_id"])

    (own,) = alice.get(address).json()["versions"]
    (of_others,) = bob.get(address).json()["versions"]
    assert own["pipeline"] == {"sets": [hidden.pk], "sha256": own["pipeline"]["sha256"], "is_current": True}
    assert len(own["pipeline"]["sha256"]) == 64
    assert of_others["pipeline"] == {**own["pipeline"], "sets": []}  # nothing of sets that they cannot see
    KnowledgeSet.objects.filter(pk=hidden.pk).update(options={"chunking": {"max_tokens": 300}})
    assert alice.get(address).json()["versions"][0]["pipeline"]["is_current"] is False


def test_the_same_bytes_again_merge_the_sets(world, alice):
    one, two = set_make(world.alice), set_make(world.alice)
    first = upload(alice, one).json()

    again = upload(alice, two)

    assert again.status_code == 200
    assert again.json() == {"document_id": first["document_id"], "job_id": None, "duplicate": True}
    assert sorted(alice.get(f"{DOCUMENTS}/{first['document_id']}").json()["sets"]) == sorted([one.pk, two.pk])


def test_a_chinese_file_name_arrives_as_rfc_5987(world, alice):
    made = set_make(world.alice)
    boundary = "cut"
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="sets"\r\n\r\n{made.pk}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; '
        "filename*=UTF-8''%E8%AE%BE%E8%AE%A1.txt\r\n\r\ntext\r\n"
        f"--{boundary}--\r\n"
    ).encode()

    response = alice.post(DOCUMENTS, body, content_type=f"multipart/form-data; boundary={boundary}")

    assert Document.objects.get(pk=response.json()["document_id"]).title == "设计"


@pytest.mark.parametrize("name", ["filename*=nonsense''a.txt", "filename*=a.txt", "filename*=UTF-8''%ff.txt"])
def test_a_broken_file_name_is_no_fault_of_ours(world, alice, name):
    body = f'--cut\r\nContent-Disposition: form-data; name="file"; {name}\r\n\r\ntext\r\n--cut--\r\n'.encode()

    response = alice.post(DOCUMENTS, body, content_type="multipart/form-data; boundary=cut")

    assert response.status_code == 422


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"clearance": 5}, "clearance"),
        ({"clearance": -1}, "clearance"),
        ({"clearance": "high"}, "clearance"),
        ({"metadata": "[1]"}, "metadata"),
        ({"metadata": "{"}, "metadata"),
        ({"metadata": '{"a": 1e999}'}, "metadata"),
        ({"metadata": '{"a": "\\u0000"}'}, "metadata"),
        ({"metadata": '{"a": "\\ud800"}'}, "metadata"),
        ({"metadata": "[" * 100_000}, "metadata"),
        ({"metadata": json.dumps({"a": "x" * 70_000})}, "metadata"),
        ({"title": "t" * 513}, "title"),
        ({"external_id": "t" * 513}, "external_id"),
        ({"sets": ["one"]}, "sets.0"),
        ({"sets": [str(10**30)]}, "sets.0"),
        ({"sets": []}, "sets"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_field_of_an_upload_is_named(world, alice, fields, field):
    response = upload(alice, set_make(world.alice), **fields)

    assert response.status_code == 422
    assert fields_of(response) == {field}


def test_the_file_itself_is_needed(world, alice):
    response = alice.post(DOCUMENTS, {"sets": [set_make(world.alice).pk]}, format="multipart")

    assert fields_of(response) == {"file"}


def test_json_is_no_upload(alice):
    response = alice.post(DOCUMENTS, {"sets": [1]}, format="json")

    assert (response.status_code, error_of(response)["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("name", "content", "status", "code"),
    [
        ("a.txt", b"", 422, "empty_document"),
        ("a.exe", b"MZ", 415, "unsupported_format"),
        ("a", b"text", 415, "unsupported_format"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_at_the_door(world, alice, name, content, status, code):
    response = upload(alice, set_make(world.alice), name=name, content=content)

    assert (response.status_code, error_of(response)["code"]) == (status, code)
    assert not Document.objects.exists()


def test_a_file_over_the_limit_is_refused(world, alice, settings):
    settings.MAX_UPLOAD_BYTES = 10

    response = upload(alice, set_make(world.alice), content=b"x" * 11)

    assert (response.status_code, error_of(response)["code"]) == (413, "upload_too_large")
    assert upload(alice, set_make(world.alice), content=b"x" * 10).status_code == 202


def test_nobody_classifies_above_their_own_clearance(world, alice):
    response = upload(alice, set_make(world.alice), clearance=3)

    assert (response.status_code, error_of(response)["code"]) == (422, "clearance_too_high")


def test_only_owners_add_to_a_set(world, alice, bob, root):
    made = set_make(world.alice)

    assert upload(bob, made).status_code == 404
    assert upload(alice, made, set_make(world.root)).status_code == 404
    assert not Document.objects.exists()
    assert upload(root, made).status_code == 202


# ── many at once ────────────────────────────────────────────────────────────────────────────────


def test_bad_lines_are_named_and_the_others_taken(world, alice):
    made = set_make(world.alice)
    body = (
        line(sets=[made.pk])
        + "\n   \n"
        + "{broken\n"
        + line(external_id="x-2", sets=[10**6])
        + line(external_id="x-3", sets=[made.pk], colour="red")
        + line(external_id="x-4", sets=[made.pk], clearance=4)
        + line(external_id="x-5", sets=[made.pk], format="markdown").rstrip("\n")
    )

    response = bulk(alice, body)

    assert response.status_code == 202
    answer = response.json()
    assert answer["accepted"] == 2
    assert [(row["line"], row["code"]) for row in answer["rejected"]] == [
        (4, "invalid_line"),
        (5, "not_found"),
        (6, "invalid_line"),
        (7, "clearance_too_high"),
    ]
    assert alice.get(f"/api/v1/jobs/{answer['job_id']}").json()["total"] == 2


@pytest.mark.parametrize(
    "bad",
    [
        '{"external_id": "a", "text": "\\ud800"}',
        '{"external_id": "a\\u0000", "text": "t"}',
        '{"external_id": "\\ud800", "text": "t"}',
        '{"external_id": "a", "text": "t", "metadata": {"k": "\\u0000"}}',
        '{"external_id": "a", "text": "t", "metadata": {"k": 1e999}}',
        '{"external_id": "a", "text": "t", "metadata": {"k": "\\ud800"}}',
        '{"external_id": "a", "text": "t", "tags": ["\\u0000"]}',
        '{"external_id": "a", "text": "t", "tenant": "\\u0000"}',
        '{"external_id": "a", "text": "t", "source": "\\u0000"}',
        '{"external_id": "a", "text": "t", "format": []}',
        '{"external_id": "a", "text": "t", "sets": [1e400]}',
        '{"external_id": "a", "text": "t", "sets": [99999999999999999999999]}',
        '{"external_id": 1, "text": "t"}',
        '{"external_id": "a"}',
        '"text"',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_no_line_breaks_the_whole_load(world, alice, bad):
    made = set_make(world.alice)

    response = bulk(alice, (bad + "\n" + line(sets=[made.pk])).encode("utf-8", "surrogateescape"))

    assert response.status_code == 202, response.content
    assert response.json()["accepted"] == 1
    assert [row["line"] for row in response.json()["rejected"]] == [1]


@pytest.mark.parametrize(
    "bad", [b"x\n", b'{"external_id": "a", "text": "t", "' + b"n" * 1000 + b'": 1}\n'], ids=["short", "names"]
)
def test_a_load_of_bad_lines_ends_early_and_stores_nothing(world, alice, bad):
    first = line(sets=[set_make(world.alice).pk]).encode()

    refused = bulk(alice, first + bad * (400_000 // len(bad) + 1000))
    almost = bulk(alice, bad * 999)

    error = error_of(refused)
    assert (refused.status_code, error["code"]) == (422, "too_many_invalid_lines")
    assert [row["line"] for row in error["details"]] == list(range(2, 102))
    assert not Document.objects.exists()
    assert almost.status_code == 202
    assert (len(almost.json()["rejected"]), almost.json()["rejected_count"]) == (100, 999)
    assert max(len(refused.content), len(almost.content)) < 100_000


def test_a_load_may_be_larger_than_a_request_body_usually_is(world, alice, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    made = set_make(world.alice)
    lines = "".join(line(external_id=f"x-{n}", sets=[made.pk], text="word " * 50) for n in range(20))

    assert bulk(alice, lines).json()["accepted"] == 20


def test_a_line_over_the_limit_is_rejected_without_keeping_it(world, alice, monkeypatch):
    monkeypatch.setattr(documents, "MAX_LINE_BYTES", 200)
    made = set_make(world.alice)

    response = bulk(alice, line(sets=[made.pk], text="x" * 100_000) + line(external_id="x-2", sets=[made.pk]))

    assert [row["line"] for row in response.json()["rejected"]] == [1]
    assert response.json()["accepted"] == 1


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/octet-stream"])
def test_a_load_is_taken_under_other_names_too(world, alice, content_type):
    assert bulk(alice, line(sets=[set_make(world.alice).pk]), content_type).json()["accepted"] == 1


def test_a_form_is_no_load(alice):
    assert bulk(alice, b"x", "multipart/form-data; boundary=a").status_code == 415


def test_an_empty_load_is_a_job_that_is_over(alice):
    answer = bulk(alice, b"").json()

    assert (answer["accepted"], answer["rejected"]) == (0, [])
    assert alice.get(f"/api/v1/jobs/{answer['job_id']}").json()["state"] == "succeeded"


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def test_the_list_is_filtered(world, alice):
    one, two = set_make(world.alice), set_make(world.alice)
    first = document_make(one, title="Base station", external_id="x-1")
    failed = document_make(two, state="failed", error_code="corrupt_document", error_message="Damaged.")

    def found(**query: Any) -> list[int]:
        return [row["id"] for row in alice.get(DOCUMENTS, query).json()["results"]]

    assert found() == [failed.pk, first.pk]
    assert found(set=one.pk) == [first.pk]
    assert found(state="failed") == [failed.pk]
    assert found(q="station") == [first.pk]
    assert found(q=f"passage 0 of {first.title[-1:]}nothing") == []
    assert found(external_id="x-1") == [first.pk]
    row = alice.get(DOCUMENTS, {"state": "failed"}).json()["results"][0]
    assert row["error"] == {"code": "corrupt_document", "message": "Damaged."}


@pytest.mark.parametrize(
    "query",
    [{"state": "lost"}, {"set": "one"}, {"set": 10**30}, {"page_size": 501}, {"q": "x" * 201}, {"titel": "x"}],
)
def test_a_bad_filter_is_refused(alice, query):
    assert fields_of(alice.get(DOCUMENTS, query)) == set(query)


def test_five_hundred_rows_fit_on_a_page(world, alice):
    document_make(set_make(world.alice))

    assert alice.get(DOCUMENTS, {"page_size": 500}).json()["count"] == 1
    assert alice.get(DOCUMENTS, {"page": 2}).status_code == 404


def test_the_text_is_served_as_markdown(world, alice):
    document = document_make(set_make(world.alice))

    response = alice.get(f"{DOCUMENTS}/{document.pk}/markdown", headers={"Accept": "text/html"})

    assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert response.content.decode() == document.live_version.markdown


def test_a_document_without_text_has_no_markdown(world, alice):
    document = document_make(set_make(world.alice))
    Document.objects.filter(pk=document.pk).update(live_version=None)

    assert alice.get(f"{DOCUMENTS}/{document.pk}/markdown").status_code == 404
    assert alice.get(f"{DOCUMENTS}/{document.pk}/chunks").json() == []


def test_passages_come_in_reading_order(world, alice):
    document = document_make(set_make(world.alice), chunks=3)

    rows = alice.get(f"{DOCUMENTS}/{document.pk}/chunks").json()

    assert [row["ordinal"] for row in rows] == [0, 1, 2]
    assert set(rows[0]) == {"id", "ordinal", "kind", "heading_path", "text", "page", "tokens", "parent"}


def test_a_deleted_document_is_gone_at_once(world, alice, bob):
    document = document_make(set_make(world.alice))

    assert bob.delete(f"{DOCUMENTS}/{document.pk}").status_code == 404
    assert alice.delete(f"{DOCUMENTS}/{document.pk}").status_code == 204

    assert alice.get(f"{DOCUMENTS}/{document.pk}").status_code == 404
    assert alice.get(DOCUMENTS).json()["count"] == 0


def test_jobs_of_others_are_unknown(world, alice, bob, root):
    job = upload(alice, set_make(world.alice)).json()["job_id"]

    assert root.get(f"/api/v1/jobs/{job}").status_code == 200
    assert error_of(bob.get(f"/api/v1/jobs/{job}"))["code"] == "not_found"


def test_the_number_of_queries_does_not_grow_with_the_documents(world, alice, django_assert_max_num_queries):
    made = set_make(world.alice)
    for _ in range(30):
        document_make(made)

    with django_assert_max_num_queries(9):  # key, its use, groups, two of rights, readers, count, page, sets
        assert len(alice.get(DOCUMENTS).json()["results"]) == 30


def test_the_number_of_queries_does_not_grow_with_the_passages(world, alice, django_assert_max_num_queries):
    document = document_make(set_make(world.alice), chunks=50)

    with django_assert_max_num_queries(14):  # key, its use, groups, passages; document, rights, readers, sets; the log
        assert len(alice.get(f"{DOCUMENTS}/{document.pk}/chunks").json()) == 50


# ── acts of keepers ─────────────────────────────────────────────────────────────────────────────


def test_a_keeper_changes_the_clearance_and_withdraws_a_version(world, alice, bob):
    document = document_make(set_make(world.alice))
    address = f"{DOCUMENTS}/{document.pk}"

    changed = alice.patch(address, {"clearance": 1})

    assert (changed.status_code, changed.json()["clearance"]) == (200, 1)
    assert alice.patch(address, {"clearance": 3}).status_code == 422
    assert fields_of(alice.patch(address, {"state": "live", "clearance": 1})) == {"state"}
    assert bob.patch(address, {"clearance": 0}).status_code == 404
    assert bob.post(f"{address}/versions/1/withdraw").status_code == 404
    withdrawn = alice.post(f"{address}/versions/1/withdraw").json()
    assert (withdrawn["state"], withdrawn["error"]["code"]) == ("failed", "version_withdrawn")
    assert withdrawn["versions"][0]["withdrawn"]


def test_readers_see_the_live_version_only(world, alice, bob):
    document = document_make(set_make(world.alice))
    document.versions.create(number=2, sha256="f" * 64, file_name="failed draft.txt", size_bytes=1)

    numbers = [
        [version["number"] for version in client.get(f"{DOCUMENTS}/{document.pk}").json()["versions"]]
        for client in (alice, bob)
    ]

    assert numbers == [[2, 1], [1]]


def test_a_set_may_be_asked_without_opening_its_documents(world, alice, bob):
    made = set_make(world.alice)
    document = document_make(made)
    assert alice.patch(f"/api/v1/knowledge-sets/{made.pk}", {"originals": "keepers"}).json()["originals"] == "keepers"

    for tail in ("markdown", "chunks"):
        refused = bob.get(f"{DOCUMENTS}/{document.pk}/{tail}")
        assert (refused.status_code, error_of(refused)["code"]) == (403, "originals_withheld")
        assert alice.get(f"{DOCUMENTS}/{document.pk}/{tail}").status_code == 200
    assert bob.get(f"{DOCUMENTS}/{document.pk}").status_code == 200
    assert bob.get(DOCUMENTS, {"q": "passage 0"}).json()["count"] == 0
    assert alice.get(DOCUMENTS, {"q": "passage 0"}).json()["count"] == 1
