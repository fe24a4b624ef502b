"""Headings that ask what somebody asks in other words."""

import pytest

from ragcore.answerability.asked_headings import is_asked_by_heading
from ragcore.extractive.sentences import read_statements
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

TOKENIZER = JiebaTokenizer()
TEXT = """# Pump FAQ

## Who decides about a recall?

The plant manager. Nobody else may.

## 停产谁说了算？

厂长和质量经理一起定。

## How long does a refill take?

Twenty minutes.
"""
WEIGHTS = {"recal": 4.0, "last": 1.5, "refill": 4.0, "tank": 4.0, "停产": 4.0, "拍板": 1.0}


def is_asked(question):
    passage = Passage(chunk=1, document=1, version=1, text=TEXT, title="Pump FAQ")
    statements = read_statements([Source(number=1, passage=passage, text=TEXT, score=1.0)], TOKENIZER)
    return is_asked_by_heading(question, statements, WEIGHTS, TOKENIZER)


@pytest.mark.parametrize(
    ("question", "is_so"),
    [
        ("who has the last word on a recall", True),
        ("who may order a recall", True),
        ("停产谁拍板", True),
        ("when was the last recall", False),  # another kind of value
        ("who cleans the refill tank", False),
        ("recall of the last tank", False),
        ("how many litres has the tank for a refill", False),  # half of it is about something else
    ],
)
def test_a_heading_asks_the_same_of_the_same_thing(question, is_so):
    assert is_asked(question) is is_so
