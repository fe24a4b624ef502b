"""What every ChatModel must do. Subclass as TestX with fixtures `chat` and `llm` (a ScriptedLLM behind it)."""

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.ports import ChatMessage
from tests.scripted_llm import Reply

MESSAGES = (ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="基站是什么？"))


async def collect(stream):
    return [event async for event in stream]


class ChatModelContract:
    async def test_texts_come_in_order_and_the_last_event_is_final(self, chat, llm):
        llm.script(Reply(texts=("基站", "是", "设备。")))

        events = await collect(chat.stream(MESSAGES, temperature=0.2, max_tokens=50))

        assert [event.text for event in events] == ["基站", "是", "设备。", ""]
        assert [event.final for event in events] == [False, False, False, True]
        assert not events[-1].interrupted

    async def test_the_final_event_counts_tokens(self, chat, llm):
        llm.script(Reply(usage=(11, 5)), Reply(texts=("基站是设备。",), usage=None))

        reported = (await collect(chat.stream(MESSAGES, temperature=0.2, max_tokens=50)))[-1].usage
        estimated = (await collect(chat.stream(MESSAGES, temperature=0.2, max_tokens=50)))[-1].usage

        assert (reported.prompt_tokens, reported.completion_tokens) == (11, 5)
        assert estimated.prompt_tokens >= 10
        assert estimated.completion_tokens >= 5

    async def test_a_stream_that_breaks_after_the_first_token_ends_interrupted(self, chat, llm):
        llm.script(Reply(texts=("half", " an", " answer"), cut_after=2))

        events = await collect(chat.stream(MESSAGES, temperature=0.2, max_tokens=50))

        assert "".join(event.text for event in events) == "half an"
        assert events[-1].final
        assert events[-1].interrupted
        assert len(llm.requests) == 1

    async def test_a_stream_without_a_finish_reason_ends_interrupted(self, chat, llm):
        llm.script(Reply(texts=("half",), finish=False))

        events = await collect(chat.stream(MESSAGES, temperature=0.2, max_tokens=50))

        assert events[-1].interrupted

    async def test_when_nothing_comes_the_model_is_unavailable(self, chat, llm):
        llm.default = Reply(status=503)

        with pytest.raises(ModelUnavailableError):
            await collect(chat.stream(MESSAGES, temperature=0.2, max_tokens=50))
