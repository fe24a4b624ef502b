"""Files attached to questions: read in the sandbox, used in one conversation, seen by one person, gone with it."""

import json
import uuid
from datetime import timedelta

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.privacy.export import person_rows
from accounts.selectors import scope_for
from accounts.services import api_key_create
from chat.attachments.files import MOST_FILES, MOST_WAITING, attachment_add, attachment_delete, attachments_check
from chat.attachments.reading import attachments_expire
from chat.attachments.search import attached_load
from chat.concurrency.executors import run_db
from chat.concurrency.redis_client import client, events_key
from chat.errors import AttachmentTooLargeError, TooManyAttachmentsError
from chat.jobs.read_attachment import ReadAttachment
from chat.models import Attachment, AttachmentCitation, AttachmentPassage, Conversation, Message, MessageCitation
from chat.turns.stream_reader import read_events
from knowledge import model_registry
from knowledge.models import Document
from ragcore.errors import EmptyDocumentError
from ragcore.parsing.parser_errors import UnsupportedFormatError
from tests.chat.conftest import Api, sse
from tests.chat.reading import attachment_read, reading_of
from tests.factories import make_admin, make_user
from tests.ragcore.parsing.build import docx_bytes, pdf_bytes
from tests.work.contract import KindContract, lease_lapse
from work.claims import jobs_sweep
from work.models import Job

pytestmark = pytest.mark.django_db
TEXT = (
    "# Travel rules\n\nEmployees of the plant in Ravensburg book trains in second class. "
    "The daily allowance for Ravensburg is 34 euros. Receipts are sent to the travel desk within ten days.\n"
)
CONTENT = TEXT.encode()
QUESTION = "How high is the daily allowance for Ravensburg?"


def attach(user, content=CONTENT, name="travel.md", **values):
    row = attachment_add(scope=scope_for(user), name=name, content=ContentFile(content, name=name), **values)
    attachment_read(attachment_id=row.pk)
    row.refresh_from_db()
    return row


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("travel.md", TEXT.encode()),
        ("travel.docx", docx_bytes(lambda document: document.add_paragraph(TEXT))),
        ("travel.pdf", pdf_bytes([[(72, 90, "The daily allowance for Ravensburg is 34 euros.")]])),
    ],
)
def test_a_file_is_read_into_passages_and_no_document(name, content):
    row = attach(make_user(), content, name)

    assert (row.state, row.error_code) == ("ready", "")
    passages = list(row.passages.all())
    assert "34 euros" in " ".join(passage.text for passage in passages)
    assert all(len(passage.vector) == 4 * 768 for passage in passages)
    assert not Document.objects.exists()


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [("broken.pdf", b"%PDF-1.7 nothing", "corrupt_document"), ("empty.md", b"   \n", "empty_document")],
)
def test_a_file_that_cannot_be_read_says_why(name, content, code):
    row = attach(make_user(), content, name)

    assert (row.state, row.error_code) == ("failed", code)
    assert row.error_message


def test_a_file_is_checked_before_it_is_stored(settings):
    user = make_user()
    settings.MAX_ATTACHMENT_BYTES, settings.MAX_ATTACHMENTS_BYTES = 1000, 1500

    for content, name, error in (
        (b"x" * 1001, "a.md", AttachmentTooLargeError),
        (b"x", "a.exe", UnsupportedFormatError),
        (b"", "a.md", EmptyDocumentError),
    ):
        with pytest.raises(error):
            attach(user, content, name)
    attach(user, b"word " * 180)
    with pytest.raises(TooManyAttachmentsError):
        attach(user, b"word " * 180)
    assert Attachment.objects.count() == 1


def test_a_conversation_has_so_many_files_at_most():
    user = make_user()
    talk = Conversation.objects.create(tenant=user.tenant, user=user, channel="web", title="t")
    values = {"tenant": user.tenant, "user": user, "name": "a.md", "size_bytes": 1, "state": "ready"}
    Attachment.objects.bulk_create([Attachment(**values, conversation=talk) for _ in range(MOST_FILES)])

    with pytest.raises(TooManyAttachmentsError):
        attachment_add(
            scope=scope_for(user), name="a.md", content=ContentFile(b"text", name="a.md"), conversation_id=str(talk.pk)
        )
    waiting = attach(user)  # of another chat, which has not begun yet
    with pytest.raises(TooManyAttachmentsError):
        attachments_check(scope=scope_for(user), keys=[str(waiting.key)], conversation=talk)


