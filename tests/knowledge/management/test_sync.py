"""`manage.py sync`: a folder and a knowledge set in step."""

from __future__ import annotations

import pytest
import watchfiles
from django.core.management import CommandError, call_command

from knowledge.management import progress
from knowledge.models import Document, IngestItem, Source
from tests.factories import make_admin, make_set, run_job


@pytest.fixture
def home(db):
    return make_set("home", owners=[make_admin("admin")])


@pytest.fixture(autouse=True)
def working(monkeypatch):
    """A worker: whenever the command looks how far things are, open jobs are worked on first."""

    def sleep(seconds: float) -> None:
        for job in set(IngestItem.objects.filter(finished=None).values_list("job", flat=True)):
            run_job(job)

    monkeypatch.setattr(progress.time, "sleep", sleep)


@pytest.fixture
def shelf(tmp_path):
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nThe first text.")
    (folder / "b.txt").write_text("The second text.")
    return folder


def states():
    return dict(Document.objects.values_list("external_id", "state"))


def test_a_folder_goes_live_in_a_set(home, shelf, capsys):
    call_command("sync", shelf, code="home")

    assert states() == {"a.md": "live", "b.txt": "live"}
    assert home.documents.count() == 2
    assert Source.objects.get(name="shelf").location == str(shelf)
    assert "2 found, 2 new, 0 changed" in capsys.readouterr().out


def test_a_second_call_takes_only_what_has_changed(home, shelf, capsys):
    call_command("sync", shelf, code="home")
    (shelf / "a.md").write_text("# A\n\nAnother text.")
    (shelf / "b.txt").unlink()

    call_command("sync", shelf, code="home")

    assert "1 found, 0 new, 1 changed" in capsys.readouterr().out
    assert states() == {"a.md": "live", "b.txt": "live"}


def test_what_is_gone_is_deleted_on_request(home, shelf):
    call_command("sync", shelf, code="home")
    (shelf / "b.txt").unlink()

    call_command("sync", shelf, code="home", delete=True)

    assert states() == {"a.md": "live", "b.txt": "deleted"}


def test_failures_are_printed_and_end_with_1(home, shelf, capsys):
    (shelf / "odd.xyz").write_text("?")

    with pytest.raises(SystemExit) as ended:
        call_command("sync", shelf, code="home")

    assert ended.value.code == 1
    assert "odd.xyz: " in capsys.readouterr().err
    assert states() == {"a.md": "live", "b.txt": "live"}


def test_watching_takes_what_changes(home, shelf, monkeypatch):
    def changes(*places, **options):
        (shelf / "c.md").write_text("# C\n\nLate.")
        yield {("added", str(shelf / "c.md"))}

    monkeypatch.setattr(watchfiles, "watch", changes)

    call_command("sync", shelf, code="home", watch=True)

    assert states()["c.md"] == "live"


@pytest.mark.parametrize(
    "arguments", [{"code": "no-such"}, {"code": "home", "user": "nobody"}, {"code": "home", "source": "taken"}]
)
def test_what_cannot_be_is_said(home, shelf, arguments):
    Source.objects.create(tenant=home.tenant, name="taken")

    with pytest.raises(CommandError):
        call_command("sync", shelf, **arguments)


def test_a_folder_that_is_not_there_is_said(home, tmp_path):
    with pytest.raises(CommandError, match="no folder"):
        call_command("sync", tmp_path / "missing", code="home")
