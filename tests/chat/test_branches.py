"""Versions of answers: turns are a tree, one branch of it is shown, and follow-ups belong to the branch shown."""

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.branches import Branches, branches_of, parent_of_new
from chat.concurrency.executors import run_db
from chat.conversations.shown_branch import branch_show
from chat.models import Conversation, Message
from chat.selectors import messages_of, turns_page
from tests.factories import make_user
from tests.scripted_llm import Reply

pytestmark = pytest.mark.django_db
A, B, C, B2, C2 = (uuid.UUID(int=number) for number in range(1, 6))
TREE = Branches(parents={A: None, B: A, C: B, B2: A, C2: B2}, leaf=C2)


def test_the_branch_of_the_leaf_is_shown():
    assert TREE.shown == [A, B2, C2]
    assert TREE.versions_of(B) == TREE.versions_of(B2) == [B, B2]
    assert TREE.versions_of(C) == [C]


def test_a_version_leads_to_the_end_of_its_branch():
    assert TREE.branch_with(B) == [A, B, C]
    assert TREE.branch_with(A) == TREE.shown


def test_another_version_stands_beside_the_turn_and_a_follow_up_behind_the_branch_seen():
    assert parent_of_new(TREE, instead_of=C, after=None) == B
    assert parent_of_new(TREE, instead_of=A, after=None) is None
    assert parent_of_new(TREE, instead_of=None, after=C) == C
    assert parent_of_new(TREE, instead_of=None, after=B) == C  # somebody was quicker
    assert parent_of_new(TREE, instead_of=None, after=None) == C2
    with pytest.raises(NotFoundError):
        parent_of_new(TREE, instead_of=uuid.uuid4(), after=None)


def test_turns_in_a_circle_end():
    circle = Branches(parents={A: B, B: A}, leaf=A)

    assert set(circle.shown) == {A, B}
    assert circle.end_of(A) in (A, B)


# ── in a conversation ─────────────────────────────────────────────────────────────────────────────


async def questions_of(conversation_id, user):
    scope = await run_db(scope_for, user)
    turns = await run_db(lambda: list(messages_of(scope=scope, conversation_id=conversation_id)))
    return [turn.question for turn in turns]


async def test_each_branch_is_answered_with_its_own_history(api, llm, world):
    llm.default = Reply(texts=("It has four steps [1].",))
    first = await api.generate("How many steps does the random access procedure have?")
    talk = first["conversation_id"]
    second = await api.generate("And when does it fail?", conversation_id=talk)
    edited = await api.generate(
        "What is a handover?", conversation_id=talk, instead_of=second["message_id"], cache=False
    )
    assert second["parent_id"] == edited["parent_id"] == first["message_id"]
    llm.requests.clear()

    third = await api.generate("Who sends the command?", conversation_id=talk)
    back = await api.generate("Is that all?", conversation_id=talk, after=second["message_id"])

    assert third["parent_id"] == edited["message_id"]
    assert back["parent_id"] == second["message_id"]
    sent = [str(request.body["messages"]) for request in llm.requests]
    about_third = [text for text in sent if "Who sends the command?" in text and len(text) > 200]
    about_back = [text for text in sent if "Is that all?" in text]
    assert all("And when does it fail?" not in text for text in about_third)
    assert any("What is a handover?" in text for text in about_third)
    assert all("What is a handover?" not in text for text in about_back)
    assert any("And when does it fail?" in text for text in about_back)
    assert (await questions_of(talk, world.reader))[1:] == ["And when does it fail?", "Is that all?"]


async def test_a_turn_of_another_conversation_is_not_taken_over(api, llm):
    llm.default = Reply(texts=("It has four steps [1].",))
    one = await api.generate("How many steps does the random access procedure have?")
    other = await api.generate("What is a handover?")

    for body in (
        {"conversation_id": other["conversation_id"], "instead_of": one["message_id"]},
        {"conversation_id": other["conversation_id"], "after": one["message_id"]},
        {"conversation_id": other["conversation_id"], "after": "no id"},
        {"instead_of": one["message_id"]},
    ):
        response = await api.post("/api/v1/rag/generate", {"query": "And?", **body})
        assert response.status_code == 404, body
    assert await run_db(Message.objects.count) == 2