def test_files_that_wait_in_all_new_chats_are_so_many_at_most():
    user = make_user()
    values = {"tenant": user.tenant, "user": user, "name": "a.md", "size_bytes": 1, "state": "ready"}
    Attachment.objects.bulk_create([Attachment(**values) for _ in range(MOST_WAITING)])

    with pytest.raises(TooManyAttachmentsError):
        attach(user)


def test_a_file_whose_worker_died_again_and_again_fails():
    row = attachment_add(scope=scope_for(make_user()), name="a.md", content=ContentFile(b"text", name="a.md"))
    Job.objects.update(state="running", failures=ReadAttachment.most_failures - 1, lease_until=timezone.now())
    lease_lapse(reading_of(row.pk))

    assert jobs_sweep() == 1
    attachment_read(attachment_id=row.pk)

    row.refresh_from_db()
    assert (row.state, row.error_code) == ("failed", "worker_lost")


class TestReadings(KindContract):
    """Of one file with one passage."""

    def start(self) -> Job:
        user = make_user(f"reader{Job.objects.count()}")
        text = ContentFile(b"Beams fail. They recover.", name="a.md")
        return reading_of(attachment_add(scope=scope_for(user), name="a.md", content=text).pk)

    def outcome(self, job: Job) -> list[tuple[int, str]]:
        passages = AttachmentPassage.objects.filter(attachment=job.arguments["attachment_id"])
        return list(passages.values_list("ordinal", "text"))

    def whole(self) -> list[tuple[int, str]]:
        return [(0, "Beams fail. They recover.")]


def test_nothing_is_read_of_a_file_that_was_removed():
    user = make_user()
    row = attachment_add(scope=scope_for(user), name="a.md", content=ContentFile(b"text", name="a.md"))
    job = reading_of(row.pk)
    attachment_delete(scope=scope_for(user), key=row.key)

    attachment_read(attachment_id=row.pk)

    job.refresh_from_db()
    assert (job.state, AttachmentPassage.objects.count()) == ("done", 0)


# ── answering ─────────────────────────────────────────────────────────────────────────────────────


async def test_an_answer_quotes_the_file_and_its_source_can_be_opened(api, world):
    row = await run_db(attach, world.reader)
    answer = await api.generate(QUESTION, attachments=[str(row.key)])
    later = await api.generate("Where are receipts sent to?", conversation_id=answer["conversation_id"])
    elsewhere = await api.generate(QUESTION)

    (cited,) = [one for one in answer["citations"] if one["attachment_id"]][:1]
    assert "34** euros" in answer["answer"]
    assert (cited["attachment_id"], cited["chunk_id"], cited["title"]) == (str(row.key), None, "travel.md")
    assert "travel desk" in later["answer"]
    assert "Ravensburg" not in elsewhere["answer"]
    assert answer["metadata"]["cache"] == "none"
    trace = await run_db(lambda: Message.objects.get(pk=answer["message_id"]).trace)
    assert "34 euros" not in json.dumps(trace)

    def page():
        client = Client()
        client.force_login(world.reader)
        panel = client.get(f"/messages/{answer['message_id']}/sources/{cited['citation_num']}").content.decode()
        turn = client.get(f"/messages/{answer['message_id']}").content.decode()
        file = client.get(f"/attachments/{row.key}/file")
        return panel, turn, file, b"".join(file.streaming_content)

    panel, turn, file, content = await run_db(page)
    assert "<mark>" in panel
    assert "travel.md" in panel
    assert "Attached file" in turn
    assert content == TEXT.encode()
    assert file["Content-Disposition"].startswith("attachment")


