"""Runs of folder sources: what is new, what has changed, what is gone."""

from __future__ import annotations

import os

import pytest

from knowledge.errors import FolderNotAllowedError, SourcePausedError
from knowledge.models import Document, IngestItem
from tests.factories import make_set, run_job
from tests.knowledge.sources.building import counts, folder_source, here, run, sync_run

pytestmark = pytest.mark.django_db(transaction=False)


def test_files_become_documents_named_by_their_path(owner, shelf):
    (shelf / "radio").mkdir()
    (shelf / "radio" / "beams.md").write_text("# Beams\n\nNarrow.")
    (shelf / "note.txt").write_text("A note.")
    source = folder_source(owner, shelf, options={"tags": ["shelf"], "clearance": 1, "metadata": {"lang": "en"}})

    job = run(owner, source)

    assert counts(job) == {"found": 2, "new": 2}
    assert here(source) == ["note.txt", "radio/beams.md"]
    document = Document.objects.get(external_id="radio/beams.md")
    assert (document.tags, document.clearance, document.metadata) == (["shelf"], 1, {"lang": "en"})
    assert document.versions.get().sent_as == "radio/beams.md"
    assert IngestItem.objects.filter(job=job).count() == 2
    source.refresh_from_db()
    assert (source.outcome, source.message, source.next_run) == ("succeeded", "", None)


def test_what_arrived_goes_live_by_ingestion(owner, shelf):
    (shelf / "beams.md").write_text("# Beams\n\nNarrow beams reach far.")
    source = folder_source(owner, shelf)

    job = run(owner, source)
    run_job(job.pk)

    assert Document.objects.get(source=source).state == "live"


def test_a_second_run_finds_everything_unchanged(owner, shelf):
    (shelf / "a.txt").write_text("one")
    source = folder_source(owner, shelf)
    run(owner, source)

    job = run(owner, source)

    assert counts(job) == {"found": 1, "unchanged": 1}
    assert not IngestItem.objects.filter(job=job).exists()


def test_a_touched_file_with_the_same_bytes_makes_no_version(owner, shelf):
    file = shelf / "a.txt"
    file.write_text("one")
    source = folder_source(owner, shelf)
    run(owner, source)
    os.utime(file, ns=(1, 1))

    job = run(owner, source)

    assert counts(job) == {"found": 1, "unchanged": 1}
    document = Document.objects.get(source=source)
    assert document.versions.count() == 1
    assert document.handled["seen"]["mtime_ns"] == 1


def test_other_bytes_make_a_new_version_of_the_same_document(owner, shelf):
    (shelf / "a.txt").write_text("one")
    source = folder_source(owner, shelf)
    run(owner, source)
    (shelf / "a.txt").write_text("one and more")

    job = run(owner, source)

    assert counts(job) == {"found": 1, "changed": 1}
    assert [v.number for v in Document.objects.get(source=source).versions.all()] == [2, 1]


def test_globs_choose_what_is_taken(owner, shelf):
    for name in ("a.md", "b.md", "c.txt"):
        (shelf / name).write_text(name)
    source = folder_source(owner, shelf, options={"include": ["*.MD"], "exclude": ["b.*"]})

    run(owner, source)

    assert here(source) == ["a.md"]


def test_what_cannot_be_taken_is_named_and_the_rest_goes_on(owner, shelf):
    (shelf / "empty.txt").write_text("")
    (shelf / "program.exe").write_bytes(b"MZ")
    (shelf / "good.txt").write_text("good")
    source = folder_source(owner, shelf)

    job = run(owner, source)

    assert {one["path"]: one["code"] for one in job.report["refused"]} == {
        "empty.txt": "empty_document",
        "program.exe": "unsupported_format",
    }
    assert counts(job) == {"found": 3, "new": 1}
    source.refresh_from_db()
    assert source.message == "2 items of the source could not be imported."


def test_links_lead_nowhere_outside(owner, shelf, tmp_path):
    secret = tmp_path.parent / f"{tmp_path.name}-secret.txt"
    secret.write_text("secret")
    (shelf / "real.txt").write_text("real")
    (shelf / "inside.txt").symlink_to(shelf / "real.txt")
    (shelf / "outside.txt").symlink_to(secret)
    (shelf / "folder").symlink_to(tmp_path.parent)
    (shelf / "ring").symlink_to(shelf / "ring")
    source = folder_source(owner, shelf)

    job = run(owner, source)

    assert here(source) == ["inside.txt", "real.txt"]
    codes = {one["path"]: one["code"] for one in job.report["refused"]}
    assert codes["outside.txt"] == codes["folder"] == "outside_folder"
    assert "ring" in codes


def test_no_folder_may_be_read_unless_the_operator_says_so(owner, tmp_path, settings):
    settings.SOURCE_FOLDERS = ()

    with pytest.raises(FolderNotAllowedError, match="Folders and hosts"):
        folder_source(owner, tmp_path)


