"""A follow-up that names only another code asks the question before about it."""

import pytest

from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types.answering import Question, Turn
from ragcore.understanding.code_swaps import swap_code
from ragcore.understanding.standalone import standalone_by_rules

TOKENIZER = JiebaTokenizer()


@pytest.mark.parametrize(
    ("new", "earlier", "expected"),
    [
        ("M", "longest cable of the QX20-E", "longest cable of the QX20-M"),
        ("3.2.1", "V3.3.0升级要多久", "V3.2.1升级要多久"),
        ("G1", "QBP-G2多少钱一块", "QBP-G1多少钱一块"),
        ("the QX7", "price of the fan for QX30", "price of the fan for QX7"),
        ("2026 q1", "hours in 2025 q4 on the QX20 project", "hours in 2026 q1 on the QX20 project"),
        ("812", "error GL-809", "error GL-812"),
        ("3号线", "1号线早上几点发车", "3号线早上几点发车"),
        ("the total", "hours in 2025 q4", None),
        ("QX30", "price of the fan for QX30", None),
        ("5", "how long is the cable", None),
        ("3号线", "3号线早上几点发车", None),
    ],
)
def test_a_code_takes_the_place_of_one_of_its_form(new, earlier, expected):
    assert swap_code(new, earlier) == expected


@pytest.mark.parametrize(
    ("earlier", "text", "expected"),
    [
        ("max cable length of the QX20-E", "and for the M?", "max cable length of the QX20-M"),
        ("drop rate of MM-17 after the fix", "and before", "drop rate of MM-17 before the fix"),
        ("QX9 V3.3.0 一台最多带几个小区", "那3.2.1的时候呢", "QX9 V3.2.1 一台最多带几个小区"),
        ("1号线早上几点发车", "3号线呢", "3号线早上几点发车"),
    ],
)
def test_a_follow_up_stands_alone(earlier, text, expected):
    question = Question(text=text, history=(Turn(question=earlier, answer=""),))

    assert standalone_by_rules(question, TOKENIZER).text == expected
