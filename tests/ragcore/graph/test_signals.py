"""The four signals of the second stage by hand, and the weights that they are switched to."""

import pytest

from ragcore.graph.features import QuestionOfFacts, entity_signal, relation_signal, type_signal
from ragcore.graph.retrieval import SignalWeights
from ragcore.text.fact_question import kind_of_question
from tests.ragcore.graph.facts import search_in, tokenizer, triple

BELGIUM = triple("Belgium | leader | Charles Michel")
AIRPORT = triple("Amsterdam Airport | location | Haarlemmermeer", subject_type="Airport", object_type="Place")


@pytest.mark.parametrize(
    ("rest", "relation", "signal"),
    [
        ("leader", "leader", 0.8),  # the same word, and one of its meaning: one keyword
        ("leader", "leaderName", 0.8),
        ("president", "leader", 0.8),
        ("located", "location", 0.8),
        ("founded leader", "leader", 0.8),
        ("maximum bandwidth", "maximum bandwidth", 1.0),  # two keywords, capped
        ("bandwidth", "maximum bandwidth", 0.8),
        ("领导人", "领导人", 0.8),
        ("人口 多少", "人口", 0.8),
        ("capital", "leader", 0.0),
        ("", "leader", 0.0),
    ],
)
def test_a_keyword_of_the_relation_counts_once(rest, relation, signal):
    assert relation_signal(rest, relation, tokenizer()) == pytest.approx(signal)


@pytest.mark.parametrize(
    ("question", "fact", "signal"),
    [
        ("who is the leader of belgium?", BELGIUM, 0.5),
        ("where is amsterdam airport located?", AIRPORT, 0.5),  # "airport" stands in the name
        ("in which city is schiphol?", AIRPORT, 0.5),
        ("in which city and country is the airport?", AIRPORT, 1.0),
        ("when was belgium founded?", BELGIUM, 0.0),
        ("比利时的领导人是谁", BELGIUM, 0.5),
    ],
)
def test_each_keyword_of_a_type_counts_half(question, fact, signal):
    assert type_signal(question, fact) == pytest.approx(signal)


@pytest.mark.parametrize(
    ("question", "signal"),
    [
        ("Who is the leader of Belgium?", 0.6),  # subject 0.5, its one long word 0.1
        ("Is Charles Michel the leader of Belgium?", 1.0),  # both ends and three words, capped
        ("Who is called Michel?", 0.1),
        ("Who is it?", 0.0),
    ],
)
def test_named_ends_count_half_and_their_long_words_a_tenth(question, signal):
    asked = QuestionOfFacts(question, kind_of_question(question), tokenizer(), {})

    assert entity_signal(asked, BELGIUM) == pytest.approx(signal)


def test_fixed_weights_are_those_of_the_four_signals():
    question = "Who is the leader of Belgium?"

    [best, *_] = search_in().search(question, weights="fixed")

    detail = best.detailed_scores
    assert (detail["entity"], detail["relation"], detail["type"]) == pytest.approx((0.6, 0.8, 0.5))
    by_hand = 0.30 * 0.6 + 0.25 * 0.8 + 0.20 * 0.5 + 0.25 * detail["semantic"]
    assert best.final_score == best.rerank_score == pytest.approx(by_hand)
    weights = SignalWeights.shipped()
    assert (weights.entity, weights.relation, weights.type, weights.semantic) == (0.30, 0.25, 0.20, 0.25)


def test_weights_and_the_second_stage_are_switched_for_each_search():
    question = "Who is the leader of Belgium?"
    search = search_in()

    fixed, learned = search.search(question, weights="fixed"), search.search(question, weights="learned")
    plain = search.search(question, use_reranking=False)

    assert fixed[0].triple == learned[0].triple
    assert fixed[0].final_score != learned[0].final_score
    assert (plain[0].rerank_score, plain[0].detailed_scores) == (None, {})
    assert plain[0].final_score == plain[0].stage1_score