async def test_a_stream_shows_the_cited_file_to_its_person_and_to_nobody_else(api, world):
    row = await run_db(attach, world.reader)
    response = await api.post("/api/v1/rag/generate/stream", {"query": QUESTION, "attachments": [str(row.key)]})
    told = await sse(response)
    message_id = next(event["message_id"] for event in told if event["type"] == "context")
    others = [await run_db(make_user), await run_db(make_admin)]

    async def shown(person):
        scope = await run_db(scope_for, person)
        events = [event async for event in read_events(message_id, scope=scope)]
        return next(event.data["citations"] for event in events if event.type == "citations")

    for _way in ("as it was streamed", "as it is stored"):
        own = await shown(world.reader)
        assert {(one["attachment_id"], one["title"]) for one in own} == {(str(row.key), "travel.md")}
        assert any("34 euros" in one["content"] for one in own)
        for person in others:
            hidden = await shown(person)
            assert len(hidden) == len(own)
            assert not [one for one in hidden if one["title"] or one["content"] or one["attachment_id"]]
            assert str(row.key) not in json.dumps(hidden)
        await client().delete(events_key(message_id))
    (citations,) = [event["citations"] for event in told if event["type"] == "citations"]
    assert {one["title"] for one in citations} == {"travel.md"}


async def test_the_same_question_is_never_answered_from_the_cache_of_a_file(api, world):
    row = await run_db(attach, world.reader)
    await api.generate(QUESTION, attachments=[str(row.key)])

    again = await api.generate(QUESTION)

    assert again["metadata"]["cache"] == "none"
    assert "Ravensburg" not in again["answer"]


async def test_a_file_that_is_asked_to_be_summed_up_is_read_whatever_the_words(api, world, llm):
    from tests.scripted_llm import Reply

    llm.default = Reply(texts=("The daily allowance is 34 euros [1].",))
    row = await run_db(attach, world.reader)

    await api.generate("Please sum this up.", attachments=[str(row.key)])

    assert any("34 euros" in str(request.body["messages"]) for request in llm.requests)


async def test_files_of_others_and_unread_ones_are_refused(api, world):
    other = await run_db(make_user)
    theirs = await run_db(attach, other)
    bound = await run_db(attach, world.reader)
    await api.generate(QUESTION, attachments=[str(bound.key)])
    reading = await run_db(attach, world.reader)
    await run_db(Attachment.objects.filter(pk=reading.pk).update, state="reading")

    for key, status in (
        (theirs.key, 404),
        (bound.key, 404),  # of another conversation
        (uuid.uuid4(), 404),
        ("no key", 404),
        (reading.key, 409),
    ):
        response = await api.post("/api/v1/rag/generate", {"query": QUESTION, "attachments": [str(key)]})
        assert response.status_code == status, key


# ── over HTTP ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def person(world):
    return world.reader, {"Authorization": f"Bearer {world.key}"}


async def test_the_api_takes_lists_and_removes_files(person):
    user, headers = person
    client = Api("").client
    url = "/api/v1/rag/attachments"

    file = SimpleUploadedFile("travel.md", TEXT.encode())
    sent = await client.post(url, {"file": file}, headers=headers)
    assert sent.status_code == 202, sent.content
    key = sent.json()["id"]
    listed = (await client.get(url, headers=headers)).json()["results"]
    assert [(one["id"], one["state"]) for one in listed] == [(key, "reading")]
    stored = await run_db(Attachment.objects.get)
    path = stored.file.path
    await run_db(attachment_read, attachment_id=stored.pk)
    assert (await client.get(f"{url}/{key}", headers=headers)).json()["state"] == "ready"
    refused = await client.post(url, {"file": SimpleUploadedFile("a.exe", b"x")}, headers=headers)
    assert refused.status_code == 415
    assert (await client.post(url, {}, headers=headers)).status_code == 422

    assert (await client.delete(f"{url}/{key}", headers=headers)).status_code == 204
    assert (await client.get(f"{url}/{key}", headers=headers)).status_code == 404
    assert not await run_db(AttachmentPassage.objects.exists)
    assert path


