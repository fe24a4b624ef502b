"""What may be asked next has an answer, and tells nothing that the asker may not open."""

from __future__ import annotations

import pytest

from chat.models import Conversation, Message, MessageCitation
from chat.pages.follow_ups import _question, follow_ups
from knowledge.errors import RetrievalUnavailableError
from knowledge.models import KnowledgeSet
from tests.factories import ingest, make_set, make_user, scope_of

TEXT = """# Pump manual

## Mounting the pump

The pump is mounted with four bolts.

## Draining the coolant

The coolant is drained through the plug below the housing.

## Is the seal greased?

The seal must not be greased.
"""


@pytest.fixture
def message(db, redis_client) -> Message:
    owner, reader = make_user(), make_user()
    document = ingest(owner, make_set("pumps", owners=[owner], name="Pumps"), pump=TEXT)["pump"]
    conversation = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web")
    made = Message.objects.create(
        conversation=conversation, question="How is mounting the pump done?", state="done", status="answered"
    )
    version = document.live_version
    MessageCitation.objects.create(
        message=made, number=1, chunk=version.chunks.first(), document=document, version=version
    )
    return made


def suggested(message: Message) -> list[str]:
    return follow_ups(scope=scope_of(message.conversation.user), message_id=message.pk)


def test_sections_that_were_not_asked_about_are_suggested(message):
    assert suggested(message) == ["What does “pump” say about draining the coolant?", "Is the seal greased?"]

    Message.objects.create(conversation=message.conversation, question="Is the seal greased?", state="done")
    assert suggested(message) == ["What does “pump” say about draining the coolant?"]


def test_a_page_that_is_opened_again_searches_for_nothing(message, monkeypatch):
    first = suggested(message)

    monkeypatch.setattr("chat.pages.follow_ups.search_with_answer", None)

    assert suggested(message) == first
    assert len(first) == 2


def test_a_search_that_fails_is_made_again_with_the_next_look(message, monkeypatch):
    def fails(**_values):
        raise RetrievalUnavailableError

    with monkeypatch.context() as patched:
        patched.setattr("chat.pages.follow_ups.search_with_answer", fails)
        assert suggested(message) == []

    assert len(suggested(message)) == 2


def test_nothing_is_suggested_of_what_may_be_asked_but_not_opened_nor_after_a_refusal(message):
    KnowledgeSet.objects.update(originals=KnowledgeSet.Originals.KEEPERS)
    assert suggested(message) == []

    KnowledgeSet.objects.update(originals=KnowledgeSet.Originals.READERS)
    Message.objects.update(status="refused")
    assert suggested(message) == []


@pytest.mark.parametrize(
    ("heading", "asked", "question"),
    [
        ("Alarm clearing", "What is a VSWR alarm?", "What does “Guide” say about alarm clearing?"),
        ("VSWR alarms", "What is a fault?", "What does “Guide” say about VSWR alarms?"),
        ("告警清除", "什么是告警？", "《Guide》对“告警清除”是怎么说的？"),
        ("Is it sealed?", "Что это?", "Is it sealed?"),
        ("Сброс аварии", "Что это?", ""),
    ],
)
def test_a_heading_is_offered_as_a_question_or_not_at_all(heading, asked, question):
    assert _question(heading, "Guide", asked) == question
