"""Stored files that are missing or damaged: told, counted, restored by the same bytes."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.test import Client

from accounts.services import api_key_create
from knowledge.file_errors import FileDamagedError, FileMissingError
from knowledge.models import DocumentVersion
from knowledge.services import ingestion_advance, maintenance_run
from knowledge.services.originals import original_check, original_open
from knowledge.services.reingest import document_rebuild
from ragsite.file_storage import UNFINISHED
from tests.factories import scope_of
from tests.knowledge.uploads import NOTE, upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


@pytest.fixture
def document(owner, common, folder, redis_client):
    result = upload(owner, common)
    ingestion_advance(job_id=result.job.pk)
    result.document.refresh_from_db()
    return result.document


@pytest.fixture
def browser(owner):
    client = Client()
    client.force_login(owner)
    return client


def stored(document) -> Path:
    return Path(document.live_version.file.path)


def lose(document, fault):
    path = stored(document)
    path.unlink() if fault == "missing" else path.write_bytes(b"x" * path.stat().st_size)
    os.utime(path.parent)


FAULTS = ["missing", "damaged"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_lost_original_is_gone_in_words_and_comes_back_with_the_same_bytes(document, owner, common, browser, fault):
    address = f"/documents/{document.pk}/original"
    assert browser.get(address).status_code == 200
    lose(document, fault)

    page = browser.get(address, headers={"accept": "text/html"})
    plain = browser.get(address, headers={"accept": "image/*"})
    again = upload(owner, common)
    back = browser.get(address)

    assert (page.status_code, plain.status_code) == (410, 410)
    assert page["Cache-Control"] == plain["Cache-Control"] == "no-store"  # browsers keep a 410 otherwise
    assert f"{fault} on the server" in page.content.decode()
    assert "Upload the same file again" in plain.content.decode()
    assert again.document == document
    assert again.job is None
    assert back.status_code == 200
    assert b"".join(back.streaming_content) == NOTE
    assert not DocumentVersion.objects.exclude(file_fault="").exists()


def test_a_damaged_original_of_the_same_size_is_replaced_by_a_new_document_with_its_bytes(document, common, owner):
    lose(document, "damaged")

    upload(owner, common, external_id="another")

    assert stored(document).read_bytes() == NOTE


def test_an_original_is_read_as_a_whole_once_and_again_when_the_file_changes(document, monkeypatch):
    DocumentVersion.objects.update(file_verified="")  # ingestion has read it already
    version = DocumentVersion.objects.get(pk=document.live_version_id)
    read = []
    monkeypatch.setattr("knowledge.services.originals._digest", lambda file: read.append(file) or version.sha256)

    original_check(version)
    original_check(DocumentVersion.objects.get(pk=version.pk))
    once = len(read)
    os.utime(stored(document), (1, 1))
    original_check(DocumentVersion.objects.get(pk=version.pk))

    assert (once, len(read)) == (1, 2)


@pytest.mark.parametrize(("fault", "code"), [("missing", "file_missing"), ("damaged", "file_damaged")])
def test_a_document_is_not_read_again_from_a_lost_original(document, owner, fault, code):
    lose(document, fault)
    live = document.live_version_id
    DocumentVersion.objects.update(parsed="")

    job = document_rebuild(scope=scope_of(owner), actor=owner, document_id=document.pk)
    ingestion_advance(job_id=job.pk)
    document.refresh_from_db()

    assert document.error_code == code
    assert document.live_version_id == live


def test_the_command_names_what_is_lost_and_counts_what_belongs_to_nothing(document, owner, common, capsys):
    other = upload(owner, common, name="other.md", content=b"# Other\n\nText.").document
    lose(document, "missing")
    Path(other.versions.get().file.path).write_bytes(b"# Other\n\nTexT.")
    default_storage.save(f"{document.tenant_id}/ab/orphan.md", ContentFile(b"nobody's"))
    os.utime(default_storage.path(f"{document.tenant_id}/ab/orphan.md"), (1, 1))

    with pytest.raises(SystemExit) as left:
        call_command("check_files")
    told = capsys.readouterr().out
    for content in (NOTE, b"# Other\n\nText."):
        upload(owner, common, name="other.md" if content != NOTE else "note.md", content=content)
    call_command("check_files", "--full")

    assert left.value.code == 1
    assert f"document {document.pk} version 1" in told
    assert "original is missing" in told
    assert f"document {other.pk} version 1" in told
    assert "original is damaged" in told
    assert "1 files (8 bytes)" in told
    assert "All other files are there." in capsys.readouterr().out


def test_the_weekly_upkeep_finds_what_is_lost_before_a_reader_does(document, caplog, monkeypatch):
    monkeypatch.setattr("knowledge.services.maintenance.indexes_rebuild", list)
    lose(document, "missing")

    maintenance_run()

    assert "a stored file is not as its row says" in caplog.text
    assert DocumentVersion.objects.get(pk=document.live_version_id).file_fault == "missing"


def test_what_was_made_of_an_original_is_made_again(document, capsys):
    version = DocumentVersion.objects.get(pk=document.live_version_id)
    version.rendition.save("", ContentFile(b"%PDF"))
    Path(version.rendition.path).unlink()

    with pytest.raises(SystemExit):
        call_command("check_files")
    call_command("check_files", "--repair")
    version.refresh_from_db()

    assert not version.rendition
    assert "PDF for pictures of pages is missing" in capsys.readouterr().out


def test_the_api_says_that_the_file_is_gone(document, owner):
    _, key = api_key_create(user=owner, name="tests")
    lose(document, "missing")

    with pytest.raises(FileMissingError):
        original_open(DocumentVersion.objects.get(pk=document.live_version_id))
    answer = Client().get(f"/api/v1/documents/{document.pk}", headers={"authorization": f"Bearer {key}"})

    assert answer.status_code == 200


# ── how files are written ───────────────────────────────────────────────────────────────────────


class FullDisk(BytesIO):
    """A file whose second piece does not fit on the disk."""

    def read(self, *size):
        if self.tell():
            raise OSError(28, "No space left on device")
        return super().read(4)


def test_a_file_that_does_not_fit_leaves_nothing(folder):
    content = ContentFile(b"")
    content.file = FullDisk(b"too long")
    content.size = 8

    with pytest.raises(OSError, match="No space"):
        default_storage.save("1/ab/long.md", content)

    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_files_of_one_name_both_stay(folder):
    first = default_storage.save("1/ab/a.md", ContentFile(b"first"))
    second = default_storage.save("1/ab/a.md", ContentFile(b"second"))

    assert first == "1/ab/a.md"
    assert default_storage.open(first).read() == b"first"
    assert default_storage.open(second).read() == b"second"
    assert not list(folder.rglob(f"*{UNFINISHED}"))


def test_a_damaged_original_is_not_served_half(document):
    lose(document, "damaged")

    with pytest.raises(FileDamagedError):
        original_open(DocumentVersion.objects.get(pk=document.live_version_id))