# ── on the page ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def talk(db):
    """Two versions of the second turn; the first version has a follow-up, the second is shown."""
    user = make_user()
    talk = Conversation.objects.create(tenant=user.tenant, user=user, channel="web", title="t")
    turns = {}
    for at, (name, parent) in enumerate([("first", ""), ("old", "first"), ("below", "old"), ("new", "first")]):
        turn = Message.objects.create(
            conversation=talk, question=f"{name}?", answer=f"{name}.", state="done", parent=turns.get(parent)
        )
        Message.objects.filter(pk=turn.pk).update(created=timezone.now() + timedelta(seconds=at))
        turns[name] = turn
    Conversation.objects.filter(pk=talk.pk).update(leaf=turns["new"])
    talk.refresh_from_db()
    talk.turns = turns
    return talk


def shown(client, talk):
    page = client.get(f"/c/{talk.pk}").content.decode()
    return [name for name in talk.turns if f'id="turn-{talk.turns[name].pk}"' in page], page


def test_the_reader_pages_between_versions(talk):
    client = Client()
    client.force_login(talk.user)
    before, page = shown(client, talk)
    updated = talk.updated

    answer = client.post(f"/c/{talk.pk}/branch", {"message": str(talk.turns["old"].pk)})
    after, _page = shown(client, talk)

    talk.refresh_from_db()
    assert (before, answer.status_code, after) == (["first", "new"], 204, ["first", "old", "below"])
    assert "</span>2 / 2</span>" in page
    assert talk.updated == updated


def test_a_link_to_a_turn_of_another_branch_shows_that_branch(talk):
    found = turns_page(scope=scope_for(talk.user), conversation_id=talk.pk, around=talk.turns["below"].pk)

    assert [turn.question for turn in found.messages] == ["first?", "old?", "below?"]


def test_an_export_holds_the_branch_that_is_shown(talk):
    client = Client()
    client.force_login(talk.user)

    text = client.get(f"/c/{talk.pk}/export?kind=md").content.decode()

    assert "new?" in text
    assert "old?" not in text


def test_nobody_pages_in_the_conversation_of_another(talk):
    client = Client()
    client.force_login(make_user())
    own = Client()
    own.force_login(talk.user)

    assert client.post(f"/c/{talk.pk}/branch", {"message": str(talk.turns["old"].pk)}).status_code == 404
    assert own.post(f"/c/{talk.pk}/branch", {"message": str(uuid.uuid4())}).status_code == 404
    assert own.post(f"/c/{talk.pk}/branch", {"message": "x"}).status_code == 422
    talk.refresh_from_db()
    assert talk.leaf == talk.turns["new"]


def test_a_summary_of_turns_that_the_branch_does_not_have_is_forgotten(talk):
    old = Message.objects.get(pk=talk.turns["first"].pk)
    values = {"summary": "- first", "summarised_until": old.created}
    Conversation.objects.filter(pk=talk.pk).update(**values)
    scope: Scope = scope_for(talk.user)

    branch_show(scope=scope, conversation_id=talk.pk, message_id=talk.turns["old"].pk)
    talk.refresh_from_db()
    kept = talk.summary
    below = Message.objects.get(pk=talk.turns["old"].pk)
    Conversation.objects.filter(pk=talk.pk).update(summary="- old", summarised_until=below.created)
    branch_show(scope=scope, conversation_id=talk.pk, message_id=talk.turns["new"].pk)

    talk.refresh_from_db()
    assert (kept, talk.summary, talk.summarised_until) == ("- first", "", None)


def test_turns_that_were_never_placed_stand_in_one_line(talk):
    Message.objects.update(parent=None)
    Conversation.objects.filter(pk=talk.pk).update(leaf=None)
    talk.refresh_from_db()

    branches = branches_of(talk)

    assert len(branches.shown) == 4
    assert branches.versions_of(talk.turns["old"].pk) == [talk.turns["old"].pk]


def test_a_conversation_with_branches_is_deleted_whole(talk):
    client = Client()
    client.force_login(talk.user)

    assert client.post(f"/c/{talk.pk}/delete").status_code == 204
    assert not Message.objects.exists()
