import re
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.word_lists import read_cues
from ragcore.understanding.analysis import (
    analyse_by_rules,
    analyse_question,
    choose_strategy,
    compute_complexity,
    count_relations,
    extract_features,
    written_words,
)
from tests.ragcore.grading.world import USELESS, model_server, says, tokenizer

MODEL = (
    'Sure: {"type": "multi_hop", "complexity": 8, "cue": "process", "target": "object", '
    '"several_sources": true, "time": false, "calculation": true, "needs_retrieval": false}'
)


def rules(text):
    return analyse_by_rules(text, history=(), tokenizer=tokenizer())


# ── complexity ──


def test_complexity_by_hand():
    # what, is, the, random, access, procedure: 30 characters; is + its object + two compounds; one question word
    found = compute_complexity("What is the random access procedure?", tokenizer())

    assert found.word_length == pytest.approx(30 / 6)
    assert (found.relations, found.question_words) == (4, 1)
    assert found.value == pytest.approx(0.3 * 5 / 7 + 0.4 * 4 / 10 + 0.3 * 1 / 3)


def test_complexity_of_a_chinese_question_by_hand():
    words = written_words("终端在小区中如何发送前导码？", tokenizer())
    found = compute_complexity("终端在小区中如何发送前导码？", tokenizer())

    assert found.word_length == pytest.approx(sum(map(len, words)) / len(words))
    assert found.question_words == 1
    assert found.relations >= 3  # 在, 发送, its object


@pytest.mark.parametrize(
    ("words", "count"),
    [("", 0), ("random", 0), ("random access", 1), ("access of cells", 1), ("terminals send preambles", 2)],
)
def test_relations_of_short_texts(words, count):
    assert count_relations(words.split()) == count


def test_identifiers_count_as_written_and_chinese_runs_as_the_tokenizer_cuts_them():
    assert written_words("What is TS-38.331?", tokenizer()) == ["what", "is", "ts-38.331"]
    assert written_words("载波聚合", tokenizer()) == tokenizer().words("载波聚合")


@given(st.text(max_size=200))
def test_complexity_is_between_0_and_1_for_any_text(text):
    assert 0 <= compute_complexity(text, tokenizer()).value <= 1


# ── kinds, flags and strategy ──

KINDS = [
    ("What is PRACH?", "simple_fact", "direct"),
    ("何时发布了第15版？", "simple_fact", "direct"),
    ("Who is the mother of the director of the film Fargo?", "multi_hop", "iterative"),
    ("《三体》的作者的母校是哪所大学？", "multi_hop", "iterative"),
    ("Where was the composer of the song Yesterday born?", "multi_hop", "iterative"),
    ("What is the difference between FDD and TDD?", "comparison", "hybrid"),
    ("Which magazine was founded first, Nature or Science?", "comparison", "hybrid"),
    ("5G和4G哪个的时延更低？", "comparison", "hybrid"),
    ("甲公司和乙公司的净利润哪家公司更高？", "comparison", "hybrid"),
    ("List all handover types.", "aggregation", "hybrid"),
    ("随机接入有哪些步骤？", "aggregation", "hybrid"),
    ("总结一下切换流程的主要步骤", "aggregation", "hybrid"),
    ("Give me recommendations for planning a network", "open_ended", "hybrid"),
    ("你认为网络的发展趋势如何？", "open_ended", None),
    ("为什么载波聚合可以提高速率？", "complex_reasoning", None),
    ("What happens if the random access response is not received within the window?", "complex_reasoning", None),
]


@pytest.mark.parametrize(("question", "kind", "strategy"), KINDS)
def test_kind_and_strategy(question, kind, strategy):
    found = rules(question)

    assert found.kind == kind
    assert strategy in (None, found.strategy)
    assert f"kind:{kind}" in found.reasons


def test_a_long_question_for_causes_is_taken_apart():
    found = rules(
        "Why and how does the configuration of the random access preamble format in a cell with a large radius affect "
        "the interference between neighbouring cells, and which parameters of the network should be changed?"
    )

    assert found.kind == "complex_reasoning"
    assert found.difficulty >= 7
    assert found.strategy == "decomposition"


