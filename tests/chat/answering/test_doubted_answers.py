"""A language model that can tell is asked whether what is quoted states the answer, where that is not certain."""

import pytest

from chat.answering import answerability
from knowledge import model_registry
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.model_profile import ModelProfile
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.scripted_llm import Reply, serving

QUESTION = "What does the source cell send in a handover?"
WRITTEN = "The source cell sends the handover command."
HEADING = "**The passage that fits best**"
CHECKING = ModelProfile(way="fill", believes_refusals=False, checks=True)


@pytest.fixture
def model(monkeypatch):
    """Makes a scripted model with this profile the one of the site; `says`: whether a text states the answer."""
    monkeypatch.setattr(answerability, "CERTAIN", 1.0)
    monkeypatch.setattr(answerability, "DOUBTFUL", 0.0)
    with serving() as server:

        def use(profile, says):
            chat = OpenAIChatModel(server.url, "key", "scripted")
            chat.profile = profile
            monkeypatch.setattr(model_registry, "chat_model", lambda: chat)
            monkeypatch.setattr(model_registry, "light_model", lambda: chat)
            monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(chat, profile))
            server.respond = lambda request: Reply(texts=(says if is_check(request) else WRITTEN,))
            return server

        yield use
        server.release.set()


def is_check(request):
    return request.body["messages"][-1]["content"].startswith("Text:")


def checks(server):
    return [request.body for request in server.requests if is_check(request)]


async def test_an_answer_that_the_model_doubts_is_headed_noted_and_less_sure(api, model):
    server = model(CHECKING, "No.")

    answer = await api.generate(QUESTION, cache=False)

    assert answer["answer"].startswith(f"{HEADING}\n\n")
    assert "handover command" in answer["answer"]
    assert answer["metadata"]["notes"] == ["doubted"]
    assert answer["confidence"] <= 0.5
    (check,) = checks(server)
    assert QUESTION in check["messages"][-1]["content"]
    assert answer["metadata"]["usage_by_purpose"]["judging"]["total_tokens"] > 0


async def test_one_that_it_does_not_doubt_is_as_before(api, model):
    server = model(CHECKING, "yes")

    answer = await api.generate(QUESTION, cache=False)

    assert HEADING not in answer["answer"]
    assert (answer["metadata"]["notes"], len(checks(server))) == ([], 1)
    assert answer["confidence"] > 0.5


async def test_a_model_that_says_neither_changes_nothing(api, model):
    server = model(CHECKING, "It depends on the cell.")

    answer = await api.generate(QUESTION, cache=False)

    assert HEADING not in answer["answer"]
    assert len(checks(server)) == 1


async def test_a_model_that_cannot_tell_is_not_asked(api, model):
    server = model(ModelProfile(way="fill", believes_refusals=False), "No.")

    answer = await api.generate(QUESTION, cache=False)

    assert HEADING not in answer["answer"]
    assert not checks(server)


async def test_where_the_sources_surely_answer_nobody_is_asked(api, model, monkeypatch):
    server = model(CHECKING, "No.")
    monkeypatch.setattr(answerability, "CERTAIN", 0.0)

    await api.generate(QUESTION, cache=False)

    assert not checks(server)


async def test_where_they_hardly_answer_it_is_headed_without_asking(api, model, monkeypatch):
    server = model(ModelProfile(way="fill", believes_refusals=False), "yes")
    monkeypatch.setattr(answerability, "DOUBTFUL", 1.0)

    answer = await api.generate(QUESTION, cache=False)

    assert answer["answer"].startswith(f"{HEADING}\n\n")
    assert not checks(server)
