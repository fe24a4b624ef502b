"""Files and votes in an embedded chat: as in the chat page, for the person who is vouched for, and for nobody else."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.selectors import scope_for
from chat.attachments.files import attachment_add
from chat.concurrency.executors import run_db
from chat.models import Attachment, AttachmentCitation, Conversation, Message
from feedback.models import BadCase, Vote
from tests.chat.embeds.test_socket import QUESTION, answered, connect
from tests.chat.reading import attachment_read

__all__ = ["connect"]  # a fixture

TEXT = "# Travel rules\n\nThe daily allowance for Ravensburg is 34 euros. Receipts go to the travel desk.\n"
ABOUT_FILE = "How high is the daily allowance for Ravensburg?"


def sent(portal: Any, path: str, bearer: str, method: str = "post", **values: Any) -> Any:
    headers = {"authorization": f"Bearer {bearer}"} if bearer else {}
    return getattr(Client(), method)(f"/embed/{portal.embed.code}/{path}", headers=headers, **values)


def attached(portal: Any, bearer: str, content: bytes = TEXT.encode(), name: str = "travel.md", **form: str) -> Any:
    return sent(portal, "attachments", bearer, data={"file": SimpleUploadedFile(name, content), **form})


def judged(portal: Any, bearer: str, body: Any) -> Any:
    return sent(portal, "feedback", bearer, data=json.dumps(body), content_type="application/json")


def read_all() -> None:
    for row in Attachment.objects.all():
        attachment_read(attachment_id=row.pk)


# ── files ──


async def test_a_file_is_attached_asked_about_and_opened_as_a_source(connect, portal):
    bearer = await run_db(portal.bearer)
    stored = await run_db(attached, portal, bearer)
    file = stored.json()
    await run_db(read_all)
    state = (await run_db(portal.get, f"attachments/{file['id']}", bearer)).json()
    socket = await connect(bearer)

    await answered(socket, ABOUT_FILE, attachments=[file["id"]])

    message = await run_db(Message.objects.get)
    citation = await run_db(AttachmentCitation.objects.get)
    turn = (await run_db(portal.get, f"messages/{message.pk}", bearer)).content.decode()
    source = (await run_db(portal.get, f"messages/{message.pk}/sources/{citation.number}", bearer)).content.decode()
    listed = (await run_db(portal.get, f"attachments?conversation_id={message.conversation_id}", bearer)).json()
    assert (stored.status_code, file["state"], state["state"]) == (202, "reading", "ready")
    assert "34" in message.answer
    assert "travel.md" in turn
    assert "Ravensburg" in source
    assert "Save the file" not in source  # it opens for who is signed in at the site
    assert [one["id"] for one in listed["results"]] == [file["id"]]
    gone = await run_db(sent, portal, f"attachments/{file['id']}", bearer, "delete")
    assert (gone.status_code, await run_db(Attachment.objects.count)) == (204, 0)


def test_files_have_the_limits_of_the_chat_page(portal, settings):
    settings.MAX_ATTACHMENT_BYTES, settings.MAX_ATTACHMENTS_BYTES = 1000, 1500
    bearer = portal.bearer()
    elsewhere = "word " * 180  # attached on the site: it counts, too
    attachment_add(scope=scope_for(portal.reader), name="a.md", content=ContentFile(elsewhere.encode(), name="a.md"))

    answers = [
        attached(portal, bearer, b"x" * 1001),
        attached(portal, bearer, b"x", "a.exe"),
        attached(portal, bearer, b""),
        attached(portal, bearer, elsewhere.encode()),
        sent(portal, "attachments", bearer),
    ]

    assert [answer.status_code for answer in answers] == [422] * 5
    assert all(answer.json()["message"] for answer in answers)
    assert Attachment.objects.count() == 1


def test_files_of_other_conversations_and_other_people_do_not_exist(portal):
    talk = Conversation.objects.create(tenant=portal.reader.tenant, user=portal.reader, channel="web", title="t")
    content = ContentFile(TEXT.encode(), name="a.md")
    mine = attachment_add(scope=scope_for(portal.reader), name="a.md", content=content, conversation_id=str(talk.pk))
    bearer, other = portal.bearer(), portal.bearer(portal.colleague.username)
    here = attached(portal, bearer).json()["id"]

    for path, who in ((f"attachments/{mine.key}", bearer), (f"attachments/{here}", other)):
        assert portal.get(path, who).status_code == 404
        assert sent(portal, path, who, "delete").status_code == 404
        assert sent(portal, f"{path}/retry", who).status_code == 404
    assert portal.get(f"attachments?conversation_id={talk.pk}", bearer).status_code == 404
    assert attached(portal, bearer, conversation_id=str(talk.pk)).status_code == 404
    assert portal.get("attachments", bearer).status_code == 404  # those that wait are told to nobody
    assert Attachment.objects.count() == 2


async def test_a_file_of_the_site_is_not_brought_into_the_frame(connect, portal):
    talk = await run_db(
        Conversation.objects.create, tenant=portal.reader.tenant, user=portal.reader, channel="web", title="t"
    )
    content = ContentFile(TEXT.encode(), name="a.md")
    scope = await run_db(scope_for, portal.reader)
    mine = await run_db(attachment_add, scope=scope, name="a.md", content=content, conversation_id=str(talk.pk))
    socket = await connect()

    for key in (mine.key, uuid.uuid4()):
        await socket.send(type="ask", question=ABOUT_FILE, attachments=[str(key)])
        assert (await socket.until("problem"))[-1]["code"] == "not_found"


# ── votes ──


async def test_an_answer_is_judged_and_the_judgement_stays(connect, portal):
    bearer = await run_db(portal.bearer)
    socket = await connect(bearer)
    await answered(socket)
    message = await run_db(Message.objects.get)
    down = {"message_id": str(message.pk), "vote": "down", "reasons": ["incomplete"], "comment": "Which steps?"}

    stored = await run_db(judged, portal, bearer, down)

    vote = await run_db(Vote.objects.select_related("user").get)
    assert (stored.status_code, stored.json()["vote"]) == (201, "down")
    assert (vote.user, vote.comment, vote.reasons) == (portal.reader, "Which steps?", ["incomplete"])
    assert await run_db(BadCase.objects.filter(message=message).count) == 1
    turn = (await run_db(portal.get, f"messages/{message.pk}", bearer)).content.decode()
    assert 'data-vote="down" aria-pressed="true"' in turn
    assert "Which steps?" in turn


def test_only_answers_of_this_chat_are_judged_and_only_in_words_that_are_known(portal):
    talk = Conversation.objects.create(tenant=portal.reader.tenant, user=portal.reader, channel="web", title="t")
    elsewhere = Message.objects.create(conversation=talk, question=QUESTION, answer="Four.", state="done")
    bearer = portal.bearer()

    for message in (elsewhere.pk, uuid.uuid4()):
        assert judged(portal, bearer, {"message_id": str(message), "vote": "down"}).status_code == 404
    for body in (None, [], {}, {"message_id": "x", "vote": "down"}, {"message_id": str(elsewhere.pk), "vote": "odd"}):
        assert judged(portal, bearer, body).status_code == 422
    assert not Vote.objects.exists()


@pytest.mark.parametrize("bearer", ["", "rse_wrong"])
def test_without_a_session_nothing_is_taken(portal, bearer):
    client_answers = [
        attached(portal, bearer),
        judged(portal, bearer, {"message_id": str(uuid.uuid4()), "vote": "up"}),
        sent(portal, f"attachments/{uuid.uuid4()}", bearer, "delete"),
    ]
    assert [answer.status_code for answer in client_answers] == [401] * 3
