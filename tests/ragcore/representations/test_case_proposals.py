"""Candidates for golden cases: what rules and a model make of a passage."""

import asyncio
import json

import pytest

from ragcore.llm.client import LlmClient
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.representations.case_proposals import propose_by_model, propose_by_rules, short_intent, with_typo
from ragcore.text.normalise import squeeze
from ragcore.text.tokenise import JiebaTokenizer
from tests.scripted_llm import Reply, serving

TOKENIZER = JiebaTokenizer()
TABLE = """The timers of the procedure:

| Timer | Start value | Unit |
|---|---|---|
| T300 guard timer | 400 | ms |
| T301 retry timer | 600 | ms |
| 12 | 13 | 14 |
"""


def test_a_definition_is_asked_for_and_its_sentence_is_the_key_point():
    text = "A network slice is a logical network with its own resources. It is ordered by a tenant."

    (found,) = propose_by_rules(text, ("Slicing",), TOKENIZER)

    assert (found.question, found.origin) == ("What is a network slice?", "definition")
    assert found.key_points == ("A network slice is a logical network with its own resources.",)
    assert found.quotation in text


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("The guard timer is a timer that limits the wait for an answer.", "What is the guard timer?"),
        ("Guard bands are frequencies that nobody uses.", "What are Guard bands?"),
        ("Marie Tharp (born 30 July 1920) is a geologist who drew maps of the sea floor.", "Who is Marie Tharp?"),
        (
            "Orthogonal frequency division multiplexing (OFDM) is a way to send on many carriers.",
            "What is Orthogonal frequency division multiplexing?",
        ),
        ("Almost all pumps are predators of time and money here.", None),
        ("Some of the filters are a nuisance to the whole crew.", None),
    ],
)
def test_definitions_are_asked_for_as_people_would(sentence, question):
    found = [one.question for one in propose_by_rules(sentence, (), TOKENIZER)]

    assert found == ([] if question is None else [question])


def test_cells_with_a_name_in_row_and_column_are_asked_for():
    found = propose_by_rules(TABLE, ("Timers",), TOKENIZER)

    assert [(one.question, one.answers) for one in found] == [
        ("What is the start value of T300 guard timer?", ("400",)),
        ("What is the start value of T301 retry timer?", ("600",)),
    ]


def test_chinese_definitions_tables_and_headings():
    text = "随机接入是指终端与基站建立上行同步的过程。\n\n| 参数 | 取值 |\n|---|---|\n| 前导码数量 | 64 |\n"

    found = {one.origin: one for one in propose_by_rules(text, ("2.1 随机接入流程",), TOKENIZER)}

    assert found["definition"].question == "随机接入是什么？"
    assert (found["table"].question, found["table"].answers) == ("前导码数量的取值是什么？", ("64",))
    assert found["heading"].question == "随机接入流程是怎样的？"


def test_every_expectation_of_rules_stands_in_the_passage():
    for one in propose_by_rules(TABLE, ("Timers",), TOKENIZER):
        for text in (*one.answers, *one.key_points, one.quotation):
            assert squeeze(text) in squeeze(TABLE)


@pytest.mark.parametrize("text", ["", "12 34 56", "It is a good one.", "Это определение.", "| a |\n|---|\n"])
def test_where_nothing_is_sure_nothing_is_asked(text):
    assert propose_by_rules(text, (), TOKENIZER) == []


TEXT = "The guard timer T300 starts with 400 ms. It stops when the answer arrives."
WRITTEN = {
    "question": "What is the start value of the guard timer T300?",
    "answer": "400 ms",
    "key_points": [],
    "quotation": "The guard timer T300 starts with 400 ms.",
}


def asked(**changed):
    with serving() as server:
        server.default = Reply(texts=(json.dumps({**WRITTEN, **changed}),))
        model = OpenAIChatModel(server.url, "key", "writer")
        return asyncio.run(propose_by_model(TEXT, ("Timers",), TOKENIZER, LlmClient(model)))


def test_a_case_that_a_model_writes_is_kept_with_its_quotation():
    (found,) = asked()

    assert (found.question, found.answers, found.key_points) == (WRITTEN["question"], ("400 ms",), ())
    assert (found.quotation, found.origin) == (WRITTEN["quotation"], "model")


@pytest.mark.parametrize(
    "changed",
    [
        {"quotation": "The guard timer T300 starts with 900 ms."},
        {"question": "What does this text say about the timer T300?"},
        {"question": "Who painted the ceiling of the chapel?"},
        {"question": ""},
        {"answer": None},
    ],
)
def test_a_case_that_the_passage_does_not_carry_is_thrown_away(changed):
    assert asked(**changed) == []


def test_an_answer_in_other_words_is_a_key_point():
    (found,) = asked(answer="It starts at four tenths of a second.")

    assert (found.answers, found.key_points) == ((), ("It starts at four tenths of a second.",))


def test_other_phrasings_keep_the_meaning_and_are_always_the_same():
    question = "What is the start value of the guard timer T300?"

    assert short_intent(question, TOKENIZER).split()[-1].lower() == "t300"
    assert with_typo(question) == with_typo(question) != question
    assert sorted(with_typo(question)) == sorted(question)
    assert len(with_typo("随机接入过程有多少个步骤？")) == len("随机接入过程有多少个步骤？") - 1
    assert (with_typo("T1?"), short_intent("T1?", TOKENIZER)) == ("", "")
