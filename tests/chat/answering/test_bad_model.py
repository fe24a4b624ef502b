"""Whatever a language model does, an answer comes, and what is wrong with it is told: through the whole path."""

import json

import pytest

from knowledge import model_registry
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.model_limits import ModelLimits
from ragcore.text.scripts import is_other_language
from tests.chat.conftest import sse
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"
CHINESE = (
    "随机接入过程共有四个步骤，终端首先发送前导码，然后网络给出应答，接着终端发送请求消息，最后完成竞争解决过程[1]。"
)
ENGLISH = "The random access procedure has four steps: the preamble is sent first, then the network answers [1]."
STREAM = "/api/v1/rag/generate/stream"
WAYS = [
    {"mode": "basic", "rewrite_method": "multi"},
    {"mode": "basic", "compression_method": "llm_compression"},
    {"mode": "enhanced"},
    {"mode": "agentic"},
    {"mode": "ultimate"},
    {"strategy": "adaptive"},
    {"strategy": "self_rag"},
]
BAD = {
    "prose instead of JSON": Reply(texts=("I would say that this is quite good [1].",)),
    "truncated JSON": Reply(texts=('{"relevance": 0.9, "queries": ["a',)),
    "JSON of another shape": Reply(texts=(json.dumps({"queries": 7, "grade": "high", "confidence": [1]}),)),
    "429": Reply(status=429),
    "500": Reply(status=500),
    "nothing": Reply(texts=()),
    "empty pieces": Reply(texts=("", "", "")),
    "blanks": Reply(texts=(" \n", "\n")),
    "cut at once": Reply(texts=("{",), cut_after=0),
    "cut": Reply(texts=('{"queries"', ": ["), cut_after=1),
}


def named(ways):
    return ["+".join(way.values()) for way in ways]


@pytest.fixture
def impatient(monkeypatch, llm):
    """The scripted model, which is given up after a moment."""

    async def at_once(seconds):
        return None

    model = OpenAIChatModel(llm.url, "", "scripted", limits=ModelLimits(total_seconds=0.4), sleep=at_once)
    monkeypatch.setattr(model_registry, "chat_model", lambda: model)
    monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(model))
    return llm


# every reply where most is asked of a model, and the two kinds of failure in every other way
ALL_IN = [{"mode": "ultimate"}, {"strategy": "self_rag"}]
CASES = [(way, name) for way in WAYS for name in (BAD if way in ALL_IN else ("prose instead of JSON", "500"))]


@pytest.mark.parametrize(("way", "name"), CASES)
async def test_an_answer_comes_in_every_way(api, llm, way, name):
    reply = llm.default = BAD[name]

    answer = await api.generate(QUESTION, **way)

    assert answer["status"] in ("answered", "degraded", "refused")
    assert answer["answer"].strip()
    assert llm.requests
    if reply.status != 200:
        assert answer["status"] == "degraded"
        assert "four steps" in answer["answer"]
        assert answer["metadata"]["error_message"]


@pytest.mark.parametrize("way", WAYS, ids=named(WAYS))
async def test_a_model_that_hangs_is_not_waited_for(api, impatient, way):
    impatient.default = Reply(hold_before=0)

    answer = await api.generate(QUESTION, **way)

    assert answer["status"] == "degraded"
    assert "four steps" in answer["answer"]


async def test_a_stream_whose_model_hangs_goes_on_with_the_sources(api, impatient):
    impatient.default = Reply(hold_before=0)

    events = await sse(await api.post(STREAM, {"query": QUESTION}))

    assert events[-1]["type"] == "done"
    assert events[-1]["status"] == "degraded"
    assert "four steps" in "".join(event["content"] for event in events if event["type"] == "chunk")


async def test_an_answer_that_broke_off_is_finished(api, llm):
    llm.script(Reply(texts=("The procedure ", "has four "), cut_after=2, finish=False), Reply(texts=("steps [1].",)))

    answer = await api.generate(QUESTION)

    assert (answer["status"], answer["answer"]) == ("answered", "The procedure has four steps [1].")
    assert answer["metadata"]["usage"]["completion_tokens"] > 3  # of both requests


async def test_markers_of_sources_that_do_not_exist_are_left_out(api, llm):
    llm.script(Reply(texts=("It has four steps [1][17]. ", "The moon is made of cheese [23].")))

    answer = await api.generate(QUESTION)

    assert "[17]" not in answer["answer"]
    assert "[23]" not in answer["answer"]
    assert [citation["citation_num"] for citation in answer["citations"]] == [1]
    cheese = next(sentence for sentence in answer["sentences"] if "cheese" in sentence["text"])
    assert cheese["support"] != "supported"


async def test_another_language_is_asked_again_where_nobody_reads_along(api, llm):
    llm.script(Reply(texts=(CHINESE,)), Reply(texts=(ENGLISH,)))

    answer = await api.generate(QUESTION)

    assert not is_other_language(QUESTION, answer["answer"])
    assert answer["metadata"]["notes"] == []


async def test_a_model_that_keeps_to_another_language_is_told_of(api, llm):
    llm.default = Reply(texts=(CHINESE,))

    answer = await api.generate(QUESTION)

    assert answer["metadata"]["notes"] == ["other_language"]


async def test_without_any_context_the_model_is_not_asked(api, llm):
    answer = await api.generate(QUESTION, filters={"axis": "Y"})

    assert (answer["status"], answer["citations"]) == ("refused", [])
    assert llm.requests == []