@pytest.mark.parametrize("place", ["/etc", "shelf", "{shelf}/../..", "{shelf}-sibling", "{shelf}/missing"])
def test_places_outside_what_the_operator_allows_are_refused(owner, shelf, settings, place):
    settings.SOURCE_FOLDERS = (str(shelf),)
    (shelf.parent / "shelf-sibling").mkdir()

    with pytest.raises(FolderNotAllowedError):
        folder_source(owner, place.format(shelf=shelf))


def test_a_link_that_becomes_the_folder_later_is_refused_at_the_run(owner, shelf, settings, tmp_path):
    settings.SOURCE_FOLDERS = (str(shelf),)
    (shelf / "sub").mkdir()
    source = folder_source(owner, shelf / "sub")
    (shelf / "sub").rmdir()
    (shelf / "sub").symlink_to("/etc")

    with pytest.raises(SourcePausedError, match="Folders and hosts"):
        run(owner, source)

    assert here(source) == []


# ── what is missing ─────────────────────────────────────────────────────────────────────────────


def filled(shelf, number):
    for n in range(number):
        (shelf / f"{n:02}.txt").write_text(f"file {n}")


def test_what_is_gone_stays_unless_the_source_says_otherwise(owner, shelf):
    filled(shelf, 3)
    source = folder_source(owner, shelf)
    run(owner, source)
    (shelf / "01.txt").unlink()

    run(owner, source)

    assert here(source) == ["00.txt", "01.txt", "02.txt"]


def test_what_is_gone_is_deleted_where_the_source_says_so(owner, shelf):
    filled(shelf, 3)
    source = folder_source(owner, shelf, options={"delete_missing": True})
    run(owner, source)
    (shelf / "01.txt").unlink()

    job = run(owner, source)

    assert counts(job) == {"found": 2, "unchanged": 2, "deleted": 1}
    assert here(source) == ["00.txt", "02.txt"]
    assert Document.objects.get(external_id="01.txt").state == "deleted"


def test_an_empty_folder_deletes_nothing_and_says_so(owner, shelf):
    filled(shelf, 3)
    source = folder_source(owner, shelf, options={"delete_missing": True, "delete_at_most_percent": 100})
    run(owner, source)
    for file in shelf.iterdir():
        file.unlink()

    job = run(owner, source)

    assert len(here(source)) == 3
    assert [note["code"] for note in job.report["notes"]] == ["not_deleted"]


def test_a_large_part_is_not_deleted_at_once(owner, shelf):
    filled(shelf, 24)
    source = folder_source(owner, shelf, options={"delete_missing": True})
    run(owner, source)
    for n in range(13):
        (shelf / f"{n:02}.txt").unlink()

    job = run(owner, source)

    assert len(here(source)) == 24
    assert job.report["notes"][0]["message"].startswith("13 of 24 documents are missing")


def test_nothing_is_deleted_where_the_list_was_cut_short(owner, shelf):
    filled(shelf, 3)
    source = folder_source(owner, shelf, options={"delete_missing": True})
    run(owner, source)
    source.options = {"delete_missing": True, "max_documents": 2}
    source.save()

    job = run(owner, source)

    assert len(here(source)) == 3
    assert {note["code"] for note in job.report["notes"]} == {"limit_reached", "not_deleted"}


def test_a_folder_that_vanished_deletes_nothing(owner, shelf):
    filled(shelf, 2)
    source = folder_source(owner, shelf, options={"delete_missing": True})
    run(owner, source)
    shelf.rename(shelf.with_name("elsewhere"))

    with pytest.raises(SourcePausedError, match="no such folder"):
        run(owner, source)

    assert len(here(source)) == 2


def test_a_file_that_became_unreadable_is_not_missing(owner, shelf):
    filled(shelf, 2)
    source = folder_source(owner, shelf, options={"delete_missing": True})
    run(owner, source)
    (shelf / "01.txt").write_text("")

    run(owner, source)

    assert here(source) == ["00.txt", "01.txt"]


# ── running twice ───────────────────────────────────────────────────────────────────────────────


def test_a_message_that_comes_twice_runs_once(owner, shelf):
    filled(shelf, 1)
    job = run(owner, folder_source(owner, shelf))
    filled(shelf, 2)

    again = sync_run(job_id=job.pk)

    assert again.report == job.report


def test_documents_of_a_source_stand_in_sets_of_others_and_are_still_renewed_by_it(owner, shelf):
    (shelf / "a.txt").write_text("one")
    source = folder_source(owner, shelf)
    run(owner, source)
    Document.objects.get(source=source).sets.add(make_set("strange"))
    (shelf / "a.txt").write_text("two")

    assert counts(run(owner, source)) == {"found": 1, "changed": 1}
