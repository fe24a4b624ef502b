"""Which facts answer a question, and which only resemble it."""

import pytest

from ragcore.graph.stating import facts_stating
from ragcore.text.fact_question import kind_of_question
from tests.ragcore.graph.facts import FACTS, search_in, tokenizer, triple

MORE = (
    *FACTS,
    triple("Belgium | leaderName | Elio Di Rupo"),
    triple("Ada Lovelace | birthDate | 1815-12-10"),
    triple("Ada Lovelace | birthPlace | London"),
    triple("Ada Lovelace | spouse | William King"),
    triple("Paris | mayor | Anne Hidalgo", object_type="Person"),
    triple("Ghent | population | 262219"),
    triple("RedCap device | maximum bandwidth | 20 MHz"),
    triple("根特 | 人口 | 262219"),
    triple("比利时 | 领导人 | 夏尔·米歇尔"),
    triple("Orion gateway | is a | router"),
    triple("载波聚合 | 标准 | TS 36.300"),
    triple("Schiphol | runways | 6", subject_type="Airport"),
)


def stated(question, facts=MORE, prompt_type=None):
    kind = kind_of_question(question, prompt_type)
    triples = search_in(facts).search(question, kind=kind, n_results=20)
    return [fact.answer for fact in facts_stating(question, kind, triples, tokenizer=tokenizer())]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Who is the leader of Belgium?", ["Charles Michel", "Elio Di Rupo"]),
        ("Who leads Belgium?", ["Charles Michel", "Elio Di Rupo"]),
        ("What is the capital of Belgium?", ["Brussels"]),
        ("Where is Amsterdam Airport Schiphol located?", ["Haarlemmermeer"]),
        ("When was Ada Lovelace born?", ["1815-12-10"]),
        ("Where was Ada Lovelace born?", ["London"]),
        ("Who is the husband of Ada Lovelace?", ["William King"]),
        ("What is the population of Ghent?", ["262219"]),
        ("What is the maximum bandwidth of a RedCap device?", ["20 MHz"]),
        ("根特的人口是多少？", ["262219"]),
        ("载波聚合的标准是什么？", ["TS 36.300"]),
        ("比利时的领导人是谁？", ["夏尔·米歇尔"]),
        ("谁是比利时的领导人？", ["夏尔·米歇尔"]),
        ("What is Orion gateway?", ["router"]),
        ("What type of entity is Amsterdam Airport Schiphol?", ["airport"]),
        ("What is the relationship between Belgium and Brussels?", ["capital"]),
    ],
)
def test_a_fact_that_says_all_that_is_asked_answers(question, answers):
    assert sorted(stated(question)) == sorted(answers)


@pytest.mark.parametrize(
    "question",
    [
        "Who was the leader of Belgium in 1990?",
        "Why is Charles Michel the leader of Belgium?",
        "How is the leader of Belgium elected?",
        "Is Charles Michel the leader of Belgium?",
        "Who is not the leader of Belgium?",
        "Who is the king of Paris?",
        "What is the maximum bandwidth of a RedCap device in FR2?",
        "What is the bandwidth of a base station?",
        "Who is the leader of Belgium and France?",
        "Which documents mention Belgium?",
        "When was Belgium founded?",
        "When was Charles Michel born?",
        "根特的面积是多少？",
        "载波聚合的最新标准是什么？",
        "载波聚合最多支持多少个载波？",
        "为什么根特的人口是262219？",
        "What is Schiphol?",  # whose type is known, and nothing that it is
        "leader",
        "",
    ],
)
def test_a_fact_that_leaves_something_open_does_not(question):
    assert stated(question) == []


def test_what_is_asked_for_can_be_given():
    assert stated("Amsterdam Airport Schiphol", prompt_type="type") == ["airport"]
    assert stated("Amsterdam Airport Schiphol", prompt_type="object") == []
