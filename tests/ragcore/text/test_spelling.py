"""Slips of the hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.glossary import CedictGlossary
from ragcore.text.scripts import cjk_share, language_of
from ragcore.text.spelling import (
    Slip,
    correctable,
    corrected_text,
    digits,
    distance,
    likeness,
    pairs,
    slips,
    topic_text,
)
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Query

TOKENIZER = JiebaTokenizer()
words = st.text("abcdef12", min_size=1, max_size=10)


def query(text, **fields):
    return Query(
        text=text,
        terms=tuple(TOKENIZER.terms(text)),
        words=tuple(TOKENIZER.words(text)),
        language=language_of(text),
        cjk_share=cjk_share(text),
        **fields,
    )


@pytest.mark.parametrize(
    ("first", "second", "edits"),
    [
        ("access", "access", 0),
        ("acess", "access", 1),
        ("premable", "preamble", 1),
        ("teh", "the", 1),
        ("cat", "dog", 3),
    ],
)
def test_edits_are_counted_and_swapped_neighbours_are_one(first, second, edits):
    assert distance(first, second, limit=5) == edits


@given(first=words, second=words, limit=st.integers(0, 4))
def test_the_distance_is_symmetric_and_stops_above_its_limit(first, second, limit):
    exact = distance(first, second, limit=20)

    assert distance(first, second, limit=limit) == distance(second, first, limit=limit) == min(exact, limit + 1)


@given(word=words, known=words)
def test_no_word_is_ever_taken_for_one_with_another_number(word, known):
    if digits(word) != digits(known):
        assert likeness(word, known) == 0.0


@given(word=words, known=words)
def test_likeness_is_below_one_because_the_word_that_was_written_counts_more(word, known):
    assert 0.0 <= likeness(word, known) < 1.0


@pytest.mark.parametrize(
    ("word", "known"),
    [("acess", "access"), ("premabl", "preambl"), ("solutoin", "solut"), ("bst3900", "bts3900")],
)
def test_what_was_probably_meant_is_alike(word, known):
    assert likeness(word, known) > 0.5


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("bts3900", "bts3910"),
        ("38331", "38321"),
        ("over", "rover"),
        ("gover", "over"),
        ("erceive", "receive"),
        ("band", "bind2"),
        ("car", "dog"),
    ],
)
def test_other_numbers_beginnings_and_words_are_not(word, known):
    assert likeness(word, known) == 0.0


def test_short_words_numbers_and_short_names_in_capitals_are_left_alone():
    asked = query("Is the PUCCH of cell 38331 used by the gNodeB preamble?")

    assert "preambl" in correctable(asked)
    assert not {"pucch", "38331", "is"} & set(correctable(asked))


def test_a_question_written_in_capitals_is_read_like_any_other():
    assert "preambl" in correctable(query("WHAT IS A PREAMBLE"))


def test_a_wrong_character_stands_between_what_is_known_beside_it():
    asked = query("随机接人响应")
    known = {"随机", "机接", "响应"}

    assert slips(asked, set(pairs(asked)) - known, TOKENIZER) == [Slip(character="人", before="机接", after="响应")]


def test_a_word_of_which_nothing_is_known_is_no_slip():
    asked = query("蜜蜂怎么飞")

    assert slips(asked, pairs(asked), TOKENIZER) == []


def test_stop_words_are_never_slips():
    asked = query("协议的内容")

    assert slips(asked, {"议的", "的内"}, TOKENIZER) == []


def test_a_word_that_is_new_is_not_framed_by_what_is_known():
    asked = query("随机蜜蜂")

    found = slips(asked, {"机蜜", "蜜蜂"}, TOKENIZER)

    assert not any(slip.is_framed for slip in found)


def test_the_question_is_written_anew_with_its_corrections():
    asked = query("acess 随机接人 now", corrections={"acess": {"access": 0.8, "acres": 0.4}, "接人": {"接入": 0.7}})

    assert corrected_text(asked, TOKENIZER) == "access 随机接入 now"


def test_what_a_question_is_about_has_no_stop_words_and_keeps_its_spelling():
    assert topic_text(query("What is the Random Acess Procedure?"), TOKENIZER) == "random acess procedure"
    assert topic_text(query("随机接入的流程是什么"), TOKENIZER).replace(" ", "") == "随机接入流程"


@pytest.mark.parametrize(
    ("text", "corrections", "passages", "expected"),
    [
        (
            "How is the respnse sent",
            {"respns": {"respons": 0.8}},
            ["The response is sent.", "Responses, and a response."],
            "How is the response sent",
        ),
        ("the devise", {"devis": {"devic": 0.8}}, ["All devices of the site", "devices"], "the devices"),
        ("the devise", {"devis": {"devic": 0.8}}, ["Nothing of the kind"], "the devise"),
        ("the devise", {"devis": {"devic": 0.8}}, [], "the devise"),
        ("随机接人 now", {"接人": {"接入": 0.7}}, ["随机接入"], "随机接入 now"),
    ],
)
def test_corrections_are_written_as_the_passages_have_them(text, corrections, passages, expected):
    assert corrected_text(query(text, corrections=corrections), TOKENIZER, passages=passages) == expected


def test_a_word_that_the_dictionary_knows_is_spelt_right(tmp_path):
    tokenizer = JiebaTokenizer(glossary=CedictGlossary(tmp_path))
    asked = query(
        "How does a gNB respond to a premable", corrections={"respond": {"respons": 0.8}, "premabl": {"preambl": 0.8}}
    )

    corrected = corrected_text(asked, tokenizer, passages=["the preamble of the response"])

    assert corrected == "How does a gNB respond to a preamble"
