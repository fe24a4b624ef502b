"""The signs say what of a question is missing in its sources."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.answerability.features import FEATURES, compute_features
from ragcore.answerability.question_parts import cue, is_negated
from ragcore.text.opposites import count_opposites
from ragcore.text.request_cache import request_cache
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
MAST = source(1, "The mast stands in Ulm. Weber built the mast in 1987. It is painted red.", title="The mast")


def signs_of(question, *sources, **more):
    return compute_features(question, sources or (MAST,), tokenizer=TOKENIZER, **more)


def test_a_question_that_the_best_sentence_holds_is_covered():
    found = signs_of("When was the mast by Weber built?")

    assert found["rarest_in_window"] == 1
    assert found["names_passage"] == 1
    assert found["lacks_kind"] == 0


@pytest.mark.parametrize("question", ["When was only the mast by Weber built?", "韦伯在哪一年建造了这座桅杆？"])
def test_what_is_remembered_of_a_question_changes_no_sign_of_other_sources(question):
    others = source(2, "The lamp of the mast burns. 桅杆由韦伯于1987年建造。它是红色的。", title="桅杆")
    idf = {term: 1.0 + len(term) for term in TOKENIZER.terms(question)[1:]}
    each = [(MAST,), (others,), (MAST, others)]
    weighed = [(sources, weights) for sources in each for weights in (idf, None, dict.fromkeys(idf, 1.0))]
    computed = [signs_of(question, *sources, idf=weights) for sources, weights in weighed]

    with request_cache():
        remembered = [signs_of(question, *sources, idf=weights) for sources, weights in weighed]

    assert remembered == computed


def test_a_name_that_stands_nowhere_is_missing():
    found = signs_of("When did Schmidt build the mast?")

    assert found["names_passage"] == found["names_all"] == 0
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

    assert found["lacks_definition"] == lacking


def test_the_word_that_says_what_is_asked_for_is_looked_for():
    lacking = signs_of("What is the weight of the mast?")
    there = signs_of("What is the colour of the mast?", source(1, "The colour of the mast is red."))

    assert (lacking["head_passage"], lacking["lacks_head"], lacking["lacks_head_widely"]) == (0, 1, 1)
    assert (there["head_passage"], there["lacks_head"], there["lacks_head_widely"]) == (1, 0, 0)


def test_a_name_is_lacking_where_no_source_has_a_word_of_it():
    assert signs_of("When did Anna Weber build the mast?")["lacks_name"] == 1
    assert signs_of("When did Weber build the mast?")["lacks_name"] == 0


def test_a_year_beside_another_year_is_another_year():
    assert signs_of("Who built the mast in 1999?")["other_year"] == 1
    assert signs_of("Who built the mast in 1987?")["other_year"] == 0
    assert signs_of("Who built the mast in 1999?", source(1, "Weber built it."))["other_year"] == 0


def test_a_modifier_beside_another_noun_is_a_broken_pair():
    text = source(1, "The red lamp hangs over the old bridge.")

    assert signs_of("Who owns the red lamp?", text)["pairs_broken"] == 0
    assert signs_of("Who owns the red bridge?", text)["pairs_broken"] > 0


def test_a_question_about_several_things_may_find_them_in_several_sources():
    two = (source(1, "Ulm has a mast of 80 metres."), source(2, "Hof has a mast of 40 metres.", score=0.8))

    assert signs_of("Compare the masts of Ulm and Hof", *two)["window"] == 1
    assert signs_of("Is there a mast of Ulm in Hof?", *two)["window"] < 1


def test_a_question_that_says_little_matches_little():
    little, much = signs_of("What is painted?"), signs_of("Who built the mast by Weber in Ulm?")

    assert little["said_matched"] < much["said_matched"]


def test_sources_that_all_fit_alike_do_not_stand_out():
    alike = [source(n, f"Step {n} changes the key.", score=1 - n / 10) for n in (1, 2, 3)]

    assert signs_of("Which step changes the key?", *alike)["stands_out"] == 0
    assert signs_of("Who built the mast?", MAST, *alike)["stands_out"] > 0.3


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
    assert count_opposites(question, text) == number


@pytest.mark.parametrize(
    ("text", "denies"),
    [
        ("what is not red?", True),
        ("what is another note?", False),
        ("not only red", False),
        ("哪些设备不支持？", True),
        ("总结其未来展望", False),
        ("两种方法有什么不同？", False),
    ],
)
def test_negation_is_a_word_and_no_part_of_one(text, denies):
    assert is_negated(text) is denies


def test_a_section_of_cues_that_is_not_there_is_an_error():
    with pytest.raises(KeyError):
        cue("weather")


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
    assert compute_features("Why?", (), tokenizer=TOKENIZER) is None
    assert compute_features("Why?", (source(1, "---"),), tokenizer=TOKENIZER) is None


@given(st.text(max_size=80), st.lists(st.text(max_size=120), max_size=3))
def test_any_text_has_all_signs_or_none(question, texts):
    found = compute_features(question, [source(n, text) for n, text in enumerate(texts, 1)], tokenizer=TOKENIZER)

    assert found is None or (list(found) == list(FEATURES) and all(value == value for value in found.values()))
