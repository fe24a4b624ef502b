"""`manage.py ingest`: files and folders, with what failed and why."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from knowledge.management import progress
from knowledge.management.commands.ingest import files_in
from knowledge.models import Document, IngestItem
from tests.factories import make_admin, make_set, make_user, run_job


@pytest.fixture
def home(db):
    return make_set("home", owners=[make_admin("admin")])


@pytest.fixture
def working(monkeypatch):
    """A worker: whenever the command looks how far things are, open jobs are worked on first."""

    def sleep(seconds: float) -> None:
        for job in set(IngestItem.objects.filter(finished=None).values_list("job", flat=True)):
            run_job(job)

    monkeypatch.setattr(progress.time, "sleep", sleep)


def test_folders_are_read_recursively_and_hidden_files_are_left_out(tmp_path):
    for name in ("b.md", "deep/a.txt", ".hidden.md", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")

    assert [path.name for path in files_in([tmp_path])] == ["b.md", "a.txt"]


def test_files_are_ingested_and_the_command_waits_until_they_are_live(home, working, tmp_path, capsys):
    (tmp_path / "a.md").write_text("# A\n\nThe first text.")
    (tmp_path / "b.txt").write_text("The second text.")

    call_command("ingest", tmp_path, code="home")

    assert dict(Document.objects.values_list("title", "state")) == {"a": "live", "b": "live"}
    assert "2 of 2 files are in." in capsys.readouterr().out


def test_failures_are_printed_with_code_and_message_and_end_with_1(home, working, tmp_path, capsys):
    (tmp_path / "good.md").write_text("# A\n\nText.")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 not really")
    (tmp_path / "odd.xyz").write_text("?")

    with pytest.raises(SystemExit) as ended:
        call_command("ingest", tmp_path, code="home")

    printed = capsys.readouterr()
    assert ended.value.code == 1
    assert "(unsupported_format)" in printed.err
    assert "broken: " in printed.err
    assert "1 of 3 files are in." in printed.out


def test_a_set_that_the_user_does_not_manage_is_refused(home, tmp_path):
    make_user("guest")

    with pytest.raises(CommandError, match="guest manages no knowledge set"):
        call_command("ingest", tmp_path, code="home", user="guest")
