import pytest

from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.contracts.generator import REQUEST, GeneratorContract


@pytest.fixture
def generator(llm):
    return LLMAnswerGenerator(OpenAIChatModel(llm.url, "", "scripted"))


class TestLLMAnswerGenerator(GeneratorContract):
    async def test_the_rendered_prompt_reaches_the_model(self, generator, llm):
        [event async for event in generator.stream(REQUEST)]

        assert llm.requests[0].body["messages"] == [{"role": "user", "content": "When was the mast built?"}]
        assert llm.requests[0].body["max_tokens"] == REQUEST.max_tokens
