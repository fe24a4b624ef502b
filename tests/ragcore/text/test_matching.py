from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.matching import (
    contains_terms,
    keywords,
    needles,
    presence,
    searchable,
    share_in,
    shares_in,
    written_keywords,
)
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()
TERMS = st.dictionaries(st.text("abci天气0", min_size=1, max_size=5), st.floats(0, 9), max_size=6)
TEXTS = st.lists(st.text("abci天气0 -", max_size=30), max_size=6)


@given(TERMS, TEXTS)
def test_shares_of_many_texts_are_those_of_each_alone(weights, texts):
    assert shares_in(weights, texts) == {text: share_in(weights, text) for text in texts}


@given(TERMS, TEXTS)
def test_many_texts_searched_as_one_have_what_each_has_alone(weights, texts):
    wanted, ready = [needles(term) for term in weights], [searchable(text) for text in texts]

    assert presence(wanted, ready).tolist() == [contains_terms(wanted, text) for text in ready]


@given(TERMS, TEXTS)
def test_a_share_is_the_weight_of_the_terms_that_are_there_by_that_of_all(weights, texts):
    total = sum(weights.values())
    for text in texts:
        there = [term for term in weights if any(needle in searchable(text) for needle in needles(term))]
        expected = sum(weights[term] for term in there) / total if total > 0 else 0.0
        assert share_in(weights, text) == expected


def test_without_any_weight_nothing_is_there():
    assert shares_in({"a": 0.0}, ["a"]) == {"a": 0.0}
    assert shares_in({}, ["a"]) == {"a": 0.0}


def test_keywords_as_they_are_written():
    text = "Which policies do the devices, and the device, need? 随机接入响应"

    written = written_keywords(text, TOKENIZER)

    assert list(written) == keywords(text, TOKENIZER)
    assert written["polici"] == "policies"
    assert written["devic"] == "devices"
    assert written["随机"] == "随机"
