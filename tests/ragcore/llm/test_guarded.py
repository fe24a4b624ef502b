"""A model that is known not to answer is not asked, and what became of its calls is recorded."""

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.llm.guarded import GuardedChatModel
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.contracts.chat_model import MESSAGES, ChatModelContract, collect
from tests.scripted_llm import Reply


class Record:
    def __init__(self):
        self.successes, self.failures, self.known, self.reported = 0, [], None, []

    def refusal(self):
        return self.known

    def note_success(self, *, reported=""):
        self.successes += 1
        self.reported.append(reported)

    def note_failure(self, error):
        self.failures.append(error.reason)


@pytest.fixture
def record():
    return Record()


@pytest.fixture
def chat(llm, record):
    async def at_once(seconds):
        return None

    return GuardedChatModel(OpenAIChatModel(llm.url, "", "scripted", sleep=at_once), record)


def ask(chat):
    return collect(chat.stream(MESSAGES, temperature=0, max_tokens=50))


class TestGuardedChatModel(ChatModelContract):
    async def test_calls_are_recorded(self, chat, llm, record):
        llm.script(Reply(), Reply(texts=("a", "b"), cut_after=1), *[Reply(status=500)] * 4)

        await ask(chat)
        await ask(chat)
        with pytest.raises(ModelUnavailableError):
            await ask(chat)

        assert (record.successes, record.failures) == (1, ["cut", "rejected_said"])

    async def test_what_is_wrong_with_a_prompt_is_no_failure_of_the_model(self, chat, llm, record):
        llm.script(Reply(status=400))

        with pytest.raises(ModelUnavailableError):
            await ask(chat)

        assert record.failures == []

    async def test_while_the_record_refuses_the_server_is_left_alone(self, chat, llm, record):
        record.known = ModelUnavailableError("slow", seconds="30")

        with pytest.raises(ModelUnavailableError, match="within 30 seconds") as caught:
            await ask(chat.with_short_retries())

        assert caught.value.data["model"] == "scripted"
        assert llm.requests == []

    async def test_who_leaves_says_nothing_about_the_model(self, chat, llm, record):
        llm.script(Reply(texts=("one", "two"), hold_before=1))
        stream = chat.stream(MESSAGES, temperature=0, max_tokens=5)
        await anext(stream)

        await stream.aclose()

        assert (record.successes, record.failures) == (0, [])
