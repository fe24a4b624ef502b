"""Where the line between an answer and a refusal lies, by how near passages and their sentences are."""

import pytest

from chat.answering import answerability
from chat.answering.answerability import verdict_by_sources
from knowledge.search_profile import Retrieved
from ragcore.answerability import Answerability, threshold_for
from ragcore.answerability.nearness import Nearness
from ragcore.types import Query, State
from tests.contracts.generator import source

SEARCHED = 1000  # passages
LINE = threshold_for("en", SEARCHED, 0.05)
NEAR = Nearness(is_near=True, has_near_sentence=True)
SAID_NOTHING = Nearness()  # no sentence has a vector
FAR = Nearness(is_near=False)


def is_answered(monkeypatch, *, score, nearness, is_passage_near):
    judged = Answerability(score=score, nearness=nearness)
    monkeypatch.setattr(answerability, "score_answerability", lambda *_args, **_options: judged)
    retrieved = Retrieved(
        state=State(query=Query(text="q", terms=())),
        relevant=is_passage_near,
        timings_ms={},
        searched=SEARCHED,
    )
    verdict = verdict_by_sources(
        "how do i connect from home",
        (source(1, "Start Tunnel and pick a gateway."),),
        retrieved=retrieved,
        language="en",
        rate=0.05,
    )
    return verdict.is_answerable


@pytest.mark.parametrize(
    ("score", "nearness", "is_passage_near", "answered"),
    [
        (LINE * 1.1, NEAR, True, True),
        (LINE * 0.9, NEAR, True, False),
        (LINE * 1.1, FAR, True, False),
        (LINE * 1.5, NEAR, False, True),  # the passage is long, one of its sentences is near
        (LINE * 1.1, NEAR, False, False),  # for which more is needed
        (LINE * 1.5, SAID_NOTHING, False, False),
        (LINE * 1.5, FAR, False, False),
        (0.9, SAID_NOTHING, False, True),
    ],
)
def test_a_near_sentence_answers_for_a_passage_that_is_not(monkeypatch, score, nearness, is_passage_near, answered):
    assert is_answered(monkeypatch, score=score, nearness=nearness, is_passage_near=is_passage_near) == answered
