"""What a reply says to whether a text states an answer."""

import pytest

from ragcore.llm.stated_answer import says_stated


@pytest.mark.parametrize(
    ("reply", "stated"),
    [
        ("yes", True),
        (" Yes, it does.", True),
        ('"Yes."', True),
        ("**yes**", True),
        ("是", True),
        ("能", True),
        ("no", False),
        ("No, the text does not say it.", False),
        ("Not exactly", False),
        ("否", False),
        ("不能", False),
        ("没有说明", False),
        ("是否", None),
        ("nobody knows", None),
        ("yesterday", None),
        ("The text", None),
        ("", None),
    ],
)
def test_yes_and_no_are_read_in_both_languages(reply, stated):
    assert says_stated(reply) is stated
