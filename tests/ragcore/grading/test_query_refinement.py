import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.grading.passages import Coverage, PassageScores, compute_coverage
from ragcore.grading.query_refinement import STRATEGIES, refine_by_rules, refine_query, strategies_for, technical_terms
from tests.ragcore.grading.world import LIBRARY, QUESTION, USELESS, World, model_server, ranked, says, tokenizer

FOUND = [ranked(*LIBRARY[0], chunk=1), ranked(*LIBRARY[1], chunk=2)]
EVIDENCE = compute_coverage(QUESTION, FOUND, tokenizer())
FINE = {"relevance": 0.9, "completeness": 0.9, "accuracy": 0.9, "coherence": 0.9}


class Words:
    """A lexicon of one entry."""

    def alternatives(self, term):
        return ("RACH",) if term == "random" else ()


def by_rules(*strategies, question=QUESTION, found=FOUND, evidence=EVIDENCE, missing=(), used=(), **ports):
    world = World().ports(**ports)
    return refine_by_rules(
        question, strategies=strategies, ranked=found, evidence=evidence, missing=missing, used=used, ports=world
    )


async def by_model(client, used=(QUESTION,)):
    return await refine_query(
        QUESTION, QUESTION, strategies=("broaden_scope",), ranked=FOUND, missing=("window",), evidence=EVIDENCE,
        used=used, ports=World().ports(), llm=client,
    )  # fmt: skip


@pytest.mark.parametrize(("dimension", "strategy"), STRATEGIES.items())
def test_each_weak_dimension_fires_its_strategy(dimension, strategy):
    scores = PassageScores(**FINE | {dimension: 0.59}, by="model")

    assert strategies_for(scores, EVIDENCE) == (strategy,)


def test_several_weak_dimensions_fire_several_strategies():
    scores = PassageScores(**FINE | {"relevance": 0.1, "accuracy": 0.2}, by="model")

    assert strategies_for(scores, EVIDENCE) == ("add_specificity", "add_constraints")


def test_without_a_weak_dimension_the_evidence_decides():
    assert strategies_for(PassageScores(**FINE), Coverage(confidence=0.49)) == ("add_terms",)
    assert strategies_for(PassageScores(**FINE), Coverage(confidence=0.5)) == ("add_details",)


@pytest.mark.parametrize(("confidence", "strategy"), [(0.49, "add_terms"), (0.5, "add_details")])
def test_without_a_model_the_evidence_decides_besides_the_weak_dimensions(confidence, strategy):
    scores = PassageScores(**FINE | {"coherence": 0.2})

    assert strategies_for(scores, Coverage(confidence=confidence)) == ("restructure_query", strategy)


def test_terms_of_another_subject_that_shares_one_word_are_not_added():
    other = ranked("Alarms", "The alarm procedure of the PSU begins with the LED of the RRU.", chunk=7)

    terms = technical_terms(QUESTION, [*FOUND, other], tokenizer())

    assert "PRACH" in terms
    assert not {"PSU", "LED", "RRU"} & set(terms)
    assert technical_terms("turbine blades", FOUND, tokenizer()) == []


def test_specificity_adds_technical_terms_of_the_passages():
    query = by_rules("add_specificity")

    assert query.startswith(QUESTION)
    assert {"PRACH", "UE", "gNB"} <= set(query.split())


def test_a_broader_scope_leaves_out_what_narrows_and_adds_other_names_and_what_is_missing():
    query = by_rules(
        "broaden_scope",
        question="What exactly is the maximum random access delay?",
        missing=("delay budget",),
        lexicon=Words(),
    )

    assert "exactly" not in query
    assert "maximum" not in query
    assert "RACH" in query
    assert "delay budget" in query


def test_constraints_add_where_the_best_passage_stands_and_words_of_what_is_binding():
    found = [ranked("TS 38.321", "The random access procedure has steps.")]

    query = by_rules("add_constraints", found=found)

    assert "TS 38.321" in query
    assert "specified" in query


def test_restructuring_keeps_the_topic_only():
    assert by_rules("restructure_query") == "steps random access procedure"
    assert by_rules("restructure_query", question="载波聚合的原理是什么？") == "载波聚合 原理"


def test_details_add_words_in_the_language_of_the_question():
    query = by_rules(
        "add_details", question="载波聚合有什么参数？", evidence=Coverage(confidence=0.6, missing=("procedure",))
    )

    assert "步骤" in query
    assert "详细" in query
    assert not {"details", "procedure"} & set(query.split())


def test_strategies_combine():
    query = by_rules("add_specificity", "restructure_query")

    assert query.startswith("steps random access procedure")
    assert "PRACH" in query


def test_what_was_asked_already_is_not_asked_again():
    once = by_rules("add_specificity")

    assert by_rules("add_specificity", used=(once,)) is None


def test_technical_terms_come_from_passages_about_the_question():
    terms = technical_terms(
        QUESTION, [*FOUND, ranked("other", "The MME and the HSS are elsewhere.", chunk=9)], tokenizer()
    )

    assert "PRACH" in terms
    assert not {"MME", "HSS"} & set(terms)


async def test_a_models_query_is_taken_and_its_prompt_says_what_to_do():
    with model_server(says('{"query": "random access procedure steps and response window"}')) as (server, client):
        refined = await by_model(client)

    assert (refined.query, refined.by) == ("random access procedure steps and response window", "model")
    prompt = server.requests[0].body["messages"][0]["content"]
    assert "add synonyms" in prompt
    assert "Missing: window" in prompt


@pytest.mark.parametrize(
    "query",
    [QUESTION, "随机接入过程有几步", "best pizza in town", "x", "", "random " * 200],
    ids=["asked already", "other language", "other topic", "too short", "empty", "too long"],
)
async def test_a_models_query_is_checked(query):
    with model_server(says(f'{{"query": "{query}"}}')) as (_, client):
        refined = await by_model(client)

    assert refined.by == "rules"
    assert refined.query != QUESTION


@pytest.mark.parametrize("reply", USELESS.values(), ids=USELESS)
async def test_rules_refine_where_the_model_says_nothing_valid(reply):
    with model_server(default=reply) as (_, client):
        assert (await by_model(client)).by == "rules"


@given(strategies=st.lists(st.sampled_from([*STRATEGIES.values(), "add_terms", "add_details"]), min_size=1, max_size=4))
def test_a_refined_query_is_bounded_keeps_the_topic_and_is_new(strategies):
    query = by_rules(*strategies, used=(QUESTION,))

    assert query is None or (query != QUESTION and len(query) <= 500 and "random" in query.lower())
