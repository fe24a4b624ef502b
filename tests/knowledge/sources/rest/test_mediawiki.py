"""MediaWiki itself with SQLite, served by PHP; Debian brings it: `apt-get install mediawiki php-sqlite3`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from knowledge.connectors.rest import listing
from knowledge.models import Document
from knowledge.services.sources.connectors import connector_of
from tests.contracts.connector import ConnectorContract
from tests.factories import run_job
from tests.knowledge.sources.building import counts, here, run
from tests.knowledge.sources.rest.php import free_port, php_required, php_served

pytestmark = [pytest.mark.django_db(transaction=False), pytest.mark.full]

PROGRAM = Path("/usr/share/mediawiki")
PASSWORD = "a password of length 28 or so"  # noqa: S105
MAX_SECONDS = 120


class Wiki:
    """A wiki in a folder. Its own programs of maintenance write and delete pages."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.settings = folder / "LocalSettings.php"
        address = f"http://127.0.0.1:{self.port}"
        places = ["--dbtype", "sqlite", "--dbpath", str(folder), "--confpath", str(folder), "--scriptpath", ""]
        self.php("install.php", *places, "--server", address, "--pass", PASSWORD, "Wiki", "Mei")

    def write(self, title: str, text: str) -> None:
        self.php("edit.php", "--conf", str(self.settings), "--summary", "said", title, text=text)

    def delete(self, title: str) -> None:
        self.php("deleteBatch.php", "--conf", str(self.settings), text=f"{title}\n")

    def php(self, program: str, *arguments: str, text: str = "") -> None:
        command = ["php", str(PROGRAM / "maintenance" / program), *arguments]
        done = subprocess.run(  # noqa: S603
            command, input=text.encode(), capture_output=True, timeout=MAX_SECONDS, env={**os.environ}, check=False
        )
        assert done.returncode == 0, (done.stdout + done.stderr).decode()


@pytest.fixture
def wiki(tmp_path) -> Wiki:
    php_required(PROGRAM)
    made = Wiki(tmp_path)
    made.write("Beams", "== Reach ==\nNarrow beams reach '''far'''.\n")
    made.write("无线/寻呼", '{| class="wikitable"\n! 参数 !! 值\n|-\n| 周期 || 32\n|}\n')
    return made


@pytest.fixture
def source(connected, wiki) -> Iterator:
    env = {"MW_CONFIG_FILE": str(wiki.settings)}
    first = "/api.php?action=query&format=json"
    with php_served(PROGRAM, port=wiki.port, log=wiki.folder / "php.log", first=first, env=env) as address:
        yield connected("mediawiki", address, options={"delete_missing": True})


class TestMediaWiki(ConnectorContract):
    @pytest.fixture
    def made(self, source):
        return lambda: connector_of(source)


def test_pages_come_in_change_and_go(owner, wiki, source, monkeypatch):
    job = run(owner, source)

    assert (job.report["faults"], job.report["refused"]) == ([], [])
    assert len(here(source)) == 3  # the first page of a new wiki, too
    run_job(job.pk)
    document = Document.objects.get(source=source, title="无线/寻呼")
    assert document.metadata["path"] == "无线"
    assert document.metadata["link"].startswith("http://127.0.0.1")
    assert "| 周期 | 32 |" in document.live_version.chunks.first().text

    wiki.write("Beams", "Wide beams reach less far.")
    wiki.delete("无线/寻呼")
    source.refresh_from_db()
    job = run(owner, source)
    assert (job.report["changed"], job.report["deleted"], job.report["refused"]) == (1, 0, [])

    later = listing.now() + timedelta(hours=25)
    monkeypatch.setattr(listing, "now", lambda: later)
    source.refresh_from_db()
    assert counts(run(owner, source)) == {"found": 2, "unchanged": 2, "deleted": 1}
