"""The signs say what of a question is missing in its sources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.answerability.signs import SIGNS, signs
from ragcore.answerability.words import cue, swapped
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
MAST = source(1, "The mast stands in Ulm. Weber built the mast in 1987. It is painted red.", title="The mast")


def signs_of(question, *sources, **more):
    return signs(question, sources or (MAST,), tokenizer=TOKENIZER, **more)


def test_a_question_that_the_best_sentence_holds_is_covered():
    found = signs_of("When was the mast by Weber built?")

    assert found["rarest_in_window"] == 1
    assert found["names_window"] == 1
    assert found["lacks_kind"] == 0


def test_a_name_that_stands_nowhere_is_missing():
    found = signs_of("When did Schmidt build the mast?")

    assert found["names_window"] == found["names_passage"] == 0
    assert found["missing_all"] > 0


def test_a_number_that_stands_nowhere_is_missing():
    assert signs_of("Who built the mast in 1999?")["numbers_passage"] == 0
    assert signs_of("Who built the mast in 1987?")["numbers_passage"] == 1


def test_a_figure_that_is_asked_for_and_not_there_is_lacking():
    assert signs_of("How many lamps has the mast?", source(1, "The mast has lamps."))["lacks_kind_widely"] == 1
    assert signs_of("How many lamps has the mast?", source(1, "The mast has 12 lamps."))["lacks_kind_widely"] == 0


@pytest.mark.parametrize(
    ("text", "lacking"),
    [("The OCS refuses accounts.", 1), ("The OCS is a system that charges in real time.", 0)],
)
def test_a_meaning_is_lacking_where_no_sentence_defines_the_term(text, lacking):
    found = signs_of("What is OCS?", source(1, text))

    assert found["asks_definition"] == 1
    assert found["lacks_definition"] == lacking


def test_the_word_that_says_what_is_asked_for_is_looked_for():
    assert signs_of("Which colour was the mast built in?")["focus_passage"] == 0
    assert signs_of("Which colour has it?", source(1, "The colour of the mast is red."))["focus_passage"] == 1


def test_terms_that_the_corpus_does_not_know_are_told_from_terms_that_only_these_sources_lack():
    known = {"mast": 1.0, "weber": 3.0, "lamp": 3.0}

    assert signs_of("Has the mast a lamp?", idf=known)["unknown"] == 0
    assert signs_of("Has the mast a gargoyle?", idf=known)["unknown"] > 0


@pytest.mark.parametrize(
    ("question", "text", "number"),
    [
        ("what decreased in 1990?", "prices increased in 1990.", 1),
        ("what increased in 1990?", "prices increased in 1990.", 0),
        ("what decreased in 1990?", "prices increased, then decreased in 1990.", 0),
        ("哪一年人口下降？", "1990年人口上升。", 1),
        ("which theory is it?", "the northern one", 0),
    ],
)
def test_a_word_that_is_there_only_as_its_opposite_counts_as_swapped(question, text, number):
    assert swapped(question, text) == number


def test_negation_is_a_word_and_no_part_of_one():
    assert cue("negation").search("what is not red?")
    assert not cue("negation").search("what is another note?")


def test_an_embedder_adds_the_likeness_of_question_and_best_sentence():
    class Same:
        model, dimensions = "same", 2

        def embed_documents(self, texts):
            import numpy as np

            return np.array([[1.0, 0.0]] * len(texts), np.float32)

        embed_queries = embed_documents

        def trust(self, cjk_share):
            return 1.0

    assert signs_of("Who built the mast?")["similarity"] == 0
    assert signs_of("Who built the mast?", embedder=Same())["similarity"] == pytest.approx(1)


def test_without_a_sentence_there_are_no_signs():
    assert signs("Why?", (), tokenizer=TOKENIZER) is None
    assert signs("Why?", (source(1, "---"),), tokenizer=TOKENIZER) is None


@given(st.text(max_size=80), st.lists(st.text(max_size=120), max_size=3))
def test_any_text_has_all_signs_or_none(question, texts):
    found = signs(question, [source(n, text) for n, text in enumerate(texts, 1)], tokenizer=TOKENIZER)

    assert found is None or (list(found) == list(SIGNS) and all(value == value for value in found.values()))
