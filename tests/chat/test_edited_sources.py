"""A passage that its owner has edited says so wherever an answer cites it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.test import Client
from django.utils import translation

from accounts.selectors import scope_for
from chat.conversations.sharing import link_create
from chat.exports.report import build_report
from chat.models import Conversation, Message, MessageCitation
from chat.pages.shared_view import shared_turns
from chat.pages.view_models import turn_views
from chat.rendering import render_markdown
from chat.serializers import citations_formatted, serialize_citation
from chat.turns.message_store import message_finish, message_open
from chat.types import AnswerRecord, AnswerRequest, CitationRecord
from knowledge.models import Chunk
from knowledge.rendering import marked_places
from knowledge.selectors import chunks_of
from knowledge.services.edits import chunk_replace, edit_undo
from knowledge.view_models import document_view, source_view
from tests.factories import ingest, make_set, make_user, scope_of

BEFORE = "The warranty lasts 12 months. It begins on the day of delivery."
AFTER = "The warranty lasts 9 months. It begins on the day of delivery."


@pytest.fixture(autouse=True)
def english():
    with translation.override("en"):
        yield


def world_make():
    owner = make_user()
    document = ingest(owner, make_set("terms", owners=[owner]), warranty=BEFORE)["warranty"]
    old = chunks_of(scope=scope_of(owner), document_id=document.pk).get()
    chunk = chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=old.pk, text=AFTER)
    talk = Conversation.objects.create(tenant=owner.tenant, user=owner, channel="web", title="t")
    text = "The warranty lasts 9 months [1]."
    message = Message.objects.create(
        conversation=talk,
        question="How long is the warranty?",
        answer=text,
        answer_html=render_markdown(text, citations={1}, sentences=[]),
        state="done",
        status="answered",
    )
    Conversation.objects.filter(pk=talk.pk).update(leaf=message)
    MessageCitation.objects.create(
        message=message,
        number=1,
        chunk=chunk,
        document=document,
        version=chunk.version,
        segment="The warranty lasts 9 months.",
    )
    return SimpleNamespace(owner=owner, document=document, old=old, chunk=chunk, message=message, talk=talk)


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=world_make)]


@pytest.fixture
def world(kept_rows):
    """An answer that cites a passage whose owner changed 12 to 9 months."""
    return kept_rows


def record(world) -> CitationRecord:
    """The citation as a fresh answer binds it."""
    citation = CitationRecord(
        number=1,
        chunk_id=world.chunk.pk,
        document_id=world.document.pk,
        version_id=world.chunk.version_id,
        version=0,
        external_id="",
        title="Warranty",
        page=None,
        content=AFTER,
        score=1.0,
        confidence=1.0,
        position=0,
        segment="",
        weak=False,
    )
    message = message_open(
        scope=scope_for(world.owner), user=world.owner, request=AnswerRequest(query="How long?"), channel="api"
    )
    answer = AnswerRecord(text="9 [1].", html="", status="answered", confidence=1.0, citations=(citation,))
    return message_finish(message=message, record=answer).citations[0]


def test_the_citation_of_the_interface_says_when_it_was_edited(world):
    sent = serialize_citation(record(world))

    assert (sent["edited"], sent["edited_at"]) == (True, world.chunk.edited.isoformat())
    assert "edited by the owner on" in citations_formatted([record(world)], "plain")
    Chunk.objects.filter(pk=world.chunk.pk).update(edited=None)
    untouched = serialize_citation(record(world))
    assert (untouched["edited"], untouched["edited_at"]) == (False, None)


def test_lines_of_sources_and_exports_say_so(world):
    views = turn_views(scope=scope_for(world.owner), messages=[world.message])

    assert views[0].sources[0].edited == world.chunk.edited
    assert "edited by the owner on" in views[0].sources[0].words
    assert any(
        "edited by the owner on" in line for turn in build_report(title="t", turns=views).turns for line in turn.sources
    )


def test_a_shared_page_and_the_page_of_the_document_say_so(world):
    link = link_create(scope=scope_for(world.owner), message_id=world.message.pk, is_whole=False, days=7)
    shared = shared_turns(scope=scope_for(world.owner), link=link)
    page = document_view(scope=scope_of(world.owner), document_id=world.document.pk, number=1)

    assert shared.turns[0].sources[0].edited == world.chunk.edited
    assert [chunk.edited for chunk in page.chunks] == [world.chunk.edited]


def test_the_panel_shows_the_original_wording_to_those_who_may_open_the_document(world):
    shown = source_view(scope=scope_of(world.owner), chunk_id=world.chunk.pk, is_cited=True)

    assert [(line.change, line.text) for line in shown.original_wording] == [
        ("removed", "The warranty lasts 12 months."),
        ("added", "The warranty lasts 9 months."),
        ("same", "It begins on the day of delivery."),
    ]


def test_readers_of_withheld_originals_hear_of_the_edit_and_not_what_stood_there(world):
    world.document.sets.update(originals="keepers")
    reader = make_user()

    shown = source_view(scope=scope_of(reader), chunk_id=world.chunk.pk, is_cited=True)

    assert shown.chunk.edited == world.chunk.edited
    assert shown.original_wording == ()


def test_an_answer_from_the_time_of_an_edit_that_was_undone_still_says_so(world):
    edit_undo(scope=scope_of(world.owner), actor=world.owner, edit_id=world.chunk.edit_id)

    old = source_view(scope=scope_of(world.owner), chunk_id=world.chunk.pk, is_cited=True)
    now = chunks_of(scope=scope_of(world.owner), document_id=world.document.pk).get()

    assert old.chunk.edited == world.chunk.edited
    assert old.original_wording == ()
    assert (now.text, now.edited) == (BEFORE, None)


def test_the_panel_in_the_chat_tells_it_in_words(world):
    client = Client()
    client.force_login(world.owner)

    page = client.get(f"/messages/{world.message.pk}/sources/1").content.decode()

    assert "Edited by the owner on" in page
    assert "the original document says otherwise" in page
    assert "<del>" in page
    assert marked_places(AFTER, "The warranty lasts 9 months.") == (0,)
