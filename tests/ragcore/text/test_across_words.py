"""How much of a question a text in the other language says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.across_words import NEUTRAL, across_words, covered_across
from ragcore.text.tokenise import JiebaTokenizer

CHINESE = {"radius": {"半径": 1.0}, "pump": {"泵": 1.0, "水泵": 1.0}, "seal": {"密封圈": 0.5}}
ENGLISH = {"半径": [{"radius"}], "水泵": [{"water", "pump"}, {"pump"}], "密封": [{"seal", "tight"}], "圈": [{"ring"}]}


class Words:
    """A dictionary of a few words."""

    def translations(self, word):
        return CHINESE.get(word, {})

    def meanings(self, word):
        return [frozenset(one) for one in ENGLISH.get(word, ())]


TOKENIZER = JiebaTokenizer(glossary=Words())


def covered(question, *texts):
    return [round(float(share), 2) for share in covered_across(question, texts, TOKENIZER)]


def test_words_of_a_question_are_found_in_either_direction():
    assert covered("radius of the pump", "水泵的半径是三米", "水泵是蓝色的", "天气很好") == [1.0, 0.43, 0.0]
    assert covered("水泵的半径", "The pump has a radius of 3 m.", "The weather is fine.") == [1.0, 0.0]


def test_a_longer_word_is_looked_up_by_its_parts():
    assert [word.text for word in across_words("密封圈", TOKENIZER, Words())] == ["密封", "圈"]


def test_half_of_a_meaning_counts_half():
    assert covered("密封", "seals of rubber", "rubber") == [0.5, 0.0]


def test_names_and_codes_are_compared_as_they_are():
    assert covered("P10 radius", "P10 的半径", "P20 的半径")[0] > covered("P10 radius", "P10 的半径", "P20 的半径")[1]
    assert covered("怎么连VPN", "Connect by VPN.", "Connect by cable.") == [1.0, 0.0]


@pytest.mark.parametrize("question", ["", "qwertz", "？？"])
def test_a_question_without_a_known_word_says_nothing(question):
    assert covered(question, "水泵") == [NEUTRAL]


def test_without_a_dictionary_nothing_is_said():
    assert covered_across("radius", ["半径"], JiebaTokenizer())[0] == NEUTRAL


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3))
def test_a_share_lies_between_none_and_all(question, texts):
    shares = covered_across(question, texts, TOKENIZER)

    assert shares.shape == (len(texts),)
    assert all(0 <= share <= 1 for share in shares)
