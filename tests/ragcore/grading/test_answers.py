import pytest

from ragcore.grading.answers import REFUSED, confidence_in, grade_answer, grades_by_rules
from ragcore.grading.passages import Coverage
from ragcore.prompts.refusals import refusal
from ragcore.types import Source
from tests.ragcore.grading.world import (
    ANSWER,
    LIBRARY,
    QUESTION,
    USELESS,
    NoMeaning,
    World,
    model_server,
    ranked,
    says,
    tokenizer,
)

SOURCES = [
    Source(number=n, passage=ranked(*LIBRARY[n - 1], chunk=n).passage, text=LIBRARY[n - 1][1], score=1.0)
    for n in (1, 2)
]
EVIDENCE = Coverage(confidence=0.8, relevant=0.8, status="excellent")
INVENTED = "The lunar rover carries eleven spectrometers and a drill. It was built in Antarctica by penguins."
GRADES = (
    '{"relevance": 9, "accuracy": 8, "completeness": 7, "clarity": 9, "citation_quality": 6, "critique": "Cite more."}'
)


def grade(text):
    return grades_by_rules(QUESTION, text, SOURCES, tokenizer(), NoMeaning())


def test_a_cited_answer_is_better_than_one_without_citations_and_that_than_an_invention():
    cited, bare, invented = grade(ANSWER), grade(ANSWER.replace(" [1]", "")), grade(INVENTED)

    assert cited.quality > bare.quality > invented.quality
    assert cited.quality >= 7 > invented.quality
    assert (cited.citation_quality, bare.citation_quality) == (10, 0)


def test_the_critique_names_what_is_wrong():
    critique = grade(INVENTED).critique

    assert "lunar rover" in critique
    assert "random" in critique
    assert grade(ANSWER).critique == ""


def test_repeating_oneself_is_not_clear():
    assert grade(f"{ANSWER} {ANSWER} {ANSWER}").clarity < grade(ANSWER).clarity == 10


async def test_a_refusal_has_no_quality_and_hardly_any_confidence_whatever_a_model_says():
    with model_server(default=says('{"confidence": 1}')) as (server, client):
        graded = await grade_answer(QUESTION, refusal("report", "en"), SOURCES, World().ports(), client)
        sure = await confidence_in(QUESTION, refusal("report", "en"), SOURCES, EVIDENCE, World().ports(), client)
        nothing = await confidence_in(QUESTION, " ", SOURCES, EVIDENCE, World().ports(), client)

    assert graded.quality == 0
    assert sure == (REFUSED, "rules")
    assert nothing == (0.0, "rules")
    assert server.requests == []


async def test_confidence_by_rules_rests_on_citations_and_evidence():
    ports = World().ports()
    good = await confidence_in(QUESTION, ANSWER, SOURCES, EVIDENCE, ports, None)
    little = await confidence_in(QUESTION, ANSWER, SOURCES, Coverage(confidence=0.2, relevant=0.2), ports, None)
    invented = await confidence_in(QUESTION, INVENTED, SOURCES, EVIDENCE, ports, None)

    assert good[1] == "rules"
    assert good[0] - little[0] == pytest.approx(0.3)
    assert invented == (0.4, "rules")


async def test_a_models_grades_and_critique_are_taken():
    with model_server(says(GRADES), says('{"confidence": 0.65}')) as (_, client):
        graded = await grade_answer(QUESTION, ANSWER, SOURCES, World().ports(), client)
        sure = await confidence_in(QUESTION, ANSWER, SOURCES, EVIDENCE, World().ports(), client)

    assert (graded.by, graded.quality, graded.critique) == ("model", 7.8, "Cite more.")
    assert sure == (0.65, "model")


@pytest.mark.parametrize("reply", USELESS.values(), ids=USELESS)
async def test_rules_grade_where_the_model_says_nothing_valid(reply):
    with model_server(default=reply) as (_, client):
        graded = await grade_answer(QUESTION, ANSWER, SOURCES, World().ports(), client)
        sure, by = await confidence_in(QUESTION, ANSWER, SOURCES, EVIDENCE, World().ports(), client)

    assert graded == grade(ANSWER)
    assert by == "rules"
    assert sure > 0.7
