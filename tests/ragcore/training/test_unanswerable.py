"""Unanswerable questions are made out of answerable ones."""

from __future__ import annotations

import pytest

from ragcore.text.token_count import counter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training.answer_sets import Ranking, SetQuestion
from ragcore.training.unanswerable import gapped, grafted, vague, without_answer, without_telling
from ragcore.types import Passage

TOKENIZER = JiebaTokenizer()
TOWNS = {"Ulm": 1987, "Kiel": 1991, "Bonn": 1964}


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    passages = [
        Passage(
            chunk=n,
            document=n,
            version=n,
            text=f"The mast stands in {town}. Its builder came in {year}. It is red.",
            title=town,
            external_id=town,
        )
        for n, (town, year) in enumerate(TOWNS.items())
    ]
    return Ranking.of(passages, tokenizer=TOKENIZER, counter=counter(), embedder=None)


def question(text: str, town: str) -> SetQuestion:
    return SetQuestion(id=text, text=text, answers=(str(TOWNS[town]),), relevant=frozenset({town}), about=town)


def test_a_gapped_question_keeps_its_document_without_the_sentence_that_answers(ranking):
    (made,) = gapped([question("When did the builder of the mast in Ulm come?", "Ulm")], ranking)

    right = next(s for s in made.sources if s.passage.external_id == "Ulm")
    assert "1987" not in right.text
    assert "The mast stands in Ulm." in right.text
    assert all("1987" not in s.text for s in made.sources)
    assert any("1991" in s.text for s in made.sources)


def test_a_question_whose_answer_was_not_found_is_not_gapped(ranking):
    asked = SetQuestion(id="1", text="Who was it in Ulm?", answers=("Weber",), relevant=frozenset({"Ulm"}), about="Ulm")

    assert list(gapped([asked], ranking)) == []


def test_a_source_that_is_nothing_but_the_answer_goes(ranking):
    sources = ranking.sources("mast Ulm")[:1]
    asked = SetQuestion(id="1", text="?", answers=("mast", "builder", "red"), relevant=frozenset({"Ulm"}))

    assert without_answer(asked, sources) == []


def test_a_grafted_question_asks_another_documents_question(ranking):
    asked = [
        question("Which colour has the mast of Ulm?", "Ulm"),
        question("Which genus has the lamp of Kiel?", "Kiel"),
    ]

    assert {made.text for made in grafted(asked, ranking)} == {
        "Which genus has the mast of Ulm?",
        "Which colour has the lamp of Kiel?",
    }


def test_a_question_is_not_grafted_from_its_own_document(ranking):
    asked = [question("Which colour has the mast?", "Ulm"), question("Which genus has the lamp?", "Ulm")]

    assert list(grafted(asked, ranking)) == []


def test_a_vague_question_names_nothing(ranking):
    (made,) = vague([question("Which builder of the mast came to Ulm in 1987?", "Ulm")], ranking)

    assert "Ulm" not in made.text
    assert "1987" not in made.text
    assert "builder" in made.text


def test_nothing_is_left_of_a_question_of_names_alone(ranking):
    assert without_telling("Who is Ulm?", TOKENIZER, ranking.idf) == ""


def test_the_same_questions_are_made_each_time(ranking):
    asked = [question(f"Which {word} has the mast of {town}?", town) for word, town in zip("abc", TOWNS, strict=True)]

    assert [m.text for m in grafted(asked, ranking)] == [m.text for m in grafted(asked, ranking)]
