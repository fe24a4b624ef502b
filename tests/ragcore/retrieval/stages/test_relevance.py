import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.retrieval.stages.selection import is_near

LIMITS = {"min_match": 1.5, "min_cosine": 0.3}
shares = st.floats(-1, 3)


@pytest.mark.parametrize(
    ("match", "cosine"),
    [(1.5, 0.0), (0.0, 0.3), (0.9, 0.15), (0.4, 0.25), (2.0, -0.05)],
)
def test_enough_of_either_or_some_of_both_is_near(match, cosine):
    assert is_near(match, cosine, **LIMITS)


@pytest.mark.parametrize(("match", "cosine"), [(0.7, 0.12), (0.2, 0.25), (0.0, 0.0), (1.4, 0.0)])
def test_words_without_meaning_and_meaning_without_words_are_not(match, cosine):
    assert not is_near(match, cosine, **LIMITS)


@given(match=shares, cosine=shares, more=st.floats(0, 2))
def test_more_of_anything_never_makes_it_less_near(match, cosine, more):
    if is_near(match, cosine, **LIMITS):
        assert is_near(match + more, cosine, **LIMITS)
        assert is_near(match, cosine + more, **LIMITS)


@given(match=shares, cosine=shares)
def test_a_limit_of_zero_lets_everything_through(match, cosine):
    assert is_near(match, cosine, min_match=0, min_cosine=0.3)
    assert is_near(match, cosine, min_match=1.5, min_cosine=0)


def test_an_arm_that_was_not_searched_says_neither_yes_nor_no():
    assert is_near(0.5, None, **LIMITS)
    assert not is_near(0.2, None, **LIMITS)
    assert is_near(None, 0.28, **LIMITS)
    assert not is_near(None, 0.2, **LIMITS)
    assert not is_near(None, None, **LIMITS)
