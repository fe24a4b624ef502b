"""Shared links: colleagues see what rests on sources that they may read, as long as the link is open."""

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEvent
from accounts.selectors import scope_for
from accounts.services import api_key_create
from chat.concurrency.executors import run_db
from chat.conversations.retention import citations_expire
from chat.conversations.sharing import link_create, link_open
from chat.models import (
    Attachment,
    AttachmentCitation,
    AttachmentPassage,
    Conversation,
    Message,
    MessageCitation,
    SharedLink,
)
from chat.pages.shared_view import shared_turns
from chat.rendering import render_markdown
from chat.turns.message_store import message_finish, message_open
from chat.types import AnswerRecord, AnswerRequest, CitationRecord
from knowledge.models import Chunk, Document, KnowledgeSet
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user

OPEN, SECRET, LOOSE = "The crane lifts seven tons.", "The merger closes in May.", "Both are known to the board."


@pytest.fixture
def world(kept_rows):
    return kept_rows


class Shared:
    """A conversation of two turns: the last answer quotes an open document and a confidential one."""


def shared_world():
    made = Shared()
    made.owner, made.colleague = make_user(), make_user()
    open_set = make_set("open", owners=[made.owner])
    secret_set = make_set("secret", owners=[made.owner], visibility=KnowledgeSet.Visibility.MEMBERS)
    made.secret_set = secret_set
    documents = {**ingest(made.owner, open_set, crane=OPEN), **ingest(made.owner, secret_set, merger=SECRET)}
    made.documents = documents
    made.talk = Conversation.objects.create(tenant=made.owner.tenant, user=made.owner, channel="web", title="t")
    first = Message.objects.create(conversation=made.talk, question="Earlier?", answer="Hello.", state="done")
    first.answer_html = "<p>Hello.</p>"
    first.save()
    text = f"{OPEN} [1] {SECRET} [2] {LOOSE}"
    sentences = [
        {"text": OPEN, "support": "supported", "citations": [1]},
        {"text": SECRET, "support": "supported", "citations": [2]},
        {"text": LOOSE, "support": "weak", "reason": None, "citations": []},
    ]
    made.message = Message.objects.create(
        conversation=made.talk,
        parent=first,
        question="What do we know?",
        answer=text,
        answer_html=render_markdown(text, citations={1, 2}, sentences=sentences),
        sentences=sentences,
        state="done",
        status="answered",
    )
    Conversation.objects.filter(pk=made.talk.pk).update(leaf=made.message)
    for number, name in enumerate(("crane", "merger"), 1):
        chunk = Chunk.objects.get(version__document=documents[name], kind__in=("body", "whole"))
        MessageCitation.objects.create(
            message=made.message,
            number=number,
            chunk=chunk,
            document=documents[name],
            version=chunk.version,
            excerpt=chunk.text,
            segment=chunk.text,
        )
    made.link = link_create(scope=scope_for(made.owner), message_id=made.message.pk, is_whole=False, days=7)
    return made


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=shared_world)]


def page_of(user, link):
    client = Client()
    client.force_login(user)
    answer = client.get(f"/shared/{link.key}")
    return answer.status_code, answer.content.decode()


def test_a_colleague_sees_only_what_rests_on_readable_sources(world):
    status, page = page_of(world.colleague, world.link)

    assert status == 200
    assert OPEN in page
    assert f'href="#source-{world.message.pk}-1"' in page
    assert "2 sentences from sources that you may not read" in page
    assert "A source that you may not read" in page
    for word in (SECRET, "merger", LOOSE, "secret"):
        assert word not in page


def test_one_who_may_read_all_sources_sees_the_answer_as_it_is(world):
    world.secret_set.members.add(world.colleague)

    _status, page = page_of(world.colleague, world.link)

    for text in (OPEN, SECRET, LOOSE):
        assert text in page
    assert "may not read" not in page.replace("sources that you can access", "")


def test_a_shared_part_of_an_answer_is_called_so_and_its_marks_are_explained(world):
    Message.objects.filter(pk=world.message.pk).update(state="stopped")

    _status, page = page_of(world.owner, world.link)

    assert "Stopped; partial answer kept." in page
    assert "Not supported by the sources" in page


def test_rights_are_those_of_the_moment(world):
    world.secret_set.members.add(world.colleague)
    assert SECRET in page_of(world.colleague, world.link)[1]

    world.secret_set.members.remove(world.colleague)

    assert SECRET not in page_of(world.colleague, world.link)[1]


def test_a_passage_that_was_replaced_is_not_shown(world):
    Chunk.objects.filter(version__document=world.documents["crane"]).update(retired=timezone.now())

    _status, page = page_of(world.colleague, world.link)

    assert OPEN not in page
    assert "3 sentences from sources that you may not read" in page


def test_what_an_attached_file_says_is_shown_to_nobody_else(world):
    world.secret_set.members.add(world.colleague)
    row = Attachment.objects.create(
        tenant=world.owner.tenant, user=world.owner, name="mine.md", size_bytes=1, state="ready"
    )
    passage = AttachmentPassage.objects.create(attachment=row, ordinal=0, text="private", vector=b"")
    AttachmentCitation.objects.create(message=world.message, number=3, passage=passage)

    _status, page = page_of(world.colleague, world.link)

    assert OPEN in page
    assert LOOSE not in page
    assert "mine.md" not in page
    assert "private" not in page


