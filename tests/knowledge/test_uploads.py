"""Uploads that come at the same moment, and uploads that are larger than anybody wants to have in memory."""

from __future__ import annotations

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.core.files.base import File
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db import transaction

from accounts.models import Tenant
from knowledge.access_errors import QuotaExceededError
from knowledge.models import Document, DocumentVersion
from knowledge.services.bulk import documents_bulk
from knowledge.services.sources import archive_upload
from tests.factories import make_admin, make_set, scope_of
from tests.knowledge.locks import Beside
from tests.knowledge.uploads import upload


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("limits", [{"max_documents": 1}, {"max_megabytes": 1}])
@pytest.mark.parametrize("way", ["upload", "bulk"])
def test_two_uploads_of_one_moment_do_not_pass_a_quota_together(limits, way):
    owner = make_admin()
    shelf = make_set("shelf", owners=[owner])
    Tenant.objects.filter(pk=owner.tenant_id).update(**limits)
    outcome = []

    def second():
        if way == "upload":
            with pytest.raises(QuotaExceededError) as caught:
                upload(owner, shelf, name="second.md", content=b"b" * 600_000)
            outcome.append(caught.value.code)
        else:
            text = "Beams. " * 90_000
            line = json.dumps({"external_id": "x", "text": text, "sets": [shelf.pk]})
            done = documents_bulk(scope=scope_of(owner), actor=owner, lines=[line.encode()])
            outcome.extend(refusal.code for refusal in done.rejected)

    other = Beside(second)
    with transaction.atomic():
        upload(owner, shelf, name="first.md", content=b"a" * 600_000)
        other.start_and_wait_for_lock()
    other.end()

    assert outcome == ["quota_exceeded"]
    assert Document.objects.count() == 1


class Pieces(BytesIO):
    """Bytes that nobody may read as a whole."""

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        assert 0 < size <= 2**20
        return super().read(size)


@pytest.mark.django_db
def test_a_file_is_stored_without_being_in_memory_as_a_whole():
    owner = make_admin()
    shelf = make_set("shelf", owners=[owner])
    content = b"A note about beams.\n" * 200_000
    with TemporaryUploadedFile("note.md", "text/markdown", len(content), None) as sent:
        sent.write(content)
        sent.file = Pieces(content)
        done = upload(owner, shelf, content=sent)
        again = upload(owner, shelf, content=sent)

    version = DocumentVersion.objects.get(document=done.document)
    assert (version.size_bytes, version.file.read()) == (len(content), content)
    assert (again.duplicate, again.document) == (True, done.document)


@pytest.mark.django_db
def test_an_archive_is_taken_in_pieces():
    owner = make_admin()
    shelf = make_set("shelf", owners=[owner])
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr("a.md", b"A note about beams.")
        archive.writestr("b/c.md", b"A note about cells.")

    done = archive_upload(
        scope=scope_of(owner),
        actor=owner,
        sets=[shelf.pk],
        name="notes.zip",
        content=File(Pieces(packed.getvalue()), name="notes.zip"),
    )

    assert len(done.document_ids) == 2
    texts = {row.file.read() for row in DocumentVersion.objects.all()}
    assert texts == {b"A note about beams.", b"A note about cells."}
