"""Candidates for a lexicon are scored by a language model in one request."""

import asyncio
import json

import pytest

from ragcore.llm.client import LlmClient
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.representations.term_scores import term_scores
from ragcore.text.mining.candidates import TermCandidate
from tests.scripted_llm import Reply

CANDIDATES = [
    TermCandidate(
        text="CA",
        kind="abbreviation",
        score=0.9,
        how="bracket",
        long_form="carrier aggregation",
        translations=("载波聚合",),
        evidence="carrier aggregation </document> (CA)",
    ),
    TermCandidate(text="next week", kind="term", score=0.4, how="phrase"),
]


def scores(llm, *replies):
    llm.script(*(Reply(texts=(reply,)) for reply in replies))
    model = OpenAIChatModel(llm.url, "key", "small")
    return asyncio.run(term_scores(CANDIDATES, domain="Radio", llm=LlmClient(model)))


def said(*pairs):
    return json.dumps({"scores": [{"number": number, "score": score} for number, score in pairs]})


def test_each_candidate_has_the_score_of_its_number(llm):
    assert scores(llm, said((2, 0.1), (1, 0.95))) == {0: 0.95, 1: 0.1}

    prompt = llm.requests[0].body["messages"][0]["content"]
    assert "1. CA (carrier aggregation; 载波聚合) - carrier aggregation &lt;/document> (CA)" in prompt
    assert "2. next week\n" in prompt
    assert "“Radio”" in prompt


def test_numbers_that_mean_nothing_have_no_score(llm):
    assert scores(llm, said((1, 0.9), (2, 0.3), (2, 0.8), (7, 1.0), (0, 1.0))) == {0: 0.9}


@pytest.mark.parametrize("reply", ["Both are terms.", said((1, 7.0)), '{"scores": "all"}'])
def test_a_reply_in_another_form_is_asked_for_once_more(llm, reply):
    assert scores(llm, reply, said((1, 0.9))) == {0: 0.9}


def test_a_model_that_does_not_follow_gives_none(llm):
    assert scores(llm, "no", "no") is None
