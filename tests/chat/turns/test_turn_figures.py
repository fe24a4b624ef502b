"""The narrow row of figures of each question."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection
from django.utils import timezone

from chat.models import Conversation, Message, MessageCitation, TurnFigures
from chat.turns.turn_figures import question_key, turn_figures_catch_up, turn_figures_store
from knowledge.models import Chunk
from tests.factories import ingest, make_set, make_user

pytestmark = pytest.mark.django_db
SENTENCES = [{"support": "supported"}, {"support": "weak"}, {"support": "unsupported"}, {"support": "supported"}]


def make_turn(question="How many  Days?", **values):
    user = make_user("reader")
    conversation = Conversation.objects.create(user=user, tenant=user.tenant)
    metadata = {"total_time": 1.5, "cost": 0.01, "usage": {"total_tokens": 120}, "model": "m", "cache": "exact"}
    return Message.objects.create(
        conversation=conversation,
        question=question,
        finished=timezone.now(),
        **{"state": "done", "status": "answered", "metadata": metadata, "sentences": SENTENCES, **values},
    )


def test_figures_of_an_answer_are_stored_once():
    owner = make_user("owner")
    named, cited = make_set("named", owners=[owner]), make_set("cited", owners=[owner])
    message = make_turn(request={"sets": [named.pk]})
    ingest(owner, cited, leave="Annual leave has 30 days.")
    chunk = Chunk.objects.select_related("version").get()
    MessageCitation.objects.create(
        message=message, number=1, chunk=chunk, version=chunk.version, document_id=chunk.version.document_id
    )

    turn_figures_store(message_id=message.pk)
    turn_figures_store(message_id=message.pk)

    row = TurnFigures.objects.get()
    assert (row.status, row.cache, row.seconds, row.cost, row.tokens, row.model) == (
        "answered",
        "exact",
        1.5,
        0.01,
        120,
        "m",
    )
    assert row.supported == 0.625
    assert row.sets == sorted([named.pk, cited.pk])
    assert row.question_key == question_key("how many days?")


def test_a_failed_question_counts_and_a_running_one_does_not():
    failed = make_turn(state="running", status="", metadata={}, sentences=[])
    turn_figures_store(message_id=failed.pk)
    assert not TurnFigures.objects.exists()

    Message.objects.filter(pk=failed.pk).update(state="failed")
    turn_figures_store(message_id=failed.pk)
    row = TurnFigures.objects.get()
    assert (row.status, row.seconds, row.supported) == ("failed", None, None)


def test_what_was_not_stored_is_caught_up_at_night():
    make_turn()

    assert turn_figures_catch_up() == 1
    assert turn_figures_catch_up() == 0


def test_questions_of_before_get_the_same_figures_from_the_migration():
    message = make_turn()
    turn_figures_store(message_id=message.pk)
    now = TurnFigures.objects.values().get()
    TurnFigures.objects.all().delete()

    with connection.cursor() as cursor:
        cursor.execute(import_module("chat.migrations.0013_turn_figures").STORED)

    assert TurnFigures.objects.values().get() == now
