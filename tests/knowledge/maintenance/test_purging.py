"""What the purge removes, and what it must never remove."""

import os
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import transaction

from chat.models import Conversation, Message, MessageCitation
from knowledge.indexes.statements import files_lock_exclusive
from knowledge.models import Chunk, Document, DocumentVersion, IndexEntry, IngestItem, LexiconTerm, Term
from knowledge.services.deletion import PurgeResult, purge
from knowledge.services.maintenance import index_check
from tests.factories import ingest
from tests.knowledge.locks import Beside
from tests.knowledge.maintenance.conftest import ago

pytestmark = pytest.mark.django_db


def cite(owner, version):
    """A stored answer that points to the first passage of a version."""
    conversation = Conversation.objects.create(tenant=owner.tenant, user=owner)
    message = Message.objects.create(conversation=conversation, question="?")
    chunk = version.chunks.first()
    return MessageCitation.objects.create(
        message=message, number=1, chunk=chunk, document=version.document, version=version
    )


def make_old(folder):
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))


def stored(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_version_replaced_long_ago_goes_with_passages_entries_and_original(replaced, files):
    document = replaced(days=31)
    old = document.versions.get(number=1)
    make_old(files)

    done = purge(days=30)

    assert (done.versions, done.documents, done.files) == (1, 0, 1)
    assert not Chunk.objects.filter(version_id=old.pk).exists()
    assert not IndexEntry.objects.filter(version_id=old.pk).exists()
    assert [path.name for path in stored(files)] == [Path(document.live_version.file.name).name]
    assert index_check() == []


def test_a_version_replaced_a_short_time_ago_stays(replaced):
    document = replaced(days=29)

    assert purge(days=30).versions == 0
    assert document.versions.count() == 2


@pytest.mark.parametrize("protects", ["version", "chunk"])
def test_what_a_citation_needs_stays_for_ever(replaced, owner, files, protects):
    document = replaced(days=400)
    old = document.versions.get(number=1)
    citation = cite(owner, old)
    if protects == "chunk":  # only the passage itself is of the old version
        MessageCitation.objects.update(version=document.live_version)
    make_old(files)

    assert purge(days=30) == PurgeResult()
    citation.refresh_from_db()
    assert citation.chunk.text == "the first text about a heterodyne"
    assert old.file.storage.exists(old.file.name)


def test_a_cited_version_of_a_deleted_document_stays_and_its_other_versions_go(replaced, owner):
    document = replaced(days=400)
    cite(owner, document.versions.get(number=1))
    Document.objects.filter(pk=document.pk).update(deleted=ago(400), state="deleted")

    purge(days=30)

    assert list(DocumentVersion.objects.values_list("number", flat=True)) == [1]
    assert Document.objects.filter(pk=document.pk).exists()


def test_a_citation_made_while_the_purge_runs_wins(replaced, owner, monkeypatch):
    document = replaced(days=31)
    old = document.versions.get(number=1)
    delete = DocumentVersion.delete

    def cited_meanwhile(version):
        cite(owner, version)
        return delete(version)

    monkeypatch.setattr(DocumentVersion, "delete", cited_meanwhile)

    assert purge(days=30).versions == 0
    assert old.chunks.exists()
    assert IndexEntry.objects.filter(version=old).exists()


def test_a_deleted_document_goes_with_all_that_is_its_own(deleted, files):
    document = deleted(days=31)
    make_old(files)

    done = purge(days=30)

    assert (done.versions, done.documents, done.files) == (1, 1, 1)
    assert not Document.objects.filter(pk=document.pk).exists()
    assert stored(files) == []


def test_terms_that_no_entry_contains_go_and_the_others_stay(deleted, owner, common):
    deleted(days=31)
    ingest(owner, common, kept="a text about something else")
    assert Term.objects.filter(text="regen", frequency=0).exists()

    done = purge(days=30)

    assert done.terms > 0
    assert not Term.objects.filter(frequency=0).exists()
    assert index_check() == []


def test_an_original_that_another_version_needs_stays(deleted, owner, common, files):
    document = deleted(days=31)
    with document.versions.get().file.open("rb") as file:
        text = file.read().decode()
    again = ingest(owner, common, gone=text)["gone"]
    make_old(files)

    assert purge(days=30).documents == 1
    assert again.live_version.file.storage.exists(again.live_version.file.name)


def test_a_fresh_file_without_a_row_stays_because_its_row_may_be_on_its_way(replaced, files):
    replaced(days=1)
    fresh, old = files / "1" / "ab" / "fresh.txt", files / "1" / "ab" / "old.txt"
    fresh.parent.mkdir(parents=True, exist_ok=True)
    fresh.write_text("an upload that is not committed yet")
    old.write_text("an upload that was rolled back long ago")
    os.utime(old, (1, 1))

    assert purge(days=30).files == 1
    assert (fresh.exists(), old.exists()) == (True, False)


def test_folders_that_are_no_tenants_are_left_alone(replaced, files):
    replaced(days=1)
    other = files / "exports" / "report.csv"
    other.parent.mkdir()
    other.write_text("not ours")
    make_old(files)

    purge(days=30)

    assert other.exists()


def test_a_version_that_failed_long_ago_goes_once_a_newer_one_is_there(replaced):
    document = replaced(days=1)
    failed = DocumentVersion.objects.create(document=document, number=3, sha256="x", file_name="x.txt", size_bytes=1)
    DocumentVersion.objects.filter(pk=failed.pk).update(created=ago(31))
    assert purge(days=30).versions == 0, "it is the newest and can be tried again"

    DocumentVersion.objects.create(document=document, number=4, sha256="y", file_name="y.txt", size_bytes=1)

    assert purge(days=30).versions == 1


def test_a_version_that_somebody_works_on_stays(deleted):
    document = deleted(days=31)
    IngestItem.objects.update(finished=None)

    assert purge(days=30).versions == 0
    assert document.versions.exists()


def test_a_dry_run_counts_and_removes_nothing(replaced, deleted, files, capsys):
    replaced(days=31)
    deleted(days=31)
    make_old(files)
    before = stored(files)

    call_command("purge", "--dry-run", "--days", "30")

    assert "Would remove 2 versions" in capsys.readouterr().out
    assert DocumentVersion.objects.count() == 3
    assert stored(files) == before


def test_a_purge_twice_removes_nothing_the_second_time(replaced, deleted, files):
    replaced(days=31)
    deleted(days=31)
    make_old(files)
    purge(days=30)

    assert purge(days=30) == PurgeResult()


def test_a_term_quotes_only_documents_that_are_there(replaced, deleted, owner, common):
    gone = {
        "a version that is purged": replaced(days=31, key="a").versions.get(number=1).pk,
        "a deleted document": deleted(days=1).live_version_id,
        "an unknown document": None,
    }
    withdrawn = ingest(owner, common, back="a text that was taken back")["back"].live_version
    DocumentVersion.objects.filter(pk=withdrawn.pk).update(withdrawn=ago(1))
    old = replaced(days=1, key="b").versions.get(number=1).pk
    for text, version in {**gone, "a withdrawn version": withdrawn.pk, "a version that is kept": old}.items():
        LexiconTerm.objects.create(
            tenant=owner.tenant, text=text, key=text, evidence=f"words of {text}", evidence_version=version
        )

    assert purge(days=30, dry_run=True).quotations == 3  # one version is still there
    assert purge(days=30).quotations == 4

    quoted = LexiconTerm.objects.exclude(evidence="").values_list("evidence", "evidence_version")
    assert list(quoted) == [("words of a version that is kept", old)]


@pytest.mark.django_db(transaction=True)
def test_the_purge_waits_for_an_upload_that_names_a_stored_file(owner, common, deleted):
    """Otherwise the same bytes, sent again at this moment, would lose their original."""
    deleted(days=31)
    purging = Beside(lambda: files_locked(owner.tenant_id))

    with transaction.atomic():
        ingest(owner, common, again="the same bytes again")
        purging.start_and_wait_for_lock("advisory")

        assert purging.is_alive()

    purging.end()


def files_locked(tenant_id):
    with transaction.atomic():
        files_lock_exclusive(tenant_id=tenant_id)
