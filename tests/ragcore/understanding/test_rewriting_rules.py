import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.lexicon import LexiconEntry, TermLexicon
from ragcore.understanding import rewriting_rules as rules
from ragcore.understanding.lexicon import DataLexicon
from tests.ragcore.understanding.stage_ports import tokenizer

LEXICON = DataLexicon()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("CA 是什么", ["载波聚合是什么"]),
        ("What does RSRP mean?", ["What does reference signal received power mean?"]),
        ("载波聚合是什么", []),
    ],
)
def test_abbreviations_are_written_out_in_the_language_of_the_question(query, expected):
    assert rules.full_forms(query, tokenizer(), LEXICON) == expected


def test_a_term_has_at_most_two_neighbours():
    found = rules.expand("How do I configure the VPN?", tokenizer(), LEXICON)

    assert found == ["How do I configure the virtual private network?", "How do I configure the 虚拟专用网络?"]


@pytest.fixture(scope="module")
def usual_words():
    """Abbreviations that are usual words, most of them of TR 21.905."""
    long_forms = {
        "AS": "Access Stratum",
        "IN": "Intelligent Network",
        "IS": "Interface Specification",
        "IT": "Information Technology",
        "TO": "Telecom Operations Map",
        "OR": "Optimal Routeing",
        "CAN": "Controller Area Network",
    }
    return TermLexicon.of((LexiconEntry(text=at, long_form=name) for at, name in long_forms.items()), tokenizer())


@pytest.mark.parametrize(
    "query",
    [
        "What is the procedure in order to release the connection?",
        "How many cans are in it?",
        "WHAT IS THE PROCEDURE IN ORDER TO RELEASE IT",
    ],
)
def test_usual_words_are_no_abbreviations(usual_words, query):
    for form in (rules.expand, rules.other_names, rules.domain, rules.full_forms):
        assert form(query, tokenizer(), usual_words) == []
    for form in (rules.multi, rules.variants, rules.clarify):
        assert form(query, tokenizer(), usual_words) == form(query, tokenizer(), None)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How is the AS set up as it is?", "How is the Access Stratum set up as it is?"),
        ("AS是什么", "Access Stratum是什么"),
        ("IT 部门的 VPN 怎么用", "Information Technology 部门的 VPN 怎么用"),
    ],
)
def test_usual_words_in_capitals_are_abbreviations(usual_words, query, expected):
    assert rules.expand(query, tokenizer(), usual_words) == [expected]


def test_a_definition_is_searched_with_its_concept_and_its_principle():
    assert rules.variants("随机接入是什么", tokenizer(), None) == [
        "随机接入 定义 概念 基础",
        "随机接入 工作原理 技术细节",
    ]
    assert rules.variants("What is beamforming?", tokenizer(), None) == [
        "beamforming definition concept basics",
        "beamforming how it works technical details",
    ]
    assert rules.variants("How do I reset the unit?", tokenizer(), None) == []


def test_two_other_forms_at_most():
    found = rules.multi("CA 是什么", tokenizer(), LEXICON)

    assert found == ["CA 定义 概念 基础", "载波聚合是什么"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("载波聚合和双连接有什么区别", ["载波聚合是什么", "双连接是什么"]),
        ("What is the difference between TDD and FDD?", ["What is TDD?", "What is FDD?"]),
        ("随机接入是什么？有什么关键技术？", ["随机接入是什么？", "随机接入有什么关键技术？"]),
        ("How does the fan fail and what does it cost?", ["How does the fan fail?", "What does the fan cost?"]),
        ("基站、天线和电源的价格是多少", ["基站的价格是多少", "天线的价格是多少", "电源的价格是多少"]),
        ("随机接入是什么", []),
        ("What is the price and the size of the unit?", []),
    ],
)
def test_questions_of_several_parts_are_taken_apart_and_the_parts_stand_alone(query, expected):
    assert rules.decompose(query, tokenizer()) == expected


def test_a_step_back_leaves_single_numbers_and_names_the_background():
    assert rules.step_back("小区 12 的随机接入为什么失败", tokenizer())[0].endswith("概述 原理 背景")
    found = rules.step_back("Why does handover fail on B3 in 2023?", tokenizer())

    assert found == ["handover overview principles background"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("请问一下，能不能告诉我年假怎么申请", ["年假怎么申请"]),
        ("Could you please tell me how to reset the unit (the blue one)?", ["how to reset the unit ?"]),
        ("年假怎么申请", []),
    ],
)
def test_courtesies_and_asides_are_left_out(query, expected):
    assert rules.simplify(query) == expected


def test_what_is_short_is_made_clear():
    assert rules.clarify("RSRP", tokenizer(), LEXICON) == ["What is RSRP (reference signal received power)?"]
    assert rules.clarify("随机接入", tokenizer(), LEXICON) == ["随机接入是什么"]
    assert rules.clarify("如何配置VPN", tokenizer(), LEXICON) == ["如何配置VPN（虚拟专用网络）"]


def test_the_words_of_the_field_are_the_usual_names():
    lexicon = DataLexicon([("annual leave", "holidays", "vacation days")])

    assert rules.domain("How many vacation days do I have?", tokenizer(), lexicon) == [
        "How many annual leave do I have?"
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("随机接入是什么？", "随机接入是指"),
        ("如何配置VPN", "配置VPN的方法是"),
        ("随机接入为什么失败", "随机接入失败的原因是"),
        ("What is beamforming?", "beamforming is"),
        ("How does handover work?", "handover works by"),
        ("How do I reset the unit?", "To reset the unit,"),
        ("When was the BX300 released?", "the BX300 released on"),
        ("beamforming", ""),
    ],
)
def test_a_question_becomes_the_beginning_of_its_answer(query, expected):
    assert rules.hypothetical(query) == expected


@given(query=st.text(max_size=80))
def test_rules_never_fail_and_never_return_the_question_or_nothing(query):
    found = [
        *rules.multi(query, tokenizer(), LEXICON),
        *rules.expand(query, tokenizer(), LEXICON),
        *rules.variants(query, tokenizer(), LEXICON),
        *rules.decompose(query, tokenizer()),
        *rules.step_back(query, tokenizer()),
        *rules.simplify(query),
        *rules.clarify(query, tokenizer(), LEXICON),
        *rules.domain(query, tokenizer(), LEXICON),
        *rules.full_forms(query, tokenizer(), LEXICON),
    ]

    assert all(text.strip() and text.strip().lower() != query.strip().lower() for text in found)
    assert isinstance(rules.hypothetical(query), str)
