"""What readers do with answers: kept with how the answer came to be, and a case where it says that it did not help."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.selectors import scope_for
from feedback import answer_checks, maintenance
from feedback.answer_checks import answers_check
from feedback.models import AnswerCheck, BadCase, Signal, Vote
from feedback.services import case_move, signal_record, vote_record
from feedback.tasks import maintain
from ragcore.errors import ModelUnavailableError
from tests.api.world import document_make, message_make, set_make

FEEDBACK = "/api/v1/feedback"
SIGNALS = "/api/v1/signals"
MADE = {
    "state": "done",
    "status": "answered",
    "confidence": 0.4,
    "request": {"retrieval_mode": "hybrid", "sets": [3]},
    "metadata": {"strategy": "standard", "mode_used": "basic", "cache": "none", "total_time": 1.5, "model": "gpt"},
    "trace": {"candidates": [{"chunk_id": 1, "scores": {"fuse.rsf": 0.51234}}]},
    "sentences": [{"text": "A.", "support": "supported"}, {"text": "B.", "support": "unsupported"}],
}


def finished(user, question="Why?", *, seconds_ago=180, **values):
    """An answer that ended so long ago."""
    at = timezone.now() - timedelta(seconds=seconds_ago)
    message = message_make(user, question=question, **{**MADE, **values}, finished=at)
    type(message).objects.filter(pk=message.pk).update(created=at - timedelta(seconds=1))
    message.refresh_from_db()
    return message


def origins() -> dict[str, str]:
    return dict(BadCase.objects.values_list("message__question", "origin"))


@pytest.mark.parametrize(("rating", "vote", "cases"), [(1, "down", 1), (2, "down", 1), (3, "up", 0), (5, "up", 0)])
def test_a_rating_alone_is_a_judgement(world, bob, rating, vote, cases):
    response = bob.post(FEEDBACK, {"message_id": str(message_make(world.bob).pk), "rating": rating})

    assert (response.status_code, response.json()["vote"]) == (201, vote)
    assert BadCase.objects.count() == cases


def test_a_low_rating_is_a_complaint_whatever_the_vote_is(world, bob):
    bob.post(FEEDBACK, {"message_id": str(message_make(world.bob).pk), "vote": "up", "rating": 2})

    assert BadCase.objects.get().origin == "vote"


def test_a_judgement_says_something(world, bob):
    response = bob.post(FEEDBACK, {"message_id": str(message_make(world.bob).pk)})

    assert response.status_code == 422


def test_how_the_answer_came_to_be_is_kept_with_votes_signals_and_cases(world):
    message = message_make(world.bob, answer="Because of the budget.", **MADE)
    scope = scope_for(world.bob)

    vote_record(scope=scope, user=world.bob, message_id=message.pk, vote="down")
    signal_record(scope=scope, user=world.bob, message_id=message.pk, kind="wrong_source", value=2)

    features = BadCase.objects.get().features
    assert Vote.objects.get().features == Signal.objects.get().features == features
    assert features["query_type"] == "process"
    assert (features["strategy"], features["mode"], features["model"], features["cache"]) == (
        "standard",
        "basic",
        "gpt",
        "none",
    )
    assert features["support"] == {"supported": 1, "unsupported": 1}
    assert features["scores"] == {"fuse.rsf": 0.5123}
    assert (features["sets"], features["confidence"], features["seconds"]) == ([3], 0.4, 1.5)
    assert message.answer not in str(features)


def test_a_stopped_answer_is_a_case(world, bob):
    message = message_make(world.bob, **{**MADE, "answer": "The budget was"})

    assert bob.post(SIGNALS, {"message_id": str(message.pk), "kind": "stop"}).json() == {"accepted": True}

    assert BadCase.objects.get().origin == "stop"


@pytest.mark.parametrize(
    "values",
    [
        {"answer": "", "status": "stopped"},
        {"answer": "“The budget was cut.” [1]", "metadata": {**MADE["metadata"], "model": "extractive"}},
    ],
)
def test_a_stop_before_any_text_or_of_quotations_is_no_complaint(world, bob, values):
    message = finished(world.bob, **{"sentences": [], "state": "stopped", **values})

    assert bob.post(SIGNALS, {"message_id": str(message.pk), "kind": "stop"}).json() == {"accepted": True}

    assert answers_check() == 0
    assert not BadCase.objects.exists()
    assert Signal.objects.get().kind == "stop"


def test_who_does_not_want_it_leaves_no_signals_and_no_cases(world, bob):
    world.bob.record_use = False
    world.bob.save()
    message = finished(world.bob, state="stopped")

    response = bob.post(SIGNALS, {"message_id": str(message.pk), "kind": "copy"})

    assert (response.status_code, response.json()) == (202, {"accepted": False})
    assert answers_check() == 0
    assert not Signal.objects.exists()


def test_a_reported_source_is_kept_all_the_same(world, bob):
    world.bob.record_use = False
    world.bob.save()
    body = {"message_id": str(message_make(world.bob).pk), "kind": "wrong_source", "value": 2}

    assert bob.post(SIGNALS, body).json() == {"accepted": True}


def test_a_question_asked_again_in_other_words_is_a_case(world):
    first = finished(world.bob, "How do I reset my VPN password?", seconds_ago=200)
    again = finished(world.bob, "VPN password forgotten, how to set a new one", seconds_ago=130)
    for message in (first, again):
        message.conversation.channel = "web"
        message.conversation.save()

    assert answers_check() == 1
    assert answers_check() == 0

    assert origins() == {first.question: "reword"}
    assert Signal.objects.get(message=first).value == str(again.pk)


def test_an_answer_that_is_generated_again_is_no_rewording_and_hides_none(world):
    question = "How do I reset my VPN password?"
    first = finished(world.bob, question, seconds_ago=260)
    again = finished(world.bob, question, conversation=first.conversation, parent=first.parent, seconds_ago=220)
    reworded = finished(
        world.bob, "VPN password forgotten, how to set a new one", conversation=first.conversation, seconds_ago=190
    )

    assert answers_check() == 1

    assert BadCase.objects.get().message == again
    assert Signal.objects.get().value == str(reworded.pk)


@pytest.mark.parametrize("later", ["如何重置VPN密码", "如何重置 VPN 密码？？", "如何重置ＶＰＮ密码？"])
def test_the_same_question_with_other_signs_and_widths_is_no_rewording(world, later):
    first = finished(world.bob, "如何重置VPN密码？", seconds_ago=200)
    finished(world.bob, later, conversation=first.conversation, seconds_ago=130)

    assert answers_check() == 0


@pytest.mark.parametrize(
    ("later", "seconds_ago"),
    [
        ("Which VPN client do we use on Linux?", 130),  # another question
        ("How do I reset my VPN password 2?", 130),  # another figure
        ("how do I reset my  VPN password", 130),  # the same once more
        ("VPN password forgotten, how to set a new one", 30),  # too late
    ],
)
def test_another_question_is_none(world, later, seconds_ago):
    first = finished(world.bob, "How do I reset my VPN password?", seconds_ago=200)
    again = finished(world.bob, later, seconds_ago=seconds_ago)
    for message in (first, again):
        message.conversation.channel = "web"
        message.conversation.save()

    assert answers_check() == 0


def test_an_answer_is_looked_at_once_and_not_before_the_next_question_can_have_come(world, monkeypatch):
    looked: list[str] = []
    monkeypatch.setattr(
        answer_checks, "_origins", lambda message, **_values: looked.append(message.question) or iter(())
    )
    finished(world.bob, "Now?", seconds_ago=30)
    finished(world.bob, "Then?", seconds_ago=180)

    for _minute in range(3):
        answers_check()
    answers_check(since=timezone.now() - timedelta(days=2))

    assert looked == ["Then?"]


def test_an_embedding_model_that_is_down_keeps_no_other_answer_from_being_looked_at(world, monkeypatch):
    asked = [finished(world.bob, f"Question {number}?", seconds_ago=180 + number) for number in range(2)]
    embedder = SimpleNamespace(embed_queries=Mock(side_effect=ModelUnavailableError))
    monkeypatch.setattr(answer_checks.model_registry, "embedder", lambda: embedder)
    first = finished(world.bob, "How do I reset my VPN password?", seconds_ago=150)
    again = finished(world.bob, "VPN password forgotten", conversation=first.conversation, seconds_ago=60)
    third = finished(world.alice, "How do I reset my VPN password?", seconds_ago=151)
    finished(world.alice, "VPN password forgotten", conversation=third.conversation, seconds_ago=61)

    answers_check()

    looked_at = set(AnswerCheck.objects.values_list("message", flat=True))
    assert embedder.embed_queries.call_count == 1  # each further answer would wait for it as long
    assert looked_at == {message.pk for message in asked}
    embedder.embed_queries = lambda texts: np.ones((len(texts), 4))
    answers_check()
    assert AnswerCheck.objects.filter(message=first).exists()
    assert not AnswerCheck.objects.filter(message=again).exists()


def test_answers_to_look_at_are_found_by_the_time_of_their_questions(world):
    """Of the columns that bound the search only that one has an index."""
    finished(world.bob, "Then?", seconds_ago=180)

    with CaptureQueriesContext(connection) as captured:
        answers_check()

    (found,) = [one["sql"] for one in captured.captured_queries if '"chat_message"."finished" >=' in one["sql"]]
    assert '"chat_message"."created" >=' in found
    assert AnswerCheck.objects.exists()


def test_at_night_a_step_that_fails_keeps_no_other_from_its_turn(monkeypatch):
    done = []
    monkeypatch.setattr(maintenance, "signal_months_make", Mock(side_effect=OperationalError))
    monkeypatch.setattr(maintenance, "signals_expire", lambda: done.append("expired"))
    monkeypatch.setattr(maintenance, "answers_check", lambda *, since: done.append("looked"))

    maintain()

    assert done == ["expired", "looked"]


def test_programs_that_ask_alike_do_not_reword(world):
    finished(world.bob, "How do I reset my VPN password?", seconds_ago=200)
    finished(world.bob, "VPN password forgotten, how to set a new one", seconds_ago=130)

    assert answers_check() == 0


def test_sentences_without_support_are_a_case(world):
    lone = [{"text": "A.", "support": "unsupported"}]
    finished(world.bob, "One?", sentences=lone)
    finished(world.bob, "Two?", sentences=2 * lone)

    answers_check()

    assert origins() == {"Two?": "unsupported"}


def test_a_refusal_is_a_case_where_a_title_is_near(world):
    everybody = set_make(world.alice, visibility="everyone")
    document_make(everybody, title="Parental leave policy")
    document_make(set_make(world.alice, visibility="members"), title="Salary bands of managers")  # bob does not read it
    finished(world.bob, "What does the parental leave policy say about twins?", status="refused")
    finished(world.bob, "What are the salary bands of managers?", status="refused")
    finished(world.bob, "Who won the world cup?", status="refused")

    answers_check()

    assert list(origins().values()) == ["refusal"]
    assert "parental" in next(iter(origins()))


def test_what_a_reviewer_has_closed_is_not_opened_by_looking_again(world):
    message = finished(world.bob, state="stopped", answer="The budget")
    answers_check()
    case_move(actor=world.root, case=BadCase.objects.get(), state="closed")

    answers_check()
    signal_record(scope=scope_for(world.bob), user=world.bob, message_id=message.pk, kind="stop")

    assert BadCase.objects.get().state == "closed"