async def test_nobody_sees_the_file_of_another_whatever_the_role(person):
    user, _headers = person
    row = await run_db(attach, user)
    admin = await run_db(make_admin)
    _, key = await run_db(lambda: api_key_create(user=admin, name="tests"))
    theirs = {"Authorization": f"Bearer {key}"}
    client = Api("").client

    assert (await client.get(f"/api/v1/rag/attachments/{row.key}", headers=theirs)).status_code == 404
    assert (await client.delete(f"/api/v1/rag/attachments/{row.key}", headers=theirs)).status_code == 404
    assert (await client.get("/api/v1/rag/attachments", headers=theirs)).json()["results"] == []
    assert (await client.get(f"/api/v1/rag/attachments/{row.key}")).status_code == 401

    def page():
        browser = Client()
        browser.force_login(admin)
        return browser.get(f"/attachments/{row.key}/file").status_code

    assert await run_db(page) == 404
    assert await run_db(Attachment.objects.exists)


# ── what is left of it ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def quoted(db):
    """A conversation whose answer quotes a file."""
    user = make_user()
    talk = Conversation.objects.create(tenant=user.tenant, user=user, channel="web", title="t")
    row = attach(user, conversation_id=str(talk.pk))
    message = Message.objects.create(
        conversation=talk, question="?", answer="34 euros [1].", answer_html="<p>34 euros</p>", state="done"
    )
    AttachmentCitation.objects.create(message=message, number=1, passage=row.passages.first(), excerpt="34")
    return row


def test_a_reviewer_is_not_shown_an_answer_from_a_file(quoted):
    client = Client()
    client.force_login(make_admin())
    message = Message.objects.get()

    page = client.get(f"/admin/chat/message/{message.pk}/change/").content.decode()

    assert "1 source that you may not open" in page
    assert "34 euros" not in page


def test_a_reviewer_is_not_shown_it_either_when_the_file_has_gone(quoted):
    Message.objects.update(file_sources=1)
    client = Client()
    client.force_login(make_admin())
    message = Message.objects.get()
    Attachment.objects.all().delete()

    page = client.get(f"/admin/chat/message/{message.pk}/change/").content.decode()

    assert "1 source that you may not open" in page
    assert "34 euros" not in page


def test_vectors_of_another_model_are_not_compared(quoted):
    asked = {"scope": scope_for(quoted.user), "keys": (), "conversation_id": quoted.conversation_id}
    made_by = set(AttachmentPassage.objects.values_list("model", flat=True))
    assert made_by == {model_registry.embedder().model}
    assert np.linalg.norm(attached_load(**asked).vectors, axis=1).min() > 0.9

    AttachmentPassage.objects.update(model="another")

    assert not attached_load(**asked).vectors.any()


def test_the_file_goes_with_its_conversation(quoted, django_capture_on_commit_callbacks):
    client = Client()
    client.force_login(quoted.user)
    storage, name = quoted.file.storage, quoted.file.name
    assert storage.exists(name)

    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(f"/c/{quoted.conversation_id}/delete").status_code == 204

    assert not storage.exists(name)
    assert not Attachment.objects.exists()
    assert not AttachmentPassage.objects.exists()


def test_old_files_and_those_that_nobody_asked_about_go_by_themselves(quoted, settings):
    waiting = attach(quoted.user)
    assert attachments_expire() == 0
    Attachment.objects.filter(pk=waiting.pk).update(created=timezone.now() - timedelta(hours=25))
    Attachment.objects.filter(pk=quoted.pk).update(created=timezone.now() - timedelta(days=31))

    settings.KEEP_ATTACHMENTS_DAYS = 0
    assert attachments_expire() == 1
    settings.KEEP_ATTACHMENTS_DAYS = 30
    assert attachments_expire() == 1

    assert Message.objects.get().answer == "34 euros [1]."
    assert not MessageCitation.objects.exists()


def test_a_person_gets_the_passages_with_everything_else(quoted):
    rows = person_rows(quoted.user)

    json.dumps(rows, default=str)
    assert rows["chat.attachment"][0]["name"] == "travel.md"
    assert "34 euros" in rows["chat.attachmentpassage"][0]["text"]


def test_a_file_of_one_conversation_is_not_asked_in_another(quoted):
    other = Conversation(tenant=quoted.tenant, user=quoted.user)

    with pytest.raises(NotFoundError):
        attachments_check(scope=scope_for(quoted.user), keys=[str(quoted.key)], conversation=other)
