import json

import pytest

from ragcore.graph.rewriting import retrieve_and_rewrite, rewrite_by_model
from ragcore.graph.triples import relation_words, sentence, verbalise
from tests.ragcore.grading.world import model_server, says
from tests.ragcore.graph.facts import search_in, triple


def ask(question, **given):
    return retrieve_and_rewrite(search_in(), question, **given)


@pytest.mark.parametrize(
    ("question", "kind", "answer"),
    [
        ("Who is the leader of Belgium?", "subject", "Charles Michel"),
        ("Where is Amsterdam Airport Schiphol located?", "object", "Haarlemmermeer"),
        (
            "What is the relationship between Amsterdam Airport Schiphol and Haarlemmermeer?",
            "relationship",
            "location",
        ),
        ("What type of entity is Amsterdam Airport Schiphol?", "type", "airport"),
        ("随机接入属于哪里？", "object", "MAC 层"),
        ("随机接入是什么类型的实体？", "type", "过程"),
    ],
)
def test_each_kind_of_question_gets_its_chain_and_its_answer(question, kind, answer):
    found = ask(question)

    assert found.kind.kind == kind
    assert found.chain.answers[0] == answer
    assert [step.name for step in found.chain.steps] == [
        "reason_1",
        "knowledge_1",
        "reason_2",
        "knowledge_2",
        "reason_3",
    ]
    assert answer in found.chain.steps[-1].text


def test_the_chain_is_in_the_language_of_the_question_or_in_the_one_asked_for():
    assert ask("谁是 Belgium 的领导人？").chain.text.startswith("推理 1: 问题询问")
    assert ask("Who is the leader of Belgium?").chain.text.startswith("Reason 1: The question asks")
    assert ask("Who is the leader of Belgium?", language="zh").chain.text.startswith("推理 1")


def test_every_score_is_given_and_the_last_stage_can_be_switched_off():
    best = ask("Who is the leader of Belgium?").triples[0]
    plain = ask("Who is the leader of Belgium?", use_reranking=False).triples

    assert {"entity", "relation", "type", "semantic"} <= set(best.detailed_scores)
    assert best.final_score == best.rerank_score
    assert 0 <= best.stage1_score <= 1
    assert all(t.rerank_score is None and t.final_score == t.stage1_score for t in plain)
    assert [t.stage1_score for t in plain] == sorted((t.stage1_score for t in plain), reverse=True)


def test_the_fixed_weights_are_those_of_the_four_signals():
    best = ask("Who is the leader of Belgium?", weights="fixed").triples[0]
    signals = best.detailed_scores

    assert best.final_score == pytest.approx(
        0.3 * signals["entity"] + 0.25 * signals["relation"] + 0.2 * signals["type"] + 0.25 * signals["semantic"]
    )
    assert best.triple.object == "Charles Michel"


def test_a_store_without_triples_answers_nothing_and_so_does_an_empty_question():
    nothing = retrieve_and_rewrite(search_in(()), "Who leads Belgium?")

    assert (nothing.triples, nothing.chain.steps, nothing.chain.answers) == ((), (), ())
    assert ask("   ").triples == ()


@pytest.mark.parametrize(("asked_for", "given"), [(0, 1), (3, 3), (10_000, 50)])
def test_the_number_of_results_is_bounded(asked_for, given):
    assert len(ask("leader of Belgium", n_results=asked_for).triples) == min(given, 10)


async def test_a_model_writes_the_reasons_but_not_the_facts():
    written = {
        "reason_1": "We look for the head of Belgium.",
        "knowledge_1": [1, 2],
        "reason_2": "leaderName matters.",
        "knowledge_2": [1],
        "reason_3": "It is Charles Michel.",
        "answer": "Charles Michel",
    }
    with model_server(default=says(json.dumps(written))) as (_, client):
        told = await rewrite_by_model(ask("Who is the leader of Belgium?"), client)

    assert told.chain.by == "model"
    assert told.chain.steps[0].text == "We look for the head of Belgium."
    assert told.chain.steps[3].text == "The leader name of Belgium is Charles Michel."
    assert told.chain.answers == ("Charles Michel",)


@pytest.mark.parametrize(
    "reply",
    [
        "I cannot help.",
        '{"reason_1":"a","knowledge_1":[1],"reason_2":"b","knowledge_2":[1],"reason_3":"c","answer":"Napoleon"}',
        '{"reason_1":"a","knowledge_1":[99],"reason_2":"b","knowledge_2":[1],"reason_3":"c","answer":""}',
    ],
)
async def test_a_model_that_fails_or_invents_is_replaced_by_the_rules(reply):
    by_rules = ask("Who is the leader of Belgium?")

    with model_server(default=says(reply)) as (_, client):
        told = await rewrite_by_model(by_rules, client)

    assert told.chain == by_rules.chain


def test_names_are_read_as_words():
    fact = triple("http://dbpedia.org/resource/Aarhus_Airport | isPartOfMilitaryConflict | lew_cody")

    assert relation_words(fact.relation) == "is part of military conflict"
    assert verbalise(fact) == "Aarhus Airport is part of military conflict lew cody"
    assert sentence(triple("A | capital | B")) == "The capital of A is B."
    assert sentence(triple("甲 | 首都 | 乙"), "zh") == "甲的首都是乙。"
    assert sentence(triple("甲 | 位于 | 乙"), "zh") == "甲位于乙。"