@pytest.mark.parametrize(
    ("kind", "difficulty", "strategy"),
    [
        ("simple_fact", 3, "direct"),
        ("complex_reasoning", 3, "direct"),
        ("complex_reasoning", 4, "hybrid"),
        ("complex_reasoning", 6, "hyde"),
        ("open_ended", 7, "decomposition"),
        ("multi_hop", 10, "iterative"),
        ("comparison", 8, "hybrid"),
        ("aggregation", 4, "hybrid"),
    ],
)
def test_strategy_by_kind_and_difficulty(kind, difficulty, strategy):
    assert choose_strategy(kind, difficulty) == strategy


def test_flags():
    assert rules("When was release 15 frozen?").time
    assert rules("2021年的净利润是多少？").time
    assert rules("Calculate the growth rate of the revenue").calculation
    assert rules("甲公司与乙公司的营收相比如何？").several_sources
    plain = rules("What is PRACH?")
    assert (plain.time, plain.calculation, plain.several_sources) == (False, False, False)


def test_bare_names_are_no_sign_of_several_steps():
    assert (
        extract_features("Who was the first chair of the International Panel on Climate Change?").kind == "simple_fact"
    )
    assert extract_features("立陶宛大公国的首都位于何处？").kind == "simple_fact"


@given(st.text(max_size=120))
def test_whatever_is_asked_the_analysis_agrees_with_itself(text):
    found = rules(text)

    assert 1 <= found.difficulty <= 10
    assert (found.strategy == "direct") == (found.difficulty <= 3)
    assert found == rules(text)


# ── target ──


@pytest.mark.parametrize(
    ("question", "target"),
    [
        ("Who wrote Hamlet?", "subject"),
        ("What is PRACH?", "type"),
        ("什么是载波聚合？", "subject"),
        ("What does the UE send?", "object"),
        ("Who is the leader of Belgium?", "subject"),
        ("Where is Amsterdam Airport located?", "object"),
        ("What is the capital of France?", "subject"),
        ("法国的首都是哪里？", "subject"),
        ("基站发送什么？", "object"),
        ("What is the relationship between AMF and SMF?", "relationship"),
        ("AMF和SMF有什么关系？", "relationship"),
        ("What type of message is sent?", "type"),
        ("这是什么类型的消息？", "type"),
    ],
)
def test_which_part_of_a_fact_is_asked_for(question, target):
    assert rules(question).target == target


# ── with a language model ──


async def ask(text, *replies, **default):
    with model_server(*replies, **default) as (server, client):
        return await analyse_question(text, tokenizer=tokenizer(), llm=client), server.requests


async def test_a_models_analysis_is_taken_and_complexity_stays_the_formulas():
    question = "How is the beam of the antenna that serves the terminal chosen?"

    found, requests = await ask(question, says(MODEL))

    assert (found.kind, found.difficulty, found.strategy, found.by) == ("multi_hop", 8, "iterative", "model")
    assert (found.cue, found.target, found.calculation) == ("process", "object", True)
    assert found.complexity == rules(question).complexity
    assert found.needs_retrieval  # a technical question needs the documents, whatever the model says
    assert len(requests) == 1


async def test_a_model_may_recognise_talk_about_the_conversation():
    found, _ = await ask("What was it that I asked you at the beginning?", says(MODEL))

    assert not found.needs_retrieval


async def test_no_model_is_asked_about_a_greeting():
    found, requests = await ask("你好！", says(MODEL))

    assert (found.needs_retrieval, found.by, requests) == (False, "rules", [])


@pytest.mark.parametrize("reply", USELESS.values(), ids=USELESS)
async def test_rules_analyse_where_the_model_says_nothing_valid(reply):
    found, _ = await ask("What is PRACH?", default=reply)

    assert asdict(found) == asdict(rules("What is PRACH?"))


def test_the_word_lists_have_both_languages_and_no_entry_twice():
    for name, section in read_cues("ragcore.understanding", "analysis_words.txt").items():
        latin = [entry for entry in section.entries if entry.isascii()]
        if name != "particles":
            assert latin, name
        assert len(latin) < len(section.entries), name
        assert all(re.search(section.pattern, entry) for entry in section.entries), name
