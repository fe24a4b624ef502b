"""How sure a quoted answer may be."""

import pytest

from chat.answering import answerability
from ragcore.answerability.model import Answerability
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
