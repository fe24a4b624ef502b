"""Votes on answers rate the documents that these cite."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from accounts.selectors import scope_for
from chat.models import Message, MessageCitation
from feedback import tasks
from feedback.services import cited_documents_rate, vote_record
from knowledge.models import Document
from tests.api.world import document_make, message_make, set_make


@pytest.fixture
def sent(monkeypatch) -> list[dict[str, Any]]:
    """What was handed to the broker."""
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "work.queue.current_app.send_task",
        lambda name, kwargs, **options: messages.append({"name": name, **kwargs, **options}),
    )
    return messages


def answer_citing(user: User, *documents: Document, cited: bool = True) -> Message:
    message = message_make(user)
    for number, document in enumerate(documents, 1):
        version = document.live_version
        MessageCitation.objects.create(
            message=message,
            number=number,
            document=document,
            version=version,
            chunk=version.chunks.first(),
            cited=cited,
        )
    return message


def vote(user: User, message: Message, direction: str, rating: int | None = None) -> None:
    vote_record(scope=scope_for(user), user=user, message_id=message.pk, vote=direction, rating=rating)
    cited_documents_rate(message_id=message.pk)


def rating_of(document: Document) -> tuple[float | None, int]:
    return Document.objects.values_list("rating", "ratings").get(pk=document.pk)


def test_thumbs_count_as_5_and_1_and_ratings_as_themselves(world):
    document = document_make(set_make(world.alice))
    first, second, third = (answer_citing(world.bob, document) for _ in range(3))

    vote(world.bob, first, "up")
    assert rating_of(document) == (5.0, 1)
    vote(world.bob, second, "down")
    assert rating_of(document) == (3.0, 2)
    vote(world.bob, third, "up", rating=4)
    assert rating_of(document) == (pytest.approx(10 / 3), 3)


def test_a_vote_given_anew_replaces_the_earlier_one(world):
    document = document_make(set_make(world.alice))
    message = answer_citing(world.bob, document)
    vote(world.bob, message, "down")

    vote(world.bob, message, "up", rating=5)

    assert rating_of(document) == (5.0, 1)


def test_every_cited_document_is_rated_once_a_vote_and_no_other(world):
    common = set_make(world.alice)
    cited, shown, elsewhere = (document_make(common) for _ in range(3))
    message = answer_citing(world.bob, cited, cited)
    MessageCitation.objects.create(
        message=message,
        number=9,
        document=shown,
        version=shown.live_version,
        chunk=shown.live_version.chunks.first(),
        cited=False,
    )

    vote(world.bob, message, "down")

    assert rating_of(cited) == (1.0, 1)
    assert rating_of(shown) == (None, 0)
    assert rating_of(elsewhere) == (None, 0)


def test_a_vote_sends_for_the_rating_once_it_is_stored(world, sent, django_capture_on_commit_callbacks):
    message = answer_citing(world.bob, document_make(set_make(world.alice)))

    with django_capture_on_commit_callbacks(execute=True):
        vote_record(scope=scope_for(world.bob), user=world.bob, message_id=message.pk, vote="up")
        assert sent == []

    assert [(m["name"], m["message_id"], m["queue"]) for m in sent] == [
        ("feedback.rate_documents", str(message.pk), "nightly")
    ]


def test_the_task_rates(world):
    document = document_make(set_make(world.alice))
    message = answer_citing(world.bob, document)
    vote_record(scope=scope_for(world.bob), user=world.bob, message_id=message.pk, vote="up")

    tasks.rate_documents(message_id=str(message.pk))

    assert rating_of(document) == (5.0, 1)


def test_an_answer_that_was_deleted_meanwhile_rates_nothing(world):
    message = answer_citing(world.bob)
    pk = message.pk
    message.delete()

    cited_documents_rate(message_id=pk)
