"""One answer being written, against a model server that does what the test tells it to."""

import asyncio
import json

import pytest

from chat.answering.streaming import AnswerWriter
from chat.rendering.text_emitter import TextEmitter
from knowledge import model_registry
from ragcore.errors import ModelUnavailableError
from ragcore.llm.fallback import FallbackGenerator, TieredGenerator
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.llm.tiers import build_tier, parse_prices
from ragcore.model_limits import ModelLimits
from ragcore.ports import ChatMessage, GenerationRequest
from ragcore.types import Passage, Source, Usage
from tests.scripted_llm import Reply, serving

QUESTION = "How many steps has the random access procedure?"
CHINESE = "随机接入过程共有四个步骤，终端首先发送前导码，然后网络给出应答，接着终端发送请求消息，最后完成竞争解决过程。"
TEXT = "The random access procedure has four steps. The preamble is sent on PRACH."
REFUSAL = "The knowledge base does not contain an answer to this question"


class Events(list):
    """Collects what a reader would be told."""

    async def __call__(self, kind, /, **data):
        self.append((kind, data))

    def steps(self):
        return [data["name"] for kind, data in self if kind == "step"]

    def shown(self):
        return "".join(data["content"] for kind, data in self if kind == "chunk")


@pytest.fixture
def llm():
    with serving() as server:
        yield server


@pytest.fixture
def second():
    with serving() as server:
        yield server


async def at_once(seconds):
    return None


def model(llm, name="scripted", **options):
    return LLMAnswerGenerator(OpenAIChatModel(llm.url, "", name, sleep=at_once, **options))


def sources(text=TEXT):
    passage = Passage(chunk=1, document=1, version=1, text=text, title="Handbook")
    return (Source(number=1, passage=passage, text=text, score=0.9),)


def writer(generator, *, question=QUESTION, **options):
    request = GenerationRequest(
        question=question,
        sources=sources(),
        messages=(ChatMessage(role="user", content=question),),
        language="zh" if question[0] > "\u2e7f" else "en",
    )
    events = Events()
    output = TextEmitter(events=events, numbers=[1], ids={}, blocks=False)
    given = {"stop": asyncio.Event(), "refusal": REFUSAL, "events": events, **options}
    return AnswerWriter(request=request, output=output, generator=generator, **given), events


