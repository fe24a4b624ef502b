"""A question is taken apart into what it names and what it wants to know."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.answerability.question_parts import heads, split_question
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()


def asked(question, idf=None):
    known = idf if idf is not None else dict.fromkeys(TOKENIZER.terms(question), 2.0)
    return split_question(question, (), tokenizer=TOKENIZER, idf=known)


@pytest.mark.parametrize(
    ("question", "head"),
    [
        ("What is the favourite colour of the judge?", "favourite colour"),
        ("What was the defendant's height?", "height"),
        ("Which city hosted the games?", "city"),
        ("How many points did they score?", "points"),
        ("被告人尹某的血型是什么？", "血型"),
        ("哪座城市举办了奥运会？", "城市"),
        ("铁路全长多少公里？", "公里"),
    ],
)
def test_the_head_is_the_word_for_what_is_wanted(question, head):
    assert asked(question).head == tuple(TOKENIZER.words(head))
    start, end = next(heads(question, TOKENIZER))
    assert question[start:end].endswith(head)


@pytest.mark.parametrize("question", ["Who built the mast?", "是谁建造的？", ""])
def test_a_question_may_have_no_head(question):
    assert asked(question).head == ()


def test_words_that_only_give_an_order_are_no_content():
    assert asked("Summarize the report of Ulm").terms == asked("the report of Ulm").terms
    assert asked("What does OCS stand for?").terms == tuple(TOKENIZER.terms("OCS"))
    assert "总结" not in asked("结合年度报告，总结其未来展望").terms


def test_a_question_of_orders_alone_keeps_them():
    assert asked("Please explain").terms


def test_chinese_terms_are_words_without_the_bigrams_of_the_search():
    assert asked("铁路的长度").terms == ("铁路", "长度")


@pytest.mark.parametrize(
    ("question", "broad"),
    [
        ("Compare the profit of A and B", True),
        ("What happened in 2019 and in 2021?", True),
        ("总结未来展望", True),
        ("两家公司的股东权益分别是多少？", True),
        ("When was the mast built?", False),
        ("谁建造了铁路？", False),
    ],
)
def test_questions_about_several_things_and_for_summaries_are_broad(question, broad):
    assert asked(question).is_broad is broad


def test_a_term_that_the_corpus_does_not_know_weighs_most():
    found = asked("mast gargoyle", {"mast": 1.0, "lamp": 4.0})

    assert found.weights["gargoyl"] == 4.0
    assert found.unknown == pytest.approx(0.8)


def test_the_share_of_nothing_is_whole():
    found = asked("mast lamp")

    assert found.share((), frozenset()) == 1
    assert found.share(found.terms, frozenset(["mast"])) == pytest.approx(0.5)


@given(st.text(max_size=80))
def test_every_part_holds_terms_of_the_question_only(question):
    found = asked(question)

    for part in (found.names, found.numbers, found.head, found.relation):
        assert set(part) <= set(found.weights)
    assert {term for pair in found.pairs for term in pair} <= set(found.terms)


@given(st.text(max_size=80))
def test_heads_stand_in_the_question(question):
    assert all(0 <= start < end <= len(question) for start, end in heads(question, TOKENIZER))
