"""Words of a question that no source mentions."""

import pytest

from ragcore.answerability.unmentioned import unmentioned_words
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()


@pytest.mark.parametrize(
    ("question", "text", "missing"),
    [
        ("How much does a RedCap module cost?", "A RedCap module has one antenna.", ["cost"]),
        ("How is the pricing of modules set?", "The price of a module is fixed.", ["set"]),
        ("What is the price?", "The price is 3.", []),
        ("寻呼周期和寻呼费用是多少？", "寻呼周期默认为 1.28 秒。", ["费用"]),
        ("寻呼周期是多少？", "寻呼周期默认为 1.28 秒。", []),
    ],
)
def test_only_words_of_the_thing_itself_are_missed(question, text, missing):
    assert unmentioned_words(question, [text], TOKENIZER) == missing


def test_words_are_named_as_written_and_in_their_order():
    assert unmentioned_words("Do Xylophones and Zithers interfere with paging?", ["Paging."], TOKENIZER) == [
        "Xylophones",
        "Zithers",
        "interfere",
    ]