def test_an_answer_stays_withheld_when_its_attached_file_is_gone(world):
    world.secret_set.members.add(world.colleague)
    Message.objects.filter(pk=world.message.pk).update(document_sources=2, file_sources=1)

    _status, page = page_of(world.colleague, world.link)

    assert OPEN in page
    assert LOOSE not in page


def test_an_answer_stays_withheld_when_a_source_was_purged(world):
    Message.objects.filter(pk=world.message.pk).update(document_sources=2)
    Document.objects.filter(pk=world.documents["merger"].pk).update(deleted=timezone.now() - timedelta(days=40))
    assert citations_expire(before=timezone.now() - timedelta(days=30)) == 1

    _status, page = page_of(world.colleague, world.link)

    assert OPEN in page
    assert SECRET not in page
    assert LOOSE not in page


def test_what_a_model_may_repeat_of_earlier_turns_is_withheld_with_their_sources(world):
    repeated = Message.objects.create(
        conversation=world.talk,
        parent=world.message,
        question="Say that again.",
        answer=SECRET,
        answer_html=f"<p>{SECRET}</p>",
        metadata={"model": "gpt"},
        state="done",
        status="conversation",
    )
    link = link_create(scope=scope_for(world.owner), message_id=repeated.pk, is_whole=False, days=7)

    _status, page = page_of(world.colleague, link)
    assert SECRET not in page

    world.secret_set.members.add(world.colleague)
    _status, page = page_of(world.colleague, link)
    assert SECRET in page

    Message.objects.filter(pk=world.message.pk).update(file_sources=1)  # and of what an attached file said
    _status, page = page_of(world.colleague, link)
    assert SECRET not in page


def test_a_long_shared_conversation_costs_as_few_statements_as_a_short_one(world, django_assert_max_num_queries):
    parent = world.message
    for number in range(60):
        parent = Message.objects.create(
            conversation=world.talk,
            parent=parent,
            question=f"{number}?",
            answer=LOOSE,
            metadata={"model": "gpt"},
            state="done",
            status="conversation",
        )
    Conversation.objects.filter(pk=world.talk.pk).update(leaf=parent)
    link = link_create(scope=scope_for(world.owner), message_id=parent.pk, is_whole=True, days=7)

    with django_assert_max_num_queries(30):
        shown = shared_turns(scope=scope_for(world.colleague), link=link)

    assert len(shown.turns) == 50
    assert not any(turn.is_whole for turn in shown.turns)


def test_a_written_follow_up_shows_its_readable_sentences_where_earlier_sources_are_closed(world):
    citation = world.message.citations.get(number=1)
    later = Message.objects.create(
        conversation=world.talk,
        parent=world.message,
        question="How much does the crane lift?",
        answer=f"{OPEN} [1] {LOOSE}",
        answer_html=f"<p>{OPEN} {LOOSE}</p>",
        sentences=[
            {"text": OPEN, "support": "supported", "citations": [1]},
            {"text": LOOSE, "support": "weak", "reason": None, "citations": []},
        ],
        metadata={"model": "gpt"},
        state="done",
        status="answered",
    )
    citation.pk, citation.message = None, later
    citation.save()
    link = link_create(scope=scope_for(world.owner), message_id=later.pk, is_whole=False, days=7)

    _status, page = page_of(world.colleague, link)
    assert OPEN in page
    assert LOOSE not in page

    Message.objects.filter(pk=later.pk).update(metadata={"model": "extractive"})  # quotes have nothing else in them
    _status, page = page_of(world.colleague, link)
    assert LOOSE in page


def test_a_stored_answer_counts_its_sources(world):
    gone = CitationRecord(
        number=1, chunk_id=10**9, document_id=10**9, version_id=10**9, version=1, external_id="", title="", page=None,
        content="", score=1.0, confidence=1.0, position=0, segment="", weak=False,
    )  # fmt: skip
    cited = (gone, replace(gone, number=2, chunk_id=-(10**9), attachment=str(uuid.uuid4())))
    record = AnswerRecord(text="x", html="", status="answered", confidence=1.0, citations=cited)
    request = AnswerRequest(query="What do we know?")

    message = message_open(scope=scope_for(world.owner), user=world.owner, request=request, channel="web")
    message_finish(message=message, record=record)

    message.refresh_from_db()
    assert (message.document_sources, message.file_sources) == (1, 1)  # also where the rows cannot be stored any more
    assert message.citations.count() == 0


