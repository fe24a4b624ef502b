"""The client programs of the documentation do what their page says, against a real site."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from accounts.services import api_key_create
from knowledge.models import Document, IngestJob
from ragsite.embedded.processes import wait_until
from tests.database import database
from tests.factories import ingest, make_set, make_user, run_job
from tests.live_site import serving_site

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "clients"
QUESTION = "How many steps does the random access procedure have?"
TEXT = "The random access procedure has four steps. The preamble is sent on PRACH."
SECONDS = 90

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(240)]


@dataclass(frozen=True)
class Site:
    """A running site, a key for it, and a set that its user owns."""

    url: str
    key: str
    set_id: int

    def command(self, *command: str) -> dict:
        environment = {**os.environ, "SITE": self.url, "KEY": self.key, "PYTHONIOENCODING": "utf-8"}
        return {"args": list(command), "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}

    def run(self, *command: str) -> subprocess.CompletedProcess:
        return subprocess.run(**self.command(*command), text=True, timeout=SECONDS, check=False)


@pytest.fixture(autouse=True)
def _django_db_helper():
    """In place of pytest-django's: the rows must be seen by another process, so no test is wrapped in a transaction."""


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker, tmp_path_factory):
    with django_db_blocker.unblock():
        owner = make_user()
        kept = make_set("radio", owners=[owner])
        ingest(owner, kept, ra=TEXT)
        key = api_key_create(user=owner, name="example")[1]
        try:
            with serving_site(tmp_path_factory.mktemp("site")) as url:
                yield Site(url, key, kept.pk)
        finally:
            database.restore()


def test_the_page_names_every_program_and_no_other():
    named = set(
        re.findall(
            r"\]\((ask\.\w+|upload\.\w+|quality-gate\.yml)\)", (FOLDER / "README.md").read_text(encoding="utf-8")
        )
    )

    assert named == {path.name for path in FOLDER.iterdir() if path.suffix != ".md"}


@pytest.mark.parametrize(
    "command",
    [
        (sys.executable, "ask.py"),
        ("sh", "ask.sh"),
        pytest.param(("node", "ask.mjs"), marks=pytest.mark.skipif(not shutil.which("node"), reason="needs node")),
    ],
    ids=lambda command: command[1],
)
def test_a_question_is_searched_answered_and_streamed(site, command):
    program, file = command

    done = site.run(program, str(FOLDER / file), QUESTION)

    assert done.returncode == 0, done.stdout
    assert done.stdout.count("four steps") >= 2, done.stdout  # the answer and the stream
    assert "ra" in done.stdout
    assert done.stdout.index("four steps") < done.stdout.rindex("four steps")


@pytest.mark.full
@pytest.mark.parametrize(
    "command",
    [
        (sys.executable, "ask.py"),
        ("sh", "ask.sh"),
        pytest.param(("node", "ask.mjs"), marks=pytest.mark.skipif(not shutil.which("node"), reason="needs node")),
    ],
    ids=lambda command: command[1],
)
def test_a_wrong_key_is_told_and_ends_the_program(site, command):
    stranger = Site(site.url, "rs_wrong", 0)

    done = stranger.run(command[0], str(FOLDER / command[1]), QUESTION)

    assert done.returncode != 0
    assert "not_authenticated" in done.stdout


def test_a_file_is_uploaded_and_waited_for(site, tmp_path, django_db_blocker):
    file = tmp_path / "handover.md"
    file.write_text("# Handover\n\nA handover moves a terminal to another cell.\n", encoding="utf-8")
    with (
        django_db_blocker.unblock(),
        subprocess.Popen(
            **site.command(sys.executable, str(FOLDER / "upload.py"), str(file), str(site.set_id)), text=True
        ) as upload,
    ):
        jobs = IngestJob.objects.filter(items__version__document__external_id=file.name)
        assert wait_until(jobs.exists, seconds=30, unless=lambda: upload.poll() is not None)
        run_job(jobs.get().pk)  # what a worker does
        said, _ = upload.communicate(timeout=SECONDS)
        state = Document.objects.get(external_id=file.name).state

    assert upload.returncode == 0, said
    assert state == "live"
    assert said.strip().endswith("is live")
