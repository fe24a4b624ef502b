"""What is kept of turns while people rename, pin and delete their conversations."""

import pytest

from accounts.errors import NotFoundError
from chat.concurrency.executors import run_db
from chat.concurrency.redis_client import events_key
from chat.conversations.edits import conversation_delete, conversation_pin, conversation_rename
from chat.conversations.memory import session_key
from chat.models import Conversation, Message, StrategyStatistics
from chat.selectors import conversation_get
from chat.turns.message_store import message_finish, message_open, message_prepare
from chat.types import AnswerRecord, AnswerRequest
from tests.chat.conftest import sse
from tests.factories import scope_of
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"
ANSWER = ("The random access ", "procedure has four steps [1].")
STREAM = "/api/v1/rag/generate/stream"


async def started(api, **options):
    """A streamed answer that waits in the middle, and its message."""
    response = await api.post(STREAM, {"query": QUESTION, **options})
    message = await run_db(Message.objects.select_related("conversation").get, pk=response["X-Message-Id"])
    return response, message


async def test_a_conversation_renamed_and_pinned_while_it_is_answered_stays_so(api, world, llm):
    llm.script(Reply(texts=ANSWER, hold_before=1))
    response, message = await started(api)
    scope = await run_db(scope_of, world.reader)
    before = message.conversation.updated

    await run_db(conversation_rename, scope=scope, conversation_id=message.conversation_id, title="My name")
    await run_db(conversation_pin, scope=scope, conversation_id=message.conversation_id, pinned=True)
    llm.release.set()
    await sse(response)

    kept = await run_db(Conversation.objects.get, pk=message.conversation_id)
    assert (kept.title, kept.pinned) == ("My name", True)
    assert kept.updated > before
    assert (await run_db(StrategyStatistics.objects.get)).answers == 1


async def test_a_conversation_deleted_while_it_is_answered_does_not_come_back(api, world, llm, redis_client):
    llm.script(Reply(texts=ANSWER, hold_before=1))
    response, message = await started(api)
    scope = await run_db(scope_of, world.reader)

    await run_db(conversation_delete, scope=scope, conversation_id=message.conversation_id)
    llm.release.set()
    events = await sse(response)

    assert events[-1]["type"] == "done"
    assert await run_db(Conversation.objects.count) == await run_db(Message.objects.count) == 0
    assert await run_db(StrategyStatistics.objects.count) == 0  # what is not kept is not counted


async def test_a_deleted_conversation_is_forgotten_in_redis_too(api, world, llm, redis_client):
    llm.default = Reply(texts=ANSWER)
    answer = await api.generate(QUESTION, conversation_id="mine")
    await sse(await api.post(STREAM, {"query": QUESTION, "conversation_id": "mine"}))
    scope = await run_db(scope_of, world.reader)
    conversation = await run_db(conversation_get, scope=scope, conversation_id="mine")
    session = session_key(user_id=scope.user_id, conversation_id=conversation.pk)
    messages = await run_db(lambda: list(conversation.messages.values_list("pk", flat=True)))
    keys = [session, f"{session}:messages", *map(events_key, messages)]
    assert redis_client.exists(*keys) >= 3

    await run_db(conversation_delete, scope=scope, conversation_id="mine")

    assert redis_client.exists(*keys) == 0
    assert answer["conversation_id"] == "mine"


def test_two_first_questions_of_one_conversation_are_both_kept(world):
    scope = scope_of(world.reader)
    request = AnswerRequest(query=QUESTION, conversation_id="new")
    prepared = [message_prepare(scope=scope, user=world.reader, request=request, channel="api") for _ in range(2)]

    for message in prepared:
        message_finish(message=message, record=AnswerRecord(text="So.", html="", status="answered", confidence=1.0))

    assert Conversation.objects.count() == 1
    assert Message.objects.filter(state=Message.State.DONE).count() == 2


def test_the_first_turn_of_a_new_conversation_is_stored_with_few_statements(world, django_assert_max_num_queries):
    scope = scope_of(world.reader)
    request = AnswerRequest(query=QUESTION)
    message = message_prepare(scope=scope, user=world.reader, request=request, channel="api")

    with django_assert_max_num_queries(4):  # begin, conversation, message, commit
        message_finish(message=message, record=AnswerRecord(text="So.", html="", status="answered", confidence=1.0))

    stored = Message.objects.get()
    assert (stored.answer, stored.state) == ("So.", Message.State.DONE)
    assert (stored.conversation.title, stored.conversation.user) == (QUESTION, world.reader)


@pytest.mark.parametrize("client_id", [None, "mine"])
def test_a_running_turn_says_which_sets_are_asked(world, client_id):
    scope = scope_of(world.reader)
    request = AnswerRequest(query=QUESTION, sets=(world.knowledge_set.pk,), conversation_id=client_id)

    message = message_open(scope=scope, user=world.reader, request=request, channel="web")

    assert list(message.conversation.sets.all()) == [world.knowledge_set]
    assert Message.objects.get().state == Message.State.RUNNING


def test_a_set_that_does_not_exist_is_said_before_anything_is_stored(world):
    missing = AnswerRequest(query=QUESTION, sets=(world.knowledge_set.pk, 987_654))
    with pytest.raises(NotFoundError, match="987654"):
        message_prepare(scope=scope_of(world.reader), user=world.reader, request=missing, channel="web")


@pytest.mark.django_db
def test_an_edited_first_question_names_the_conversation_unless_a_person_did(world):
    def ask(query, **more):
        request = AnswerRequest(query=query, **more)
        return message_open(scope=scope_of(world.reader), user=world.reader, request=request, channel="web")

    first = ask("What is PRACH?")
    key = str(first.conversation_id)
    second = ask("What is PDCCH?", conversation_id=key, instead_of=str(first.pk))
    assert Conversation.objects.get().title == "What is PDCCH?"

    Conversation.objects.update(title="My name")
    ask("What is PUSCH?", conversation_id=key, instead_of=str(second.pk))
    assert Conversation.objects.get().title == "My name"