def test_only_an_open_link_shows_anything_and_only_in_the_organisation(world):
    stranger = make_user(tenant=make_tenant("elsewhere"))
    nobody = Client().get(f"/shared/{world.link.key}")
    assert page_of(stranger, world.link)[0] == 404
    assert nobody.status_code == 302
    assert "/sign-in" in nobody["Location"]

    for change in ({"expires": timezone.now() - timedelta(seconds=1)}, {"revoked": timezone.now()}):
        SharedLink.objects.update(expires=timezone.now() + timedelta(days=1), revoked=None)
        assert page_of(world.colleague, world.link)[0] == 200
        SharedLink.objects.update(**change)
        status, page = page_of(world.colleague, world.link)
        assert status == 404
        assert OPEN not in page
    SharedLink.objects.update(expires=timezone.now() + timedelta(days=1), revoked=None)
    world.owner.is_active = False
    world.owner.save()
    assert page_of(world.colleague, world.link)[0] == 404


def test_a_conversation_is_shared_up_to_the_answer_and_no_further(world):
    scope = scope_for(world.owner)
    link = link_create(scope=scope, message_id=world.message.pk, is_whole=True, days=30)
    request = AnswerRequest(query="A later secret?", conversation_id=str(world.talk.pk))
    later = message_open(scope=scope, user=world.owner, request=request, channel="web")
    Message.objects.filter(pk=later.pk).update(state="done", answer_html="<p>Later.</p>")

    _status, page = page_of(world.colleague, link)
    shown = shared_turns(scope=scope_for(world.colleague), link=link_open(scope=scope, key=world.link.key))

    assert "Earlier?" in page
    assert "A later secret?" not in page
    assert [turn.message.pk for turn in shown.turns] == [world.message.pk]


def test_of_a_long_conversation_it_is_told_how_many_turns_are_left_out(world, monkeypatch):
    monkeypatch.setattr("chat.pages.shared_view.MOST_TURNS", 1)
    link = link_create(scope=scope_for(world.owner), message_id=world.message.pk, is_whole=True, days=30)

    _status, page = page_of(world.colleague, link)
    _status, alone = page_of(world.colleague, world.link)

    assert "Earlier?" not in page
    assert "1 earlier question is not shown." in page
    assert "not shown" not in alone


def test_sharing_opening_and_revoking_are_recorded_without_the_words(world):
    page_of(world.colleague, world.link)
    page_of(world.owner, world.link)  # one's own look is no event
    client = Client()
    client.force_login(world.owner)
    assert client.post(f"/shared/{world.link.key}/revoke").status_code == 302
    client.post(f"/shared/{world.link.key}/revoke")

    events = AuditEvent.objects.filter(action__startswith="answer.").order_by("pk")
    assert [(one.action, one.actor_id) for one in events] == [
        ("answer.share", world.owner.pk),
        ("answer.open_shared", world.colleague.pk),
        ("answer.unshare", world.owner.pk),
    ]
    assert all("What do we know" not in f"{one.target}{one.data}" for one in events)
    world.link.refresh_from_db()
    assert (world.link.opened, world.link.is_open) == (1, False)
    page = client.get("/shared").content.decode()
    assert "What do we know?" in page
    assert "Revoked" in page


def test_nobody_shares_or_revokes_for_another(world):
    for person in (world.colleague, make_admin()):
        client = Client()
        client.force_login(person)
        assert client.post(f"/shared/{world.link.key}/revoke").status_code == 404
        assert "What do we know" not in client.get("/shared").content.decode()
    world.link.refresh_from_db()
    assert world.link.is_open


def test_a_deleted_conversation_takes_its_links_with_it(world):
    client = Client()
    client.force_login(world.owner)

    client.post(f"/c/{world.talk.pk}/delete")

    assert not SharedLink.objects.exists()
    assert page_of(world.colleague, world.link)[0] == 404


@pytest.mark.django_db(transaction=True)
async def test_the_api_shares_shows_lists_and_revokes(redis_client, async_client):
    made = await run_db(shared_world)
    keys = [await run_db(lambda one=one: api_key_create(user=one, name="t")[1]) for one in (made.owner, made.colleague)]
    own, other = ({"Authorization": f"Bearer {key}"} for key in keys)
    url = "/api/v1/rag/shares"
    body = {"message_id": str(made.message.pk), "whole": True, "days": 90}

    sent = await async_client.post(url, body, content_type="application/json", headers=own)
    link = sent.json()
    answer = (await async_client.get(f"{url}/{link['id']}", headers=other)).json()
    shown = answer["turns"]
    refused = await async_client.post(url, body, content_type="application/json", headers=other)
    odd = await async_client.post(url, {**body, "days": 1000}, content_type="application/json", headers=own)

    assert (sent.status_code, refused.status_code, odd.status_code) == (201, 404, 422)
    assert answer["left_out"] == 0
    assert OPEN in shown[-1]["parts"][0]["html"]
    assert shown[-1]["parts"][1] == {"withheld": 2}
    assert [one["readable"] for one in shown[-1]["sources"]] == [True, False]
    assert SECRET not in str(shown)
    assert (await async_client.delete(f"{url}/{link['id']}", headers=other)).status_code == 404
    assert (await async_client.delete(f"{url}/{link['id']}", headers=own)).status_code == 204
    assert (await async_client.get(f"{url}/{link['id']}", headers=other)).status_code == 404
    assert len((await async_client.get(url, headers=own)).json()["results"]) == 2
    assert (await async_client.get(f"{url}/{uuid.uuid4()}", headers=own)).status_code == 404
