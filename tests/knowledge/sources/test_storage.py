"""Files of storage services as documents: the same for each protocol, against servers of this machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.connectors import Access, Item, UnreadableItem
from knowledge.connectors.storage import StorageConnector
from knowledge.connectors.stores import FolderClosedError, StoredFile, StoredFolder, walk
from knowledge.errors import ItemUnreadableError, UploadTooLargeError
from knowledge.models import Document
from knowledge.services.sources import source_create, source_preview
from ragcore.errors import UrlNotAllowedError
from ragcore.fetching import AddressPolicy
from ragcore.parsing.parser_errors import UnsupportedFormatError
from tests.contracts.connector import ConnectorContract
from tests.factories import scope_of
from tests.knowledge.sources.building import counts, here, run
from tests.knowledge.sources.storage_servers import SERVERS, QuietHandler, Shelf, handled, is_installed

FILES = {
    "docs/beams.md": b"# Beams\n\nNarrow.",
    "docs/Beams.md": b"# Beams\n\nAnother one.",
    "文档/切换 #1, 100%+.md": "# 切换\n\n由基站决定。".encode(),
    "مستندات/ملف.md": "# ملف".encode(),
    "docs/.hidden/secret.md": b"Hidden.",
    "clip.mp4": b"\x00" * 10,
}
ONE_MORE = {"docs/Why? & how.md": b"A name that shares of Windows cannot have."}


def files_for(shelf: Shelf) -> dict[str, bytes]:
    return FILES if shelf.location.startswith("smb") else FILES | ONE_MORE


@pytest.fixture(params=SERVERS)
def shelf(request, tmp_path) -> Iterator[Shelf]:
    """An empty place of each protocol."""
    if not is_installed(request.param):
        pytest.skip(f"no server for {request.param} is installed")
    with SERVERS[request.param](tmp_path) as shelf:
        yield shelf


def access_of(shelf: Shelf, *hosts: str) -> Access:
    return Access(
        policy=AddressPolicy.of(hosts), folder_allowed=Path, workspace=Path("/nonexistent"), secrets=shelf.secrets
    )


def connector_to(shelf: Shelf, *, host: str = "127.0.0.1", **changed: Any) -> StorageConnector:
    shelf = dataclasses.replace(shelf, **changed)
    return StorageConnector(location=shelf.location, settings=shelf.settings, access=access_of(shelf, host))


def items_of(shelf: Shelf, **changed: Any) -> dict[str, Item]:
    listed = list(connector_to(shelf, **changed).changes({}))
    return {entry.external_id: entry for entry in listed if isinstance(entry, Item)}


def contents(shelf: Shelf) -> dict[str, bytes]:
    """What is read while the list goes on; refused items are left out."""
    texts = {}
    for entry in connector_to(shelf).changes({}):
        if isinstance(entry, Item) and entry.name.endswith(".md"):
            fetched = entry.read({})
            assert fetched is not None
            texts[entry.external_id] = fetched.content
    return texts


class TestStorageConnector(ConnectorContract):
    @pytest.fixture
    def made(self, shelf):
        shelf.fill({name: content for name, content in files_for(shelf).items() if name.endswith(".md")})
        return lambda: connector_to(shelf)


def test_what_a_place_has_comes_in_with_its_names_and_bytes(shelf):
    files = files_for(shelf)
    shelf.fill(files)
    shown = sorted(name for name in files if "/." not in name)
    assert sorted(items_of(shelf)) == shown
    assert contents(shelf) == {name: files[name] for name in shown if name.endswith(".md")}

    # only what has changed has another stamp
    before = items_of(shelf)
    shelf.fill({"docs/beams.md": b"# Beams\n\nWide and long.", "docs/Beams.md": None})
    after = items_of(shelf)
    assert sorted(after) == [name for name in shown if name != "docs/Beams.md"]
    assert [name for name in after if after[name].stamp != before[name].stamp] == ["docs/beams.md"]

    # a folder below it is a place, too
    assert "beams.md" in items_of(shelf, location=f"{shelf.location}/docs/")


def test_what_cannot_be_taken_is_refused_before_it_is_read(shelf, settings):
    shelf.fill({"clip.mp4": b"\x00" * 10, "large.md": b"x" * 2000, "gone.md": b"x"})
    settings.MAX_UPLOAD_BYTES = 1000
    connector = connector_to(shelf)
    errors = {}
    for entry in connector.changes({}):
        assert not isinstance(entry, UnreadableItem)
        if isinstance(entry, Item):
            if entry.name == "gone.md":
                shelf.fill({"gone.md": None})
            with pytest.raises(Exception) as caught:  # noqa: PT011 (its kind is looked at below)
                entry.read({})
            errors[entry.external_id] = caught.type

    assert errors["clip.mp4"] is UnsupportedFormatError
    assert errors["large.md"] is UploadTooLargeError
    assert issubclass(errors["gone.md"], (ItemUnreadableError, SourceUnreachableError, OSError))


def test_an_empty_place_is_a_whole_list(shelf):
    listed = list(connector_to(shelf).changes({}))

    assert [getattr(entry, "is_full", None) for entry in listed] == [True]


def test_a_place_that_is_not_there_is_said(shelf):
    if shelf.location.startswith(("s3", "azure")):  # the folder of a bucket is only the beginning of names
        other = shelf.location.replace("/shelf/room", "/elsewhere")
    else:
        other = f"{shelf.location}/elsewhere"

    with pytest.raises(ConnectorError) as caught:
        items_of(shelf, location=other)

    assert caught.value.reason == "no_place"


def test_nothing_is_connected_to_without_leave(shelf):
    with pytest.raises(UrlNotAllowedError):
        items_of(shelf, host="files.example.com")


@pytest.mark.parametrize("shelf", [name for name in SERVERS if name != "s3"], indirect=True)
def test_wrong_credentials_are_said(shelf):
    wrong = dict.fromkeys(shelf.secrets, "bm9wZQ==")

    with pytest.raises(ConnectorError) as caught:
        items_of(shelf, secrets=wrong)

    assert caught.value.reason == "credentials"


@pytest.mark.parametrize("service", ["sftp", "webdav", "smb"])
def test_a_ring_of_links_ends(service, tmp_path):
    if not is_installed(service):
        pytest.skip(f"no server for {service} is installed")
    with SERVERS[service](tmp_path) as shelf:
        shelf.fill({"docs/beams.md": b"Narrow."})
        room = next(path for path in tmp_path.glob("*/room"))
        (room / "docs" / "ring").symlink_to(room)

        listed = list(connector_to(shelf).changes({}))

        items = [entry.external_id for entry in listed if isinstance(entry, Item)]
        assert items[0] == "docs/beams.md"
        assert len(items) <= 64
        assert len(items) == 1 or service != "sftp"


def test_folders_without_end_are_left_and_said():
    def listing(folder: str) -> Iterator[StoredFile | StoredFolder]:
        yield from (StoredFolder(f"{folder}/{name}".strip("/")) for name in "ab")

    listed = list(walk(listing, most_folders=500))

    assert 0 < len(listed) <= 500
    assert all(isinstance(entry, UnreadableItem) and entry.hides for entry in listed)


def test_a_folder_that_may_not_be_listed_hides_what_is_in_it():
    def listing(folder: str) -> Iterator[StoredFile | StoredFolder]:
        if folder:
            raise FolderClosedError
        yield StoredFolder("closed")
        yield StoredFile("open.md", 1, {})

    listed = list(walk(listing))

    assert [getattr(entry, "hides", None) for entry in listed] == [None, True]


class _Refusing(QuietHandler):
    def do_GET(self) -> None:
        self.reply(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>", Content_Type="application/xml")


def test_a_signature_that_s3_refuses_is_said():
    with handled(_Refusing) as port, pytest.raises(ConnectorError, match="credentials"):
        items_of(Shelf(location=f"s3+http://127.0.0.1:{port}/shelf", fill=lambda files: None))


class _Strange(QuietHandler):
    def do_GET(self) -> None:
        self.reply(200, b'{"DirectoryListing": {"partialListing": [], "FileStatuses": 7}}', Content_Type="text/xml")

    do_PROPFIND = do_GET


@pytest.mark.parametrize("scheme", ["s3", "webdav", "webhdfs", "azure"])
def test_a_server_that_answers_something_else_is_said(scheme):
    with handled(_Strange) as port, pytest.raises((ConnectorError, SourceUnreachableError)):
        items_of(Shelf(location=f"{scheme}+http://127.0.0.1:{port}/shelf/room", fill=lambda files: None))


class _Sending(QuietHandler):
    """Sends everybody to the place where clouds keep their secrets."""

    def do_GET(self) -> None:
        self.reply(307, Location="http://169.254.169.254/latest/meta-data", x_amz_bucket_region="169.254.169.254/x")

    do_PROPFIND = do_GET


@pytest.mark.parametrize("scheme", ["webdav", "webhdfs", "azure"])
def test_a_redirect_to_a_private_address_is_refused(scheme):
    with handled(_Sending) as port, pytest.raises(UrlNotAllowedError):
        items_of(Shelf(location=f"{scheme}+http://127.0.0.1:{port}/shelf/room", fill=lambda files: None))


@pytest.mark.parametrize("scheme", ["webdav", "webhdfs", "azure"])
def test_a_name_that_means_another_address_a_moment_later_is_noticed(scheme, monkeypatch):
    monkeypatch.setattr(Access, "host_check", lambda access, host, port: None)  # what the first answer permitted
    with handled(_Sending) as port, pytest.raises(UrlNotAllowedError):
        items_of(
            Shelf(location=f"{scheme}+http://127.0.0.1:{port}/shelf/room", fill=lambda files: None),
            host="files.example.com",
        )


def test_a_redirect_of_s3_leads_nowhere():
    with handled(_Sending) as port, pytest.raises((UrlNotAllowedError, ConnectorError, SourceUnreachableError)):
        items_of(Shelf(location=f"s3+http://127.0.0.1:{port}/shelf/room", fill=lambda files: None))


@pytest.mark.skipif(not is_installed("sftp"), reason="no sshd is installed")
@pytest.mark.parametrize(("host_key", "reason"), [("", "host_key"), ("SHA256:other", "other_host_key")])
def test_a_server_of_ssh_has_to_be_the_one_that_is_known(tmp_path, host_key, reason):
    with SERVERS["sftp"](tmp_path) as shelf, pytest.raises(ConnectorError) as caught:
        items_of(shelf, settings={"host_key": host_key})

    assert caught.value.reason == reason
    assert caught.value.data["key"] == shelf.settings["host_key"]


@pytest.mark.parametrize(
    "location",
    ["ftp://files.example.com/x", "s3://key:secret@s3.amazonaws.com/x", "s3://", "/srv/files", "sftp://host:x/"],
)
def test_other_addresses_are_no_storage(location):
    with pytest.raises(ConnectorError):
        StorageConnector.host_of(location)


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("s3://s3.eu-central-1.amazonaws.com/b", ("s3.eu-central-1.amazonaws.com", 443)),
        ("gs://bucket/docs", ("storage.googleapis.com", 443)),
        ("webdav+http://cloud.example.org/remote.php/dav", ("cloud.example.org", 80)),
        ("sftp://files.example.org/srv", ("files.example.org", 22)),
        ("smb://files.example.org/share", ("files.example.org", 445)),
    ],
)
def test_a_location_says_its_host(location, host):
    assert StorageConnector.host_of(location) == host


@pytest.mark.django_db(transaction=False)
def test_a_source_of_a_bucket_brings_documents_and_takes_them_away(owner, tmp_path, settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    with SERVERS["s3"](tmp_path) as shelf:
        shelf.fill(FILES | ONE_MORE)
        values = {"name": "bucket", "kind": "storage", "location": shelf.location, "credentials": dict(shelf.secrets)}
        source = source_create(
            scope=scope_of(owner), actor=owner, values={**values, "options": {"delete_missing": True}}
        )
        assert source_preview(scope=scope_of(owner), source_id=source.pk).count == 6

        first = run(owner, source)
        shelf.fill({"docs/Beams.md": None, "docs/beams.md": b"# Beams\n\nWide."})
        source.refresh_from_db()
        second = run(owner, source)

    assert counts(first) == {"found": 6, "new": 5}
    assert [refused["code"] for refused in first.report["refused"]] == ["unsupported_format"]
    assert counts(second) == {"found": 5, "changed": 1, "unchanged": 3, "deleted": 1}
    assert here(source) == ["docs/Why? & how.md", "docs/beams.md", "مستندات/ملف.md", "文档/切换 #1, 100%+.md"]
    assert Document.objects.get(source=source, external_id="docs/beams.md", deleted=None).metadata["changed"]
