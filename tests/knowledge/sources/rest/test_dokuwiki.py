"""DokuWiki itself, served by PHP: its Debian package brings it (`apt-get install php-cli php-xml dokuwiki`)."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from knowledge.models import Document
from knowledge.services.sources.connectors import connector_of
from tests.contracts.connector import ConnectorContract
from tests.factories import run_job
from tests.knowledge.sources.building import counts, here, run
from tests.knowledge.sources.rest.php import free_port, php_required, php_served

pytestmark = [pytest.mark.django_db(transaction=False), pytest.mark.full]

PROGRAM, SETTINGS = Path("/usr/share/dokuwiki"), Path("/etc/dokuwiki")
ACCOUNT = {"user": "mei", "password": "secret of mei"}
LOCAL = """<?php
$conf['savedir'] = '{data}';
$conf['useacl'] = 1;
$conf['authtype'] = 'authplain';
$conf['superuser'] = 'mei';
$conf['remote'] = 1;
$conf['remoteuser'] = 'mei';
"""
ALL_FOLDERS = ("pages", "attic", "media", "media_attic", "meta", "media_meta", "cache", "index", "locks", "tmp", "log")
PAGING = f"pages/radio/{quote('寻呼')}.txt"  # as the program names its files


@pytest.fixture
def wiki(tmp_path) -> Path:
    """The folder of the data of a wiki with two pages and a file; others may see nothing."""
    php_required(PROGRAM)
    data, settings = tmp_path / "data", tmp_path / "conf"
    shutil.copytree(SETTINGS, settings, ignore_dangling_symlinks=True)
    for folder in ALL_FOLDERS:
        (data / folder / "radio").mkdir(parents=True)
    (settings / "local.php").write_text(LOCAL.format(data=data))
    password = hashlib.md5(ACCOUNT["password"].encode(), usedforsecurity=False).hexdigest()
    (settings / "users.auth.php").write_text(f"# <?php exit()?>\nmei:{password}:Mei:mei@example.org:admin,user\n")
    (settings / "acl.auth.php").write_text("# <?php exit()?>\n*\t@ALL\t0\n*\t@user\t8\n")
    (data / "pages/radio/beams.txt").write_text("====== Beams ======\n\n  * Narrow beams reach **far**.\n")
    (data / PAGING).write_text("====== 寻呼 ======\n\n^ 参数 ^ 值 ^\n| 周期 | 32 |\n")
    (data / "media/radio/plan.txt").write_text("The plan of the week.")
    (tmp_path / "prepend.php").write_text(f"<?php define('DOKU_CONF', '{settings}/');\n")
    return data


@pytest.fixture
def address(wiki, tmp_path) -> Iterator[str]:
    options = ["-d", f"auto_prepend_file={tmp_path}/prepend.php"]
    log, first = tmp_path / "php.log", "/lib/exe/xmlrpc.php"
    with php_served(PROGRAM, port=free_port(), log=log, first=first, options=options) as place:
        yield place


@pytest.fixture
def source(connected, address):
    return connected("dokuwiki", address, credentials=ACCOUNT, options={"delete_missing": True})


class TestDokuWiki(ConnectorContract):
    @pytest.fixture
    def made(self, source):
        return lambda: connector_of(source)


def test_pages_and_files_come_in_change_and_go(owner, wiki, source):
    job = run(owner, source)

    assert (job.report["faults"], job.report["refused"]) == ([], [])
    assert here(source) == ["files/radio:plan.txt", "pages/radio:beams", "pages/radio:寻呼"]
    run_job(job.pk)
    document = Document.objects.get(source=source, external_id="pages/radio:寻呼")
    assert (document.title, document.metadata["path"]) == ("寻呼", "radio")
    assert "| 周期 | 32 |" in document.live_version.chunks.first().text

    page = wiki / "pages/radio/beams.txt"
    page.write_text("====== Beams ======\n\nWide beams reach less far.\n")
    os.utime(page, (time.time() + 5, time.time() + 5))
    (wiki / PAGING).unlink()
    source.refresh_from_db()

    assert counts(run(owner, source)) == {"found": 2, "changed": 1, "unchanged": 1, "deleted": 1}


def test_without_credentials_the_wiki_shows_nothing(owner, connected, address):
    job = run(owner, connected("dokuwiki", address))

    assert job.report["faults"] or job.report["found"] == 0
