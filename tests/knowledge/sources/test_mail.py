"""Mailboxes as sources: threads as documents, attachments that belong to them."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from knowledge.connector_errors import ConnectorError, SourceUnreachableError
from knowledge.connectors import Access, Item, ListEnd, UnreadableItem
from knowledge.connectors.imap import Mailbox
from knowledge.connectors.mail import MailConnector
from knowledge.errors import UploadTooLargeError
from knowledge.models import Document
from knowledge.services.sources import source_create
from ragcore.errors import UrlNotAllowedError
from ragcore.fetching import AddressPolicy
from ragcore.parsing import parser_for
from tests.contracts.connector import ConnectorContract
from tests.factories import scope_of
from tests.knowledge.sources.building import counts, here, run
from tests.knowledge.sources.mail_servers import SERVERS, Post, is_installed

DAYS = iter(range(1, 10_000))


def message(name: str, text: str, *, subject: str = "Beams", answers: tuple[str, ...] = (), **headers: str) -> bytes:
    """A message of Mei to Jan, a minute after the one before."""
    mail = EmailMessage()
    minute = next(DAYS)
    values = {
        "From": "Mei Lin <mei@example.org>",
        "To": "Jan <Jan@example.org>",
        "Subject": subject,
        "Message-ID": f"<{name}@example.org>",
        "Date": f"Mon, 05 Jan 2026 {minute // 60 % 24:02}:{minute % 60:02}:00 +0100",
        **({"References": " ".join(f"<{other}@example.org>" for other in answers)} if answers else {}),
        **headers,
    }
    for key, value in values.items():
        mail[key] = value
    mail.set_content(text)
    return mail.as_bytes()


def with_files(name: str, *files: tuple[str, bytes]) -> bytes:
    mail = EmailMessage()
    for key, value in {"From": "mei@example.org", "To": "jan@example.org", "Subject": "Files"}.items():
        mail[key] = value
    mail["Message-ID"] = f"<{name}@example.org>"
    mail.set_content("See the files.")
    mail.add_alternative("<p>See the <b>files</b>.</p>", subtype="html")
    for file, content in files:
        mail.add_attachment(content, maintype="text", subtype="markdown", filename=file)
    return mail.as_bytes()


@pytest.fixture(params=SERVERS)
def post(request, tmp_path) -> Iterator[Post]:
    """An empty mailbox at each server."""
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not installed")
    with SERVERS[request.param](tmp_path) as post:
        yield post


def connector_to(post: Post, workspace: Path, *, host: str = "127.0.0.1", **settings: Any) -> MailConnector:
    access = Access(
        policy=AddressPolicy.of([host]), folder_allowed=Path, workspace=workspace / "source", secrets=post.secrets
    )
    return MailConnector(location=post.location, settings=settings, access=access)


def items_of(connector: MailConnector) -> dict[str, Item]:
    return {entry.external_id: entry for entry in connector.changes({}) if isinstance(entry, Item)}


def texts_of(connector: MailConnector) -> dict[str, str]:
    """What the parser of messages makes of each thread."""
    texts = {}
    for entry in connector.changes({}):
        if isinstance(entry, Item) and entry.name.endswith(".eml"):
            fetched = entry.read({})
            assert fetched is not None
            document = parser_for(fetched.name).parse(fetched.content, name=fetched.name)
            texts[entry.external_id] = "\n".join(block.text for block in document.blocks)
    return texts


class TestMailConnector(ConnectorContract):
    @pytest.fixture
    def made(self, post, tmp_path):
        post.deliver(message("a", "Narrow."), with_files("b", ("notes.md", b"# Notes\n\nText.")))
        return lambda: connector_to(post, tmp_path)


def test_messages_that_answer_each_other_are_one_document(post, tmp_path):
    post.deliver(
        message("a", "How wide are the beams?", subject="波束 width"),
        message("b", "Something else.", subject="Paging"),
        message("c", "Ten degrees.", subject="Re: 波束 width", answers=("a",), From="jan@example.org"),
    )
    post.deliver(message("d", "Thanks.", subject="Re: 波束 width", answers=("a", "c")), folder="Support/5G")
    connector = connector_to(post, tmp_path, folders=["INBOX", "Support/*"])

    items, texts = items_of(connector), texts_of(connector)

    assert sorted(items) == ["a@example.org", "b@example.org"]
    assert items["a@example.org"].title == "波束 width"
    assert items["a@example.org"].metadata["messages"] == 3
    assert items["a@example.org"].readers is None
    text = texts["a@example.org"]
    assert text.index("How wide") < text.index("jan@example.org") < text.index("Ten degrees") < text.index("Thanks")


def test_only_new_messages_are_asked_for_and_those_that_are_gone_go(post, tmp_path, monkeypatch):
    post.deliver(message("a", "One."), message("b", "Two.", answers=("a",)), message("c", "Three."))
    before = items_of(connector_to(post, tmp_path))
    described: list[int] = []
    original = Mailbox._described
    monkeypatch.setattr(Mailbox, "_described", lambda box, uids: described.extend(uids) or original(box, uids))

    unchanged = items_of(connector_to(post, tmp_path))
    assert described == []
    assert {name: item.stamp for name, item in unchanged.items()} == {name: item.stamp for name, item in before.items()}

    post.deliver(message("d", "Four.", answers=("c",)))
    post.remove("<a@example.org>")
    after = items_of(connector_to(post, tmp_path))

    assert len(described) == 1
    # the thread keeps its id, as what is left names its beginning
    assert sorted(after) == ["a@example.org", "c@example.org"]
    assert all(after[name].stamp != before[name].stamp for name in after)

    post.remove("<b@example.org>")
    assert sorted(items_of(connector_to(post, tmp_path))) == ["c@example.org"]


def test_attachments_are_documents_that_belong_to_the_thread(post, tmp_path):
    post.deliver(with_files("a", ("notes.md", b"# Notes\n\nText."), ("说明.md", "# 说明".encode())))

    items = list(items_of(connector_to(post, tmp_path)).values())

    assert [item.name for item in items] == ["Files.eml", "notes.md", "说明.md"]
    assert {relation.external_id for item in items[1:] for relation in item.relations} == {"a@example.org"}
    assert {relation.kind for item in items[1:] for relation in item.relations} == {"belongs_to"}
    contents = [item.read({}).content for item in connector_to(post, tmp_path).changes({}) if isinstance(item, Item)]
    assert contents[1:] == [b"# Notes\n\nText.", "# 说明".encode()]
    assert list(texts_of(connector_to(post, tmp_path)).values())[0].count("See the") == 1
    assert len(items_of(connector_to(post, tmp_path, attachments=False))) == 1


def test_only_who_took_part_in_every_message_reads_a_thread(post, tmp_path):
    """Whoever sends a message that names a thread of others does not read it by that."""
    post.deliver(message("a", "Secret.", Cc="Li <li@example.org>"))
    post.deliver(message("b", "Mine?", answers=("a",), From="eve@example.org", To="mei@example.org, eve@example.org"))

    item = items_of(connector_to(post, tmp_path, participants=True))["a@example.org"]

    assert item.readers == ["user:mei@example.org"]


def test_hostile_messages_harm_nothing(post, tmp_path, settings):
    settings.MAX_UPLOAD_BYTES = 100_000
    nested = b"Subject: Deep\nMessage-ID: <deep@example.org>\nFrom: e@example.org\n"
    for depth in range(30 if post.is_made else 300):  # the made server needs minutes for more
        nested += f'Content-Type: multipart/mixed; boundary="b{depth}"\n\n--b{depth}\n'.encode()
    long_header = b"Subject: Long\nMessage-ID: <long@example.org>\nFrom: e@example.org\nTo: " + b", ".join(
        f"person{number}@example.org".encode() for number in range(8000)
    )
    files = with_files("many", *((f"file {number}.md", b"Text.") for number in range(250)))
    post.deliver(message("a", "Well."), nested, long_header.replace(b", ", b",\n ") + b"\n\nText.", files)
    post.deliver(with_files("big", ("big.md", b"x" * 200_000)))

    listed = list(connector_to(post, tmp_path).changes({}))

    assert isinstance(listed[-1], ListEnd)
    items = {entry.external_id: entry for entry in listed if isinstance(entry, Item)}
    assert {"a@example.org", "deep@example.org", "many@example.org", "big@example.org"} <= set(items)
    assert sum(name.startswith("many@example.org/") for name in items) == 100
    assert [entry.error.reason for entry in listed if isinstance(entry, UnreadableItem)] == ["attachments"]
    connector = connector_to(post, tmp_path)
    for entry in connector.changes({}):
        if isinstance(entry, Item) and entry.name == "big.md":
            with pytest.raises(UploadTooLargeError):
                entry.read({})
        elif isinstance(entry, Item) and entry.name.endswith(".eml"):
            assert entry.read({}).content


def test_the_state_of_a_source_may_be_lost(post, tmp_path):
    post.deliver(message("a", "One."), message("b", "Two."))
    before = items_of(connector_to(post, tmp_path))

    after = items_of(connector_to(post, tmp_path / "elsewhere"))

    assert {name: item.stamp for name, item in after.items()} == {name: item.stamp for name, item in before.items()}


def test_what_cannot_be_read_is_said(post, tmp_path):
    with pytest.raises(UrlNotAllowedError):
        items_of(connector_to(post, tmp_path, host="mail.example.org"))
    with pytest.raises(ConnectorError, match="no folder that fits"):
        items_of(connector_to(post, tmp_path, folders=["Nowhere*"]))
    wrong = Post(port=post.port, secrets={"user": "mei", "password": "wrong"})
    with pytest.raises((ConnectorError, SourceUnreachableError), match="credentials"):
        items_of(connector_to(wrong, tmp_path))


@pytest.mark.parametrize("location", ["pop3://mail.example.org", "imaps://me:x@mail.example.org", "imaps://", "INBOX"])
def test_other_addresses_are_no_mailbox(location):
    with pytest.raises(ConnectorError):
        MailConnector.host_of(location)


@pytest.mark.django_db(transaction=False)
def test_a_source_of_a_mailbox_brings_documents_and_takes_them_away(owner, tmp_path, settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    settings.DATA_DIR = tmp_path / "data"
    with SERVERS["pymap"](tmp_path) as post:
        post.deliver(message("a", "One."), with_files("b", ("notes.md", b"# Notes\n\nText.")))
        values = {"name": "mail", "kind": "mail", "location": post.location, "credentials": dict(post.secrets)}
        source = source_create(
            scope=scope_of(owner), actor=owner, values={**values, "options": {"delete_missing": True}}
        )
        first = run(owner, source)
        post.deliver(message("c", "Two.", answers=("a",)))
        post.remove("<b@example.org>")
        source.refresh_from_db()
        second = run(owner, source)

    assert counts(first) == {"found": 3, "new": 3}
    assert counts(second) == {"found": 1, "changed": 1, "deleted": 2}
    assert here(source) == ["a@example.org"]
    assert Document.objects.get(source=source, deleted=None).metadata["messages"] == 2
