"""Messages that want the answer before in another language, and those that only speak of a language."""

from __future__ import annotations

import pytest

from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types.answering import Question, Turn
from ragcore.understanding.answer_language import language_wish, wish_in_conversation
from ragcore.understanding.standalone import standalone_by_rules

EARLIER = "How long is the guarantee of the pump?"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("in Chinese?", "zh"),
        ("And in English?", "en"),
        ("Can you say that in Chinese, please?", "zh"),
        ("could you translate it into English?", "en"),
        ("Please answer in English", "en"),
        ("What is that in Mandarin?", "zh"),
        ("give me the Chinese version", "zh"),
        ("translate this to German", "other"),
        ("Can you translate that?", "other"),
        ("用英文说", "en"),
        ("用英語說", "en"),
        ("用中文再说一遍", "zh"),
        ("请把上面的回答翻译成中文", "zh"),
        ("能用英语回答吗？", "en"),
        ("英文呢？", "en"),
        ("英文怎么说", "en"),
        ("来个英文版", "en"),
        ("用法语说一遍", "other"),
        ("帮我翻译一下", "other"),
    ],
)
def test_a_wish_for_another_language_is_one_about_the_answer_before(text, language):
    assert language_wish(text, EARLIER) == language
    assert language_wish(text, "") is None


@pytest.mark.parametrize(
    "text",
    [
        "Is the manual available in Chinese?",
        "How many people speak English?",
        "Which courses are held in English?",
        "and in England?",
        "英文手册有几页",
        "谁把说明书翻译成中文",
        "说明书的英文版什么时候发布",
    ],
)
def test_a_question_about_a_language_is_none(text):
    assert language_wish(text, EARLIER) is None


@pytest.mark.parametrize(
    ("text", "earlier"), [("And in English?", "Is the label in Chinese?"), ("那英文呢", "说明书有中文版吗")]
)
def test_after_a_question_that_names_a_language_it_asks_for_another_one(text, earlier):
    assert language_wish(text, earlier) is None


def test_wishes_in_between_are_no_questions():
    assert wish_in_conversation("and in Chinese?", [EARLIER, "用英文说"]) == "zh"


@pytest.mark.parametrize("text", ["in Chinese?", "用中文说"])
def test_the_question_before_is_asked_again_in_its_standalone_form(text):
    turns = (Turn(question="How heavy is the pump?", answer="12 kg."), Turn(question="And the motor?", answer="3 kg."))
    question = Question(text=text, language="en", history=turns)

    standalone = standalone_by_rules(question, JiebaTokenizer())

    assert "motor" in standalone.text
    assert "Chinese" not in standalone.text
    assert "history" in standalone.depends_on
