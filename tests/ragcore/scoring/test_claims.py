"""Claims of an answer are listed by a model and checked one by one; a scripted server answers."""

from __future__ import annotations

import asyncio
import json

import openai  # noqa: F401 - loading it takes seconds, which the time limit of a request is not for
import pytest

from ragcore.llm.client import LlmClient
from ragcore.scoring.claims import MAX_CLAIMS, ClaimVerdict, claims_checked, supported_share
from ragcore.scoring.model_judge import judge_by_model
from tests.ragcore.scoring.test_model_judge import JUDGED, PATIENT, RULES, SCORES, client
from tests.scripted_llm import Reply, serving

CONTEXTS = ("The procedure has four steps.", "It begins with a request of the terminal.")
STATED = {"supported": True, "source": 1, "quotation": "has four steps"}


@pytest.fixture
def server():
    with serving() as scripted:
        yield scripted


def said(value) -> Reply:
    return Reply(texts=(json.dumps(value),))


def check(server, *replies) -> tuple[ClaimVerdict, ...]:
    server.script(*replies)

    async def run():
        model = client(server)
        try:
            llm = LlmClient(model, seconds=PATIENT, silent_after=PATIENT)
            return await claims_checked(question="How many?", answer="Four.", contexts=CONTEXTS, llm=llm)
        finally:
            await model.close()

    return asyncio.run(run())


def test_each_claim_is_checked_alone_and_names_the_source_that_states_it(server):
    listed = said({"claims": ["There are four steps.", "A request begins it.", "It takes 8 ms."]})
    second = said({"supported": True, "source": 2, "quotation": "begins with a REQUEST"})

    verdicts = check(server, listed, said(STATED), second, said({"supported": False}))

    assert [(verdict.text, verdict.source) for verdict in verdicts] == [
        ("There are four steps.", 1),
        ("A request begins it.", 2),
        ("It takes 8 ms.", None),
    ]
    assert supported_share(verdicts) == pytest.approx(2 / 3)
    prompts = [request.body["messages"][-1]["content"] for request in server.requests[1:]]
    assert ["It takes 8 ms." in prompt for prompt in prompts] == [False, False, True]
    assert all("[2] It begins with a request" in prompt for prompt in prompts)


@pytest.mark.parametrize(
    "verdict",
    [
        {"supported": True, "source": 1, "quotation": "has five steps"},
        {"supported": True, "source": 2, "quotation": "has four steps"},
        {"supported": True, "source": 7, "quotation": "has four steps"},
        {"supported": True, "source": 1, "quotation": "h"},
        {"supported": True},
    ],
)
def test_a_verdict_without_a_quotation_from_its_source_does_not_support(server, verdict):
    assert check(server, said({"claims": ["There are four steps."]}), said(verdict))[0].source is None


def test_one_reply_that_cannot_be_used_leaves_no_verdicts(server):
    nonsense = Reply(texts=("Yes.",))

    assert check(server, said({"claims": ["a b", "c d"]}), said(STATED), nonsense, nonsense) == ()
    assert check(server, nonsense, nonsense) == ()
    assert check(server, said({"claims": []})) == ()
    assert supported_share(()) is None


def test_a_long_answer_costs_a_limited_number_of_requests(server):
    server.default = said(STATED)

    verdicts = check(server, said({"claims": [f"Claim number {n}." for n in range(40)]}))

    assert len(verdicts) == len(server.requests) - 1 == MAX_CLAIMS


def test_faithfulness_is_the_share_of_supported_claims(server):
    server.script(Reply(texts=(SCORES,)), said({"claims": ["Four steps.", "Green steps."]}))
    server.script(said(STATED), said({"supported": False}))

    async def run():
        model = client(server)
        try:
            llm = LlmClient(model, seconds=PATIENT, silent_after=PATIENT)
            return await judge_by_model(JUDGED, llm=llm, by_rules=RULES.judge(JUDGED))
        finally:
            await model.close()

    found = asyncio.run(run())

    assert (found.faithfulness, found.correctness) == (0.5, 0.9)
    assert [claim.source for claim in found.claims] == [1, None]
