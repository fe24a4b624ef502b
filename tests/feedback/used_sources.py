"""Answers with their sources, and what people did with them, for tests of ranking from use."""

from __future__ import annotations

from chat.models import Conversation, Message, MessageCitation
from feedback.models import Signal
from knowledge.models import Chunk
from tests.factories import make_user

TEXTS = {
    "alarm": "The alarm list of the base station is shown under Monitoring, with severity and time of each alarm.",
    "export": "The alarm table of the base station is saved under Reporting, with severity and time of each alarm.",
    "cake": "A cake of apples needs flour, butter, sugar and forty minutes in the oven.",
}
ASKED = "How do I see the alarms of a base station?"


def answer(person, *documents, question=ASKED, opened=(), channel="web", **values):
    """An answer that cites these documents in this order; `opened`: numbers of sources."""
    conversation = Conversation.objects.create(tenant=person.tenant, user=person, channel=channel)
    message = Message.objects.create(
        conversation=conversation, question=question, answer="So.", state="done", status="answered", **values
    )
    for number, document in enumerate(documents, 1):
        chunk = Chunk.objects.filter(version=document.live_version_id, retired=None).first()
        MessageCitation.objects.create(
            message=message, number=number, chunk=chunk, document=document, version_id=document.live_version_id
        )
    for number in opened:
        Signal.objects.create(message=message, user=person, kind="citation_click", value=number)
    return message


def used(corpus, people, **values):
    """Everybody was shown two sources and opened the second one."""
    return [answer(person, corpus["alarm"], corpus["export"], opened=[2], **values) for person in people]


def people(number, **values):
    return [make_user(**values) for _ in range(number)]
