"""New versions of documents by the API."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.api.test_documents import DOCUMENTS, upload
from tests.api.world import fields_of, set_make


def test_a_file_becomes_the_next_version_of_a_document_that_the_sender_keeps(world, alice):
    made = set_make(world.alice)
    first = upload(alice, made, name="a.txt", content=b"first text").json()

    second = alice.post(
        DOCUMENTS,
        {"file": SimpleUploadedFile("b.txt", b"second text"), "new_version_of": first["document_id"]},
        format="multipart",
    )

    assert (second.status_code, second.json()["document_id"]) == (202, first["document_id"])
    shown = alice.get(f"{DOCUMENTS}/{first['document_id']}").json()
    assert ([one["file_name"] for one in shown["versions"]], shown["sets"]) == (["b.txt", "a.txt"], [made.pk])


def test_a_new_version_has_no_source_of_its_own(world, alice):
    made = set_make(world.alice)
    first = upload(alice, made).json()

    refused = upload(alice, made, new_version_of=first["document_id"], external_id="x")

    assert refused.status_code == 422
    assert fields_of(refused) == {"new_version_of"}
