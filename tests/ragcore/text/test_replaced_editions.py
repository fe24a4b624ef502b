"""Whether a question asks for an edition that another document replaces."""

from __future__ import annotations

import pytest

from ragcore.text.replaced_editions import asks_for_replaced, names_of_older, times_of_older
from ragcore.types import ReplacedBy

OLDER = ("Travel rules 2024", "HR-12", "Rel-15", "2024-01-01", "rev C")
NEWER = ("Travel rules 2026", "HR-12", "Rel-16", "2026-01-01", "rev D")
REPLACED = ReplacedBy(
    document=2, title="new", names=names_of_older(OLDER, NEWER), since="2024-01-01", until="2026-01-01"
)


@pytest.mark.parametrize(
    "question",
    [
        "What was the limit in 2024?",
        "2024年的标准是多少？",
        "What is the limit in release 15?",
        "R15里的上限是多少",
        "limit of Rel-15",
        "What does rev C say?",
        "What held in March 2025?",
        "2025年5月的标准是多少",
        "What was the limit on 2024-06-30?",
        "旧版的标准是多少",
        "以前是多少",
        "上一版怎么规定的",
        "What did the previous edition say?",
        "What was the limit before?",
        "Compare the limits of both editions",
        "新旧标准有什么区别",
        "What changed?",
    ],
)
def test_these_ask_for_it(question):
    assert asks_for_replaced(question, REPLACED)


@pytest.mark.parametrize(
    "question",
    [
        "What is the limit?",
        "标准是多少",
        "What is the limit in 2026?",
        "2026年的标准是多少",
        "What does release 16 say?",
        "What does HR-12 say?",
        "Is it due within 15 days?",
        "What must be done before Friday?",
        "周五之前要提交什么",
        "Which old batteries are replaced?",
        "What does rev D say?",
        "What held in 2023?",
    ],
)
def test_these_do_not(question):
    assert not asks_for_replaced(question, REPLACED)


def test_what_both_editions_have_names_neither():
    assert names_of_older(OLDER, NEWER) == {"2024", "15", "2024-01-01", "rev c"}
    assert names_of_older(OLDER, OLDER) == frozenset()


@pytest.mark.parametrize(
    ("older", "newer", "times"),
    [
        ({"valid": "2024-1-5"}, {"valid": "2026/02/01"}, ("2024-01-05", "2026-02-01")),
        ({"valid": "2026-01-01"}, {"valid": "2024-01-01"}, ("", "")),
        ({"valid": "2024-01-01"}, {}, ("", "")),
        ({"n": 3, "valid": ["2024-01-01"]}, {"n": 4}, ("", "")),
    ],
)
def test_times_come_from_an_attribute_of_both(older, newer, times):
    assert times_of_older(older, newer) == times
