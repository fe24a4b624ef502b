"""`/api/v1/feedback` and `/api/v1/signals`."""

from __future__ import annotations

import uuid

import pytest

from feedback.models import BadCase, Signal, Vote
from tests.api.world import error_of, fields_of, message_make

FEEDBACK = "/api/v1/feedback"
SIGNALS = "/api/v1/signals"


def test_a_vote_down_is_kept_and_opens_a_case(world, bob):
    message = message_make(world.bob)

    response = bob.post(
        FEEDBACK,
        {
            "message_id": str(message.pk),
            "vote": "down",
            "rating": 1,
            "reasons": ["wrong", "outdated"],
            "comment": "No.",
        },
    )

    assert response.status_code == 201
    assert response.json()["message_id"] == str(message.pk)
    assert response.json()["reasons"] == ["wrong", "outdated"]
    assert BadCase.objects.get().message == message


def test_voting_again_replaces_the_vote_and_keeps_the_comment(world, bob):
    message = message_make(world.bob)
    bob.post(FEEDBACK, {"message_id": str(message.pk), "vote": "down", "comment": "No."})

    bob.post(FEEDBACK, {"message_id": str(message.pk), "vote": "up"})

    assert (Vote.objects.get().vote, Vote.objects.get().comment) == ("up", "No.")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"message_id": "x"}, "message_id"),
        ({"message_id": None}, "message_id"),
        ({"message_id": ["x"]}, "message_id"),
        ({"vote": "sideways"}, "vote"),
        ({"vote": 1}, "vote"),
        ({"rating": 0}, "rating"),
        ({"rating": 6}, "rating"),
        ({"reasons": ["ugly"]}, "reasons.0"),
        ({"reasons": {}}, "reasons"),
        ({"comment": "c" * 2001}, "comment"),
        ({"user": 1}, "user"),
    ],
)
def test_a_bad_field_of_a_vote_is_named(world, bob, change, field):
    response = bob.post(FEEDBACK, {"message_id": str(message_make(world.bob).pk), "vote": "up", **change})

    assert response.status_code == 422
    assert fields_of(response) == {field}


def test_a_comment_may_be_empty_or_two_thousand_characters_long(world, bob):
    for comment in ("", "c" * 2000):
        body = {"message_id": str(message_make(world.bob).pk), "vote": "up", "comment": comment}
        assert bob.post(FEEDBACK, body).json()["comment"] == comment


@pytest.mark.parametrize(("address", "body"), [(FEEDBACK, {"vote": "up"}), (SIGNALS, {"kind": "copy"})])
def test_answers_of_others_are_unknown(world, alice, bob, address, body):
    message = message_make(world.bob)

    for message_id in (message.pk, uuid.uuid4()):
        response = alice.post(address, {"message_id": str(message_id), **body})
        assert (response.status_code, error_of(response)["code"]) == (404, "not_found")


@pytest.mark.parametrize("value", [None, 3, 12.5, "other words", {"citation": 2}, [1]])
def test_signals_are_added_up(world, bob, value):
    message = message_make(world.bob)
    body = {"message_id": str(message.pk), "kind": "dwell", "value": value}

    assert [bob.post(SIGNALS, body).status_code for _ in range(2)] == [202, 202]
    assert [signal.value for signal in Signal.objects.all()] == [value, value]


@pytest.mark.parametrize(
    ("change", "field"),
    [({"kind": "wink"}, "kind"), ({"value": "x" * 70_000}, "value"), ({"value": "\x00"}, "value"), ({"at": 1}, "at")],
)
def test_a_bad_signal_is_refused(world, bob, change, field):
    body = {"message_id": str(message_make(world.bob).pk), "kind": "copy", **change}

    assert fields_of(bob.post(SIGNALS, body)) == {field}
