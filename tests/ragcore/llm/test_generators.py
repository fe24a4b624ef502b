from dataclasses import replace

import pytest

from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.model_profile import ModelProfile
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


@pytest.mark.parametrize(
    ("thinks", "is_thorough", "effort"), [(True, True, "high"), (True, False, None), (False, True, None)]
)
async def test_only_a_model_that_thinks_does_so_at_length(llm, thinks, is_thorough, effort):
    generator = LLMAnswerGenerator(OpenAIChatModel(llm.url, "", "scripted"), ModelProfile(thinks=thinks))

    [event async for event in generator.stream(replace(REQUEST, is_thorough=is_thorough))]

    assert llm.requests[0].body.get("reasoning_effort") == effort
