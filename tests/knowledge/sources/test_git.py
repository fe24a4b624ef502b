"""Git repositories as sources: a folder, and an address over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from dulwich import porcelain
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.models import Document, Source
from knowledge.queue import COUNT_SOURCE
from knowledge.services.sources import source_counted, source_create, source_preview, source_test, source_update
from knowledge.services.sources.connectors import connector_of
from ragcore.errors import UrlNotAllowedError
from tests.contracts.connector import ConnectorContract
from tests.factories import scope_of
from tests.knowledge.sources.building import counts, here, run
from work.models import Job
from work.runner import slice_run

pytestmark = pytest.mark.django_db(transaction=False)

AUTHOR = b"Mei Lin <mei@example.org>"


@pytest.fixture
def repository(shelf) -> Path:
    """A repository with three files on the branch main."""
    folder = shelf / "project"
    folder.mkdir()
    porcelain.init(str(folder))
    commit(folder, {"docs/beams.md": "# Beams\n\nNarrow.", "docs/paging.md": "# Paging\n\nWakes.", "README.md": "Hi."})
    return folder


def commit(folder: Path, files: dict[str, str | None], message: str = "Write it down") -> str:
    """Write files, or remove those that are None, and commit."""
    for name, text in files.items():
        path = folder / name
        if text is None:
            porcelain.remove(str(folder), paths=[str(path)])
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        porcelain.add(str(folder), paths=[str(path)])
    sha = porcelain.commit(str(folder), message=message.encode(), author=AUTHOR, committer=AUTHOR)
    return sha.decode()


def git_source(owner, location: object, **values) -> Source:
    return source_create(
        scope=scope_of(owner), actor=owner, values={"name": "code", "kind": "git", "location": str(location), **values}
    )


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The repository at an address of this machine."""

    class Quiet(WSGIRequestHandler):
        def log_message(self, *values: object) -> None:
            """Quiet."""

    backend = DictBackend({"/project": porcelain.open_repo(str(folder))})
    server = make_server("127.0.0.1", 0, make_wsgi_chain(backend), handler_class=Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/project"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class TestGitConnector(ConnectorContract):
    @pytest.fixture
    def made(self, owner, repository):
        source = git_source(owner, repository)
        return lambda: connector_of(source)


def test_files_of_the_head_become_documents_with_their_last_change(owner, repository):
    source = git_source(owner, repository, settings={"link": "https://git.example.com/p/blob/{branch}/{path}"})

    job = run(owner, source)

    assert counts(job) == {"found": 3, "new": 3}
    assert here(source) == ["README.md", "docs/beams.md", "docs/paging.md"]
    document = Document.objects.get(external_id="docs/beams.md")
    assert document.metadata["author"] == "Mei Lin"
    assert document.metadata["change"] == "Write it down"
    assert document.metadata["link"] == "https://git.example.com/p/blob/HEAD/docs/beams.md"


@pytest.mark.parametrize(
    ("link", "file", "lines"),
    [
        ("{branch}/{path}#L{first}-L{last}", "HEAD/README.md", "L{first}-L{last}"),
        ("{path}#top", "README.md#top", None),
    ],
)
def test_the_address_of_lines_is_kept_beside_that_of_the_file(owner, repository, link, file, lines):
    source = git_source(owner, repository, settings={"link": f"https://git.example.com/{link}"})

    run(owner, source)

    metadata = Document.objects.get(external_id="README.md").metadata
    assert (metadata["link"], metadata.get("link_of_lines")) == (f"https://git.example.com/{file}", lines)


def test_a_later_run_lists_what_has_changed_since(owner, repository):
    source = git_source(owner, repository, options={"delete_missing": True})
    run(owner, source)
    source.refresh_from_db()
    first = source.cursor["commit"]
    commit(repository, {"docs/beams.md": "# Beams\n\nWide.", "README.md": None, "docs/new.md": "New."}, "Wider beams")
    source.refresh_from_db()

    job = run(owner, source)

    assert counts(job) == {"found": 2, "new": 1, "changed": 1, "deleted": 1}
    assert here(source) == ["docs/beams.md", "docs/new.md", "docs/paging.md"]
    assert Document.objects.get(external_id="docs/beams.md", deleted=None).metadata["change"] == "Wider beams"
    source.refresh_from_db()
    assert source.cursor["commit"] != first


def test_nothing_is_listed_where_nothing_was_committed(owner, repository):
    source = git_source(owner, repository, options={"delete_missing": True})
    run(owner, source)
    source.refresh_from_db()

    assert counts(run(owner, source)) == {}
    assert len(here(source)) == 3


def test_a_renamed_file_stays_one_document(owner, repository):
    source = git_source(owner, repository, options={"delete_missing": True})
    run(owner, source)
    before = Document.objects.get(source=source, external_id="docs/beams.md").pk
    text = (repository / "docs/beams.md").read_text()
    commit(repository, {"docs/beams.md": None, "radio/beams.md": text}, "Move it")
    source.refresh_from_db()

    run(owner, source)

    assert Document.objects.get(source=source, external_id="radio/beams.md", deleted=None).pk == before
    assert "docs/beams.md" not in here(source)


def test_after_a_forced_push_everything_is_listed_again(owner, repository):
    source = git_source(owner, repository)
    run(owner, source)
    Source.objects.filter(pk=source.pk).update(cursor={"commit": "f" * 40})
    source.refresh_from_db()

    assert counts(run(owner, source)) == {"found": 3, "unchanged": 3}


def test_a_pointer_of_lfs_is_refused_and_said(owner, repository):
    commit(repository, {"big.pdf": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"})
    source = git_source(owner, repository)

    job = run(owner, source)

    assert [refused["code"] for refused in job.report["refused"]] == ["item_not_taken"]


def test_links_and_other_branches_are_left_out(owner, repository):
    (repository / "loop.md").symlink_to(repository / "README.md")
    porcelain.add(str(repository), paths=[str(repository / "loop.md")])
    commit(repository, {}, "A link")
    porcelain.branch_create(str(repository), "old")
    commit(repository, {"later.md": "Later."})
    source = git_source(owner, repository, settings={"branch": "old"})

    run(owner, source)

    assert here(source) == ["README.md", "docs/beams.md", "docs/paging.md"]


def test_a_repository_at_an_address_is_fetched_and_then_added_to(owner, repository, settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    with served(repository) as address:
        source = git_source(owner, address, options={"delete_missing": True})
        assert counts(run(owner, source)) == {"found": 3, "new": 3}
        commit(repository, {"docs/new.md": "New."})
        source.refresh_from_db()

        assert counts(run(owner, source)) == {"found": 1, "new": 1}

    source.refresh_from_db()
    job = run(owner, source)
    assert job.report["faults"][0]["code"] == SourceUnreachableError.code
    assert len(here(source)) == 4


def test_an_address_is_tried_and_counted_without_waiting_for_the_history(owner, repository, settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)

    def states(source):
        return [step.state for step in source_test(scope=scope_of(owner), source_id=source.pk)]

    with served(repository) as address:
        source = git_source(owner, address)
        assert states(source) == ["ok", "ok", "ok", "skipped", "skipped"]
        assert source_preview(scope=scope_of(owner), source_id=source.pk).goes_on
        slice_run(job_id=Job.objects.get(kind=COUNT_SOURCE).pk)
        assert source_counted(scope=scope_of(owner), source_id=source.pk).preview.count == 3

        assert states(source) == ["ok"] * 5
        assert source_preview(scope=scope_of(owner), source_id=source.pk).is_complete
    assert states(source) == ["ok", "failed", "skipped", "skipped", "skipped"]


def test_what_would_come_in_is_counted_before_the_first_run(owner, repository):
    source = git_source(owner, repository)

    preview = source_preview(scope=scope_of(owner), source_id=source.pk)

    assert (preview.count, preview.is_complete) == (3, True)
    assert preview.examples == ("README.md", "docs/beams.md", "docs/paging.md")
    assert here(source) == []


@pytest.mark.parametrize("settings_given", [{"branch": "nowhere"}], ids=["branch"])
def test_a_branch_that_is_not_there_is_said(owner, repository, settings_given):
    source = git_source(owner, repository, settings=settings_given)

    with pytest.raises(ConnectorError, match="no branch 'nowhere'"):
        source_preview(scope=scope_of(owner), source_id=source.pk)


def test_a_folder_without_a_repository_is_said(owner, shelf):
    source = git_source(owner, shelf)

    with pytest.raises(ConnectorError, match="no Git repository"):
        source_preview(scope=scope_of(owner), source_id=source.pk)


@pytest.mark.parametrize(
    "location",
    ["http://127.0.0.1:9/project", "http://169.254.169.254/latest"],
)
def test_addresses_of_private_networks_are_refused(owner, location):
    with pytest.raises(UrlNotAllowedError):
        git_source(owner, location)


@pytest.mark.parametrize("location", ["ftp://git.example.com/p", "https://me:secret@git.example.com/p", "project"])
def test_other_addresses_are_no_repository(owner, location):
    with pytest.raises(ConnectorError):
        git_source(owner, location)


def test_other_settings_begin_the_list_anew(owner, repository):
    source = git_source(owner, repository)
    run(owner, source)

    changed = source_update(
        scope=scope_of(owner), actor=owner, source_id=source.pk, values={"settings": {"history": False}}
    )

    assert changed.cursor == {}
