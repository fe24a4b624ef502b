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


@pytest.mark.parametrize(
    ("earlier", "text", "expected"),
    [
        # a role in the place of a role, a place in that of a place, and what is counted is none of them
        ("去南京出差 正式员工一天能报多少", "那总监呢", "去南京出差 总监一天能报多少"),
        ("去南京出差 正式员工一天能报多少", "苏州呢", "去苏州出差 正式员工一天能报多少"),
        ("住宿一天能报多少", "那经理呢", "经理住宿一天能报多少"),
        (
            "how much may an employee spend per night in jinan",
            "what about a manager",
            "how much may a manager spend per night in jinan",
        ),
        ("how much may a senior employee spend", "and a director", "how much may a director spend"),
        (
            "how many hours does the lab get in 2025",
            "what about the workshop",
            "how many hours does the workshop get in 2025",
        ),
        ("how many sick days do interns get", "and vacation days", "how many vacation days do interns get"),
        ("is the library open on sunday", "what about the pool", "is the pool open on sunday"),
        ("is the library open on sunday", "and saturday", "is the library open on saturday"),
    ],
)
def test_like_takes_the_place_of_like(earlier, text, expected):
    question = Question(text=text, history=(Turn(question=earlier, answer=""),))

    assert standalone_by_rules(question, TOKENIZER).text == expected
