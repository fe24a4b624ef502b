"""Sentences by the case that a question asks about."""

from __future__ import annotations

import pytest

from ragcore.extractive.asked_case import asks_rule, case_odds
from ragcore.extractive.former_values import by_time, has_former
from ragcore.extractive.sentences import read_statements
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

LEAVE = (
    "Staff with less than 2 years of service have 21 days of leave.",
    "Staff with 2 to 7 years of service have 26 days of leave.",
    "Staff with more than 7 years of service have 29 days of leave.",
)
LEAVE_ZH = ("工作满2年不满9年的，年假7天。", "工作满9年不满14年的，年假12天。", "工作满14年的，年假17天。")


def best(question, *texts):
    statements = read_statements([source(1, " ".join(texts))], JiebaTokenizer())
    return statements[int(case_odds(question, statements).argmax())].text


@pytest.mark.parametrize(
    ("question", "texts", "place"),
    [
        ("leave after 5 years", LEAVE, 1),
        ("leave after one year", LEAVE, 0),
        ("How many days of leave with 12 years of service?", LEAVE, 2),
        ("工作10年年假几天", LEAVE_ZH, 1),
        ("工龄20年有几天年假", LEAVE_ZH, 2),
        ("工作3年有多少天年假", LEAVE_ZH, 0),
        ("工作9年有多少天年假", LEAVE_ZH, 1),
    ],
)
def test_the_range_that_holds_the_amount_answers(question, texts, place):
    assert best(question, *texts) == texts[place]


def test_a_rule_for_some_cases_stands_behind_the_one_for_all():
    rules = ("On roofs above 20 degrees the load must not exceed 5 kg.", "The load must not exceed 9 kg.")

    assert best("How much load may it carry?", *rules) == rules[1]


@pytest.mark.parametrize(
    ("question", "texts", "answer"),
    [
        ("can I smoke in the store", ("The store has two doors.", "Smoking in the store is forbidden."), 1),
        ("工具可以借走吗", ("工具放在二楼。", "工具不得带离车间。"), 1),
        ("能在院子里停多久", ("院子有40个车位。", "货车停放不得超过2小时。"), 1),
    ],
)
def test_the_sentence_with_the_rule_answers(question, texts, answer):
    assert best(question, *texts) == texts[answer]


def test_questions_for_a_rule_are_told_from_others():
    assert all(map(asks_rule, ("may I bring a dog", "how much can I lift", "最多几个人", "可以带饭吗")))
    assert not any(map(asks_rule, ("what is a crane", "吊车是什么")))


def test_a_question_for_the_value_before_gets_that_of_the_same_thing():
    tokenizer = JiebaTokenizer()
    text = "The seal is greased every 40 days. The pump weighs 9 kg. It was 12 kg before 2024. The hose is 3 m."
    statements = read_statements([source(1, text)], tokenizer)
    scores = case_odds("", statements)
    scores[1] = 5.0

    was = by_time("How heavy is the pump, previously?", statements, scores, {}, tokenizer)
    now = by_time("How heavy is the pump?", statements, scores, {}, tokenizer)

    assert statements[int(was.argmax())].text.startswith("It was 12 kg")
    assert statements[int(now.argmax())].text.startswith("The pump")
    assert now[2] < scores[2]


def test_a_former_value_of_another_thing_is_none():
    tokenizer = JiebaTokenizer()
    sources = [source(1, "The guarantee is ~~18 months~~ 30 months. The pump weighs 9 kg.")]

    assert has_former("How long is the guarantee, previously?", sources, None, tokenizer)
    assert not has_former("How heavy is the pump, previously?", sources, None, tokenizer)
