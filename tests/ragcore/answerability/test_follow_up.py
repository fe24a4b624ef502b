"""What a follow-up asks of a thing is judged without the kind of the answer and only where the thing stands."""

import pytest

from ragcore.answerability.follow_up import tells_asked, tells_subject, without_kind
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
SOURCE = source(1, "Rel-12 引入远程复位功能 RRST，可以在夜间复位。")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("RRST是从哪个版本引入的", "RRST是从哪个引入的"),
        ("which release introduced it", "which introduced it"),
        ("what colour has the cover", "what has the cover"),
        ("what is the cover", "what is the cover"),
        ("which", "which"),
        ("它有哪些版本", "它有哪些版本"),
    ],
)
def test_the_kind_of_the_answer_is_left_out(question, expected):
    assert without_kind(question) == expected


@pytest.mark.parametrize(
    ("question", "typed", "expected"),
    [
        ("RRST是从哪个版本引入的", "它是从哪个版本引入的", True),
        ("QPLT是从哪个版本引入的", "它是从哪个版本引入的", False),
        ("RRST是从哪个版本引入的", "RRST是从哪个版本引入的", False),
    ],
)
def test_a_source_tells_of_what_the_conversation_put_in(question, typed, expected):
    assert tells_subject(question, typed, SOURCE, tokenizer=TOKENIZER) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("它是从哪个版本引入的", True), ("它是谁发明的", False), ("它多少钱", False)],
)
def test_a_source_tells_something_of_what_is_asked_of_it(typed, expected):
    assert tells_asked(typed, SOURCE, tokenizer=TOKENIZER) == expected
