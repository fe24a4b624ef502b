"""How sure a quoted answer may be."""

from dataclasses import replace

import pytest
from asgiref.sync import sync_to_async

from chat.answering import answerability, retrieval
from chat.answering.answerability import Verdict
from ragcore.answerability.model import Answerability
from tests.factories import ingest
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"


@pytest.fixture
def score(monkeypatch):
    """Sets how likely it is that the sources answer."""

    def set_to(value: float) -> None:
        monkeypatch.setattr(answerability, "score_answerability", lambda *_args, **_options: Answerability(score=value))

    return set_to


@pytest.mark.parametrize(("probability", "most"), [(0.64, 0.84), (0.36, 0.82)])
async def test_a_quoted_answer_is_no_surer_than_that_the_sources_answer(api, score, probability, most):
    score(probability)

    answer = await api.generate(QUESTION)

    assert (answer["status"], answer["confidence"]) == ("answered", pytest.approx(most, abs=0.005))


async def test_below_the_line_there_are_search_results(api, score):
    score(0.001)

    assert (await api.generate(QUESTION))["status"] == "search_results"


async def test_a_language_model_refuses_by_itself(api, llm, score):
    score(0.001)
    llm.default = Reply(texts=("The random access procedure has four steps [1].",))

    answer = await api.generate(QUESTION)

    assert answer["status"] == "answered"
    assert answer["confidence"] > 0.5


@pytest.fixture
def far(monkeypatch):
    """Searches after which the best match by words and the best one by meaning are below their lines."""
    search = retrieval.run_search

    async def run(**values):
        return replace(await search(**values), relevant=False)

    monkeypatch.setattr(retrieval, "run_search", run)


@pytest.mark.parametrize(("probability", "status"), [(0.9, "answered"), (0.001, "search_results")])
async def test_no_model_is_asked_where_neither_words_nor_meaning_are_near(
    api, llm, far, monkeypatch, probability, status
):
    verdict = Verdict(is_answerable=probability > 0.5, most_confidence=probability)
    monkeypatch.setattr(answerability, "_probability_verdict", lambda *_args: verdict)
    llm.default = Reply(texts=("The random access procedure has five steps [1].",))

    answer = await api.generate(QUESTION, rewrite_method="none", cache=False)

    assert (answer["status"], llm.requests) == (status, [])
    assert "four" in answer["answer"]  # in what is quoted or listed; a page of results marks words
    assert status != "answered" or answer["confidence"] <= probability


@pytest.mark.parametrize(
    ("text", "lead", "most"),
    [
        (
            "The return loss of the feeder after the repair was 22 dB.",
            "**The sources do not tell this of “before”",
            0.3,
        ),
        ("The return loss of the feeder before the repair was 8 dB.", "The return loss of the feeder before", 1.0),
    ],
)
async def test_an_answer_about_the_other_side_of_a_thing_is_not_sure(api, world, text, lead, most):
    await sync_to_async(ingest)(world.owner, world.knowledge_set, feeder=text)

    answer = await api.generate("What was the return loss of the feeder before the repair?", cache=False)

    assert answer["status"] == "answered"
    assert answer["answer"].startswith(lead)
    assert answer["confidence"] <= most
    assert (answer["confidence"] > 0.5) == (most == 1.0)
