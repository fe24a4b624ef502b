"""What the chat page shows of a turn, as plain values."""

import pytest

from accounts.selectors import scope_for
from chat.models import Conversation, Message
from chat.pages import view_models
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("forms", "shown"),
    [
        (["how long how long how long timer"], ["how long timer"]),
        (["随机接入步骤 随机接入步骤 随机接入步骤 前导码"], ["随机接入步骤 前导码"]),
        (["timer length", "timer length"], ["timer length"]),
        (["How long?", "How long? How long?"], []),
        ([""], []),
    ],
)
def test_other_forms_of_a_question_are_shown_without_the_repetitions_that_weigh_them(forms, shown):
    reader = make_user()
    talk = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="t")
    message = Message.objects.create(
        conversation=talk, question="How long?", state="done", metadata={"rewritten_queries": forms}
    )

    turn = view_models.turn_view(scope=scope_for(reader), message_id=message.pk)

    assert turn.forms == shown


def test_the_sources_stand_in_a_part_of_their_own_and_only_where_some_are_cited(client):
    reader = make_user()
    client.force_login(reader)
    talk = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="t")
    Message.objects.create(conversation=talk, question="How long?", state="done", status="refused", answer="–")

    page = client.get(f"/c/{talk.pk}").content.decode()

    assert "turn-sources" not in page
    assert 'data-notice="refused"' in page


@pytest.mark.parametrize(
    ("stage", "lines"), [("loop.self_rag", ["Search", "Iterate: grade and rewrite"]), ("search", ["Search"])]
)
def test_the_time_of_rounds_has_a_line_besides_that_of_their_searches(stage, lines):
    reader = make_user()
    talk = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="t")
    times = {"total_time": 47.0, "retrieve_time": 1.3, "stage_times": {stage: 45.3, "context.build": 0.1}}
    message = Message.objects.create(conversation=talk, question="How long?", state="done", metadata=times)

    steps = view_models.turn_view(scope=scope_for(reader), message_id=message.pk).steps

    assert [step.name for step in steps] == lines
    assert sum(step.seconds for step in steps) == pytest.approx(45.3 if len(lines) == 2 else 1.3)
    assert sum(step.share for step in steps) == pytest.approx(1)


@pytest.mark.parametrize(
    ("status", "answer", "style", "same"),
    [
        ("answered", "One. [1] Two. [1] Three. [1]", "report", ""),
        ("answered", "One. [1]", "report", "simple"),
        ("answered", "One. [1] Two. [1] Three. [1]", "simple", "simple"),
        ("answered", "> One. [1]\n\n> Two. [1]", "precise", "precise"),
        ("answered", "| a | b |\n| --- | --- |\n| 1 | 2 [1] |", "report", "simple precise"),
        ("search_results", "1. **Guide** [1]", "report", "simple precise"),
    ],
)
def test_ways_to_answer_again_that_would_change_nothing_are_named(status, answer, style, same):
    model = "" if status == "search_results" else "extractive"
    message = Message(
        question="What?",
        answer=answer,
        status=status,
        state="done",
        metadata={"model": model},
        request={"style": style},
    )
    view = view_models.TurnView(
        message=message, lang="en", is_long=False, sources=(), steps=(), seconds=None, notice=status
    )

    assert view.same_ways == same
