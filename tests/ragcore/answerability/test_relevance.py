"""Relevance is a sign of its own beside support."""

from __future__ import annotations

import pytest

from ragcore.answerability import RelevanceJudge, is_doubtful
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Sentence, Source

BOLTS = "The coolant pump is mounted with four bolts and a torque of 24 Nm."
DRAIN = "Check the torque again after one hour."
OTHER = "Invoices lie in the cellar."


def _source(number: int, text: str) -> Source:
    passage = Passage(chunk=number, document=number, version=1, text=text, title="Manual")
    return Source(number=number, passage=passage, text=text, score=1.0)


@pytest.fixture(scope="module")
def tokenizer() -> JiebaTokenizer:
    return JiebaTokenizer()


def test_a_quotation_that_does_not_answer_is_told_from_one_that_does_and_from_what_goes_on_with_it(tokenizer):
    sources = [_source(1, f"{BOLTS} {DRAIN}"), _source(2, OTHER)]
    text = f"{BOLTS} [1] {DRAIN} [1]\n\n- {OTHER} [2]\n- Nobody said this."
    claims = [(f"{BOLTS} [1]", (1,)), (f"{DRAIN} [1]", (1,)), (f"{OTHER} [2]", (2,)), ("Nobody said this.", ())]
    sentences = [Sentence(text=claim, support="supported", citations=cited) for claim, cited in claims]
    judge = RelevanceJudge(question="How is the coolant pump mounted?", tokenizer=tokenizer)

    bolts, drain, other, nobody = judge.of_quotations(text, sentences, sources)

    assert bolts.relevance == drain.relevance
    assert [is_doubtful(one.relevance, bolts.relevance) for one in (bolts, other, nobody)] == [False, True, False]
    assert nobody.relevance is None
    assert judge.of_source(sources[0]) > 2 * judge.of_source(sources[1])


@pytest.mark.parametrize(("marks", "together"), [(("1. ", "2. "), True), (("- ", "- "), False)])
def test_the_steps_of_a_numbered_list_are_judged_together_and_points_alone(tokenizer, marks, together):
    lines = [f"{mark}{text} [1]" for mark, text in zip(marks, (BOLTS, DRAIN), strict=True)]
    sentences = [Sentence(text=f"{text} [1]", support="supported", citations=(1,)) for text in (BOLTS, DRAIN)]
    judge = RelevanceJudge(question="How is the coolant pump mounted?", tokenizer=tokenizer)

    first, second = judge.of_quotations("\n".join(lines), sentences, [_source(1, f"{BOLTS} {DRAIN}")])

    assert (first.relevance == second.relevance) is together
