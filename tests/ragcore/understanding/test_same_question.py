"""The guard of the semantic cache: near misses never pass, some paraphrases do."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.understanding.same_question import is_same_question, question_form
from tests.forms_plugin import examples
from tests.ragcore.understanding.near_misses import CHINESE_PARAPHRASES, ENGLISH_PARAPHRASES, chinese, english

KINDS = {"number", "unit", "date", "version", "opposite", "scope", "negation", "type", "subset", "entity"}
KINDS |= {"direction", "comparison"}


@pytest.mark.parametrize("pairs", [english, chinese])
def test_of_more_than_five_hundred_near_misses_none_passes(pairs):
    found = list(dict.fromkeys(pairs()))

    passed = [one for one in found if is_same_question(*one[1])]

    assert passed == []
    assert len(found) >= 500
    assert Counter(kind for kind, _pair in found).keys() == KINDS
    assert all(one != other for _kind, (one, other) in found)


@pytest.mark.parametrize("pairs", [english, chinese])
def test_each_question_of_a_near_miss_can_be_compared_at_all(pairs):
    """Otherwise nothing would be shown by not passing."""
    assert [one for _kind, pair in pairs() for one in pair if not is_same_question(one, one)] == []


@pytest.mark.parametrize(("pairs", "least"), [(ENGLISH_PARAPHRASES, 0.7), (CHINESE_PARAPHRASES, 0.75)])
def test_most_paraphrases_of_the_lists_pass(pairs, least):
    passed = [pair for pair in pairs if is_same_question(*pair)]

    assert len(passed) / len(pairs) >= least, [pair for pair in pairs if pair not in passed]


@settings(max_examples=examples(12), deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_it_is_symmetric_and_never_fails(one, other):
    assert is_same_question(one, other) == is_same_question(other, one)


@pytest.mark.parametrize(
    "text", ["", "?", "PRACH", "What is A? And B?", "First. Then what?", "什么是甲？什么是乙？", "why " * 100]
)
def test_what_is_no_single_question_is_compared_with_nothing(text):
    assert question_form(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I open Windows", "How do I open window"),
        ("What is https", "What is http"),
        ("What is C++", "What is C"),
        ("What is .NET", "What is NET"),
        ("Is it -5 or 5", "Is it 5 or 5"),
        ("What does a_b mean", "What does a b mean"),
        ("What are the means", "What are the mean"),
    ],
)
def test_names_and_signs_are_not_taken_for_endings(one, other):
    assert not is_same_question(one, other)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("随机接入是什么", "随机接入机制是啥", True),
        ("安全是什么", "安全机制是什么", False),  # a short word may name something else without it
    ],
)
def test_a_mechanism_is_asked_for_by_its_name(one, other, is_same):
    assert is_same_question(one, other) is is_same
