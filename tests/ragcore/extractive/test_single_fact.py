"""Which questions one sentence can answer."""

import pytest

from ragcore.extractive.single_fact import asks_single_fact


@pytest.mark.parametrize(
    ("question", "is_single"),
    [
        ("When was the mast built?", True),
        ("How is a raised alarm cleared?", True),
        ("What is beam management and why is it needed?", False),
        ("Who painted the mast when it was built?", True),
        ("How many steps does the procedure have?", True),
        ("May I paint the mast?", False),
        ("is the mast red", False),
        ("Which masts are there?", False),
        ("Compare the mast with the tower", False),
        ("lost my phone, who do i call and how fast", False),
        ("what did the mast cost, and did both owners pay", False),
        ("what did the mast cost and is it insured", False),
        ("陪产假有几天 能拆成两次休不", False),
        ("When is the mast painted and greased?", True),
        ("随机接入是什么？", True),
        ("塔的高度是多少", True),
        ("现场直接改了行吗", False),
        ("能不能改", False),
        ("是否需要审批", False),
        ("上网券在哪开，能用多久", False),
        ("有哪些塔", False),
        ("塔和桅杆有什么区别", False),
    ],
)
def test_a_question_for_one_thing_is_told_from_others(question, is_single):
    assert asks_single_fact(question) is is_single