def ended(reason, *texts):
    """A streamed reply that ends for this reason."""
    deltas = [({"content": text}, None) for text in texts] + [({}, reason)]
    chunks = [
        {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m",
         "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        for delta, finish in deltas
    ]  # fmt: skip
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Reply(body="".join([*lines, "data: [DONE]\n\n"]).encode())


async def test_a_whole_answer_is_passed_on_as_it_comes(llm):
    llm.script(Reply(texts=("It has ", "four steps [1].")))
    writing, events = writer(model(llm))

    draft = await writing.run()

    assert draft.text == events.shown() == "It has four steps [1]."
    assert (draft.degraded, draft.warnings, draft.stopped) == (None, (), False)
    assert (draft.model, draft.tier, draft.cost) == ("scripted", "", None)
    assert draft.usage == Usage(prompt_tokens=7, completion_tokens=3)


@pytest.mark.parametrize("reply", [Reply(status=429), Reply(status=500), Reply(texts=()), Reply(cut_after=0)])
async def test_where_the_model_says_nothing_the_sources_speak(llm, reply):
    llm.default = reply
    writing, events = writer(model(llm))

    draft = await writing.run()

    assert "four steps" in draft.text
    assert draft.degraded
    assert draft.model == "extractive"
    assert events.steps() == ["degraded"]


async def test_a_model_that_hangs_is_not_waited_for(llm):
    llm.default = Reply(hold_before=0)
    writing, events = writer(model(llm, limits=ModelLimits(first_token_seconds=0.3, total_seconds=0.3)))

    draft = await writing.run()

    assert "four steps" in draft.text
    assert events.steps() == ["degraded"]


async def test_a_strict_client_gets_the_error_and_no_second_attempt(llm):
    llm.script(Reply(texts=("It has ", "four"), cut_after=1))
    writing, _ = writer(model(llm), strict=True)

    with pytest.raises(ModelUnavailableError) as caught:
        await writing.run()

    assert caught.value.data["strict"]
    assert len(llm.requests) == 1


async def test_an_answer_that_broke_off_is_finished_by_a_second_request(llm):
    llm.script(
        Reply(texts=("It has ", "four steps [1]. The preamble", "x"), cut_after=2),
        Reply(texts=("four steps [1]. The pre", "amble is sent", " on PRACH [1].")),
    )
    writing, events = writer(model(llm))

    draft = await writing.run()

    assert draft.text == "It has four steps [1]. The preamble is sent on PRACH [1]."
    assert events.shown() == draft.text
    assert draft.degraded is None
    assert events.steps() == ["continue"]
    turns = llm.requests[1].body["messages"]
    assert turns[-2] == {"role": "assistant", "content": "It has four steps [1]. The preamble"}
    assert "exactly where you stopped" in turns[-1]["content"]
    assert draft.usage.completion_tokens >= 3 + 1


@pytest.mark.parametrize(
    "reply", [Reply(status=500), Reply(status=401), Reply(cut_after=0), Reply(texts=(" and", " x"), cut_after=1)]
)
async def test_what_cannot_be_finished_is_kept_and_marked(llm, reply):
    llm.script(Reply(texts=("It has four", " steps"), cut_after=1))
    llm.default = reply
    writing, events = writer(model(llm))

    draft = await writing.run()

    assert draft.text.startswith("It has four")
    assert "incomplete" in draft.degraded
    assert events.steps() == ["continue", "interrupted"]


async def test_another_attempt_from_the_start_is_not_put_behind_the_first(llm):
    begun = "The random access procedure has four steps [1]. First the"
    llm.script(
        Reply(texts=(begun, "x"), cut_after=1), Reply(texts=("The random access procedure has " + "many " * 60,))
    )
    writing, _ = writer(model(llm))

    draft = await writing.run()

    assert draft.text == begun
    assert "incomplete" in draft.degraded


async def test_without_time_left_no_second_request_is_made(llm):
    llm.script(Reply(texts=("It has four", " steps"), cut_after=1))
    writing, _ = writer(model(llm), seconds=1.0)

    draft = await writing.run()

    assert "incomplete" in draft.degraded
    assert len(llm.requests) == 1


async def test_a_second_request_that_hangs_ends_with_the_time_left(llm, monkeypatch):
    monkeypatch.setattr("chat.answering.streaming.LEAST_SECONDS", 0.1)
    llm.script(Reply(texts=("It has four", " steps"), cut_after=1), Reply(hold_before=0))
    writing, _ = writer(model(llm), seconds=0.8)

    draft = await writing.run()

    assert draft.text == "It has four"
    assert "incomplete" in draft.degraded


async def test_the_next_model_finishes_where_the_first_is_gone(llm, second):
    llm.script(Reply(texts=("It has four", " x"), cut_after=1))
    llm.default = Reply(status=500)
    second.default = Reply(texts=("It has four steps [1].",), usage=(100, 10))
    prices = parse_prices('{"a": {"input": 1, "output": 2}, "b": {"input": 10, "output": 20}}')
    tiers = [build_tier("standard", "a", prices["a"]), build_tier("fast", "b", prices["b"])]
    rungs = [
        TieredGenerator(tier=tier, generator=model(server, tier.model))
        for tier, server in zip(tiers, (llm, second), strict=True)
    ]
    writing, _ = writer(FallbackGenerator(rungs))

    draft = await writing.run()

    assert draft.text == "It has four steps [1]."
    assert (draft.model, draft.tier) == ("b", "fast")
    assert draft.degraded is None
    # an estimate for the stream that broke, then 100 and 10 tokens of the dear one
    assert draft.cost == pytest.approx(0.0012, abs=1e-4)
    assert draft.cost > 0.0012


async def test_an_answer_at_its_length_limit_is_marked(llm):
    llm.script(ended("length", "It has four steps [1]", " and then"))
    writing, events = writer(model(llm))

    draft = await writing.run()

    assert draft.text == "It has four steps [1] and then"
    assert draft.degraded == "The answer was cut at its length limit."
    assert events.steps() == ["interrupted"]
    assert len(llm.requests) == 1


async def test_an_answer_that_a_filter_ended_is_not_taken_for_whole(llm):
    llm.script(ended("content_filter", "It has four"))
    llm.default = ended("content_filter")
    writing, _ = writer(model(llm))

    draft = await writing.run()

    assert draft.text == "It has four"
    assert "incomplete" in draft.degraded


async def test_another_language_than_the_question_s_is_noted(llm):
    llm.script(Reply(texts=(CHINESE,)))
    writing, events = writer(model(llm))

    draft = await writing.run()

    assert draft.warnings == ("other_language",)
    assert draft.text == events.shown() == CHINESE
    assert draft.degraded is None
    assert len(llm.requests) == 1


async def test_where_nobody_reads_along_the_right_language_is_asked_for_once(llm):
    llm.script(Reply(texts=(CHINESE,)), Reply(texts=("It has four ", "steps [1].")))
    writing, events = writer(model(llm), streamed=False)

    draft = await writing.run()

    assert draft.text == events.shown() == "It has four steps [1]."
    assert draft.warnings == ()
    assert "in English" in llm.requests[1].body["messages"][-1]["content"]
    assert draft.usage == Usage(prompt_tokens=14, completion_tokens=6)


@pytest.mark.parametrize(
    "reply", [Reply(texts=(CHINESE + "。",)), Reply(status=500), Reply(texts=("x", "y"), cut_after=1)]
)
async def test_where_that_does_not_help_the_first_answer_stays(llm, reply):
    llm.script(Reply(texts=(CHINESE,)))
    llm.default = reply
    writing, events = writer(model(llm), streamed=False)

    draft = await writing.run()

    assert draft.text == events.shown() == CHINESE
    assert draft.warnings == ("other_language",)
    assert draft.degraded is None
    assert len([request for request in llm.requests if len(request.body["messages"]) == 3]) >= 1


class Announcing:
    """A generator that tells when its first piece was taken."""

    def __init__(self, generator):
        self.name = generator.name
        self.taken = asyncio.Event()
        self._generator = generator

    async def stream(self, request):
        async for event in self._generator.stream(request):
            yield event
            self.taken.set()


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_reader_who_stops_keeps_what_was_written(llm, streamed):
    llm.script(Reply(texts=("It has ", "four steps."), hold_before=1))
    generator, stop = Announcing(model(llm)), asyncio.Event()
    writing, events = writer(generator, stop=stop, streamed=streamed)
    task = asyncio.create_task(writing.run())
    await generator.taken.wait()

    stop.set()
    draft = await task

    assert draft.stopped
    assert draft.text == events.shown().strip() == "It has"


async def test_the_extractive_answerer_is_no_failed_model():
    writing, events = writer(model_registry.extractive_generator())

    draft = await writing.run()

    assert "four steps" in draft.text
    assert draft.degraded is None
    assert events.steps() == []


async def test_without_a_fitting_sentence_the_refusal_is_said():
    writing, _ = writer(model_registry.extractive_generator())
    writing.request = GenerationRequest(question="?", sources=())

    assert (await writing.run()).text == REFUSAL
