import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.lexicon import LexiconEntry, TermLexicon
from ragcore.text.word_lists import read_lines
from ragcore.understanding import rewriting_rules as rules
from ragcore.understanding.lexicon import DataLexicon, LexiconChain, lexicon_names
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


ENGLISH = [
    "How does a gNB respond to a random access preamble?",
    "How long is the response window of the device?",
    "How do devices respond in the response window?",
    "Which policies apply to business trips of employees?",
    "Why are the batteries of the cabinets discharging so quickly?",
    "Which necessary utilities are missing at the premises?",
    "What causes the interferences between neighbouring cells?",
    "How do I configure mobility policies on an eNodeB in LTE?",
    "What happens to queued messages when a service is resumed?",
    "Who approves expenses for training courses?",
    "Are warranties transferable between companies?",
    "policies for business trips",
    "How many days of annual leave do employees get?",
    "How is the UE identity verified by the AMF during registration?",
]
CHINESE = [
    "基站在5G中如何分配波束?",
    "5G 基站的时延是多少",
    "LTE 中基站做什么",
    "CA证书怎么申请",
    "gNB 和 eNB 有什么区别",
    "请问一下 年假怎么请",
    "终端的 devices 列表怎么导出",
    "RACH 与 PRACH 的关系",
    "  CA 是什么 ",
    "如何申请年假",
    "SA和NSA有什么区别",
    "5G 基站 responses 超时的原因",
    "它的时延呢",
]


def every_form(query):
    made = [
        rules.multi(query, tokenizer(), LEXICON),
        rules.expand(query, tokenizer(), LEXICON),
        rules.full_forms(query, tokenizer(), LEXICON),
        rules.variants(query, tokenizer(), LEXICON),
        rules.step_back(query, tokenizer()),
        rules.decompose(query, tokenizer()),
        rules.simplify(query),
        rules.clarify(query, tokenizer(), LEXICON),
        rules.domain(query, tokenizer(), LEXICON),
    ]
    assert all(len(forms) <= 3 for forms in made)
    return [form for forms in made for form in forms]


def latin_words(text):
    return set(re.findall(r"[A-Za-z]+", text.lower()))


@pytest.mark.parametrize("query", [*ENGLISH, *CHINESE])
def test_forms_have_real_words_single_spaces_and_are_not_the_question(query):
    """Every Latin word stands in the question, in the lexicon or in the phrases that rules add: stems do not."""
    lists = [*read_lines("ragcore.understanding", "phrasing.txt"), *lexicon_names(), "what is are a an the"]
    known = latin_words(query) | latin_words(" ".join(lists))
    forms = every_form(query)

    assert forms
    for form in forms:
        assert latin_words(form) <= known
        assert form == form.strip()
        assert "  " not in form
        assert form.casefold() != query.strip().casefold()


@pytest.mark.parametrize(
    "query", ["devices respond", "policies and batteries", "responses 超时", "necessary utilities"]
)
def test_keywords_are_searched_with_as_they_are_written(query):
    forms = rules.multi(query, tokenizer(), None)

    assert forms
    assert not latin_words(" ".join(forms)) & {"devic", "respons", "polici", "batteri", "necessari", "util"}


OF_LTE, OF_NR, OF_UMTS = (
    {"enodeb", "enb", "lte", "4g"},
    {"gnodeb", "gnb", "nr", "5g"},
    {"node b", "nodeb", "umts", "3g"},
)


@pytest.mark.parametrize(
    ("query", "others"),
    [
        ("How does the base station answer a terminal in 5G?", OF_LTE | OF_UMTS),
        ("What does the base station do in NR?", OF_LTE | OF_UMTS),
        ("How does a gNB respond to a preamble?", OF_LTE | OF_UMTS),
        ("基站在5G中如何分配波束?", OF_LTE | OF_UMTS),
        ("5G 基站的时延是多少", OF_LTE | OF_UMTS),
        ("新空口的基站怎么配置", OF_LTE | OF_UMTS),
        ("What does the base station do in LTE?", OF_NR | OF_UMTS),
        ("4G base station power consumption", OF_NR | OF_UMTS),
        ("What is the eNodeB's role?", OF_NR | OF_UMTS),
        ("LTE 中基站做什么", OF_NR | OF_UMTS),
        ("eNB 的作用是什么", OF_NR | OF_UMTS),
        ("长期演进的基站怎么重启", OF_NR | OF_UMTS),
        ("How is a Node B connected in UMTS?", OF_NR | OF_LTE),
        ("How do I restart the base station?", OF_NR | OF_LTE | OF_UMTS),
        ("基站怎么重启", OF_NR | OF_LTE | OF_UMTS),
    ],
)
def test_no_name_of_another_generation_is_a_synonym(query, others):
    lexicon = LexiconChain([DataLexicon([("base station", "eNodeB", "gNodeB", "Node B")]), LEXICON])
    forms = [*every_form(query), *rules.expand(query, tokenizer(), lexicon), *rules.domain(query, tokenizer(), lexicon)]

    assert forms
    for form in forms:
        names = re.findall(r"(?<![a-z0-9])(?:node b|[a-z0-9]+)", form.lower())
        assert not set(names) & others


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("What does the base station do in LTE?", "eNodeB"),
        ("What does the base station do in 5G?", "gNodeB"),
        ("How does a gNB respond?", "base station"),
        ("gNB 怎么重启", "基站"),
    ],
)
def test_names_of_the_generation_and_wider_ones_are_synonyms(query, name):
    assert any(name in form for form in rules.expand(query, tokenizer(), LEXICON))


@pytest.mark.parametrize(
    ("query", "forms"),
    [
        ("gNB 和 eNB 有什么区别", ["gNodeB 和 eNodeB 有什么区别"]),
        (
            "What is the difference between a gNB and an eNB?",
            ["What is the difference between a gNodeB and an eNodeB?"],
        ),
        ("What is CA (carrier aggregation)?", []),
        ("时延和延迟有什么区别", []),
        ("Is a wage the same as salary or pay?", []),
    ],
)
def test_two_things_never_get_the_same_name(query, forms):
    assert rules.expand(query, tokenizer(), LEXICON) == forms


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("How do I renew a CA certificate?", "How do I renew a certificate authority certificate?"),
        ("CA证书怎么申请", "证书颁发机构证书怎么申请"),
        ("Which carrier does CA add?", "Which carrier does carrier aggregation add?"),
        ("CA 的主载波是什么", "载波聚合的主载波是什么"),
        ("What is CA?", "What is carrier aggregation?"),
        ("CA 是什么", "载波聚合是什么"),
    ],
)
def test_an_abbreviation_of_two_things_means_the_one_that_the_question_speaks_of(query, form):
    assert rules.full_forms(query, tokenizer(), LEXICON) == [form]


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("How does a base station in LTE start?", "How does an eNodeB in long term evolution start?"),
        ("What does an RRU do?", "What does a remote radio unit do?"),
        ("What does a UE send?", "What does a user equipment send?"),
        ("Who calls an API?", "Who calls an application programming interface?"),
        ("How does a handover start?", "How does an HO start?"),
    ],
)
def test_the_article_fits_the_name_behind_it(query, form):
    assert rules.expand(query, tokenizer(), LEXICON)[0] == form


@pytest.mark.parametrize(
    ("query", "form"),
    [("policies for business trips", "What are policies for business trips?"), ("它的时延呢", "它的时延是什么")],
)
def test_a_bare_topic_becomes_a_question_that_people_would_ask(query, form):
    assert rules.clarify(query, tokenizer(), None) == [form]


def test_a_question_about_what_something_does_is_no_assertion_about_a_thing():
    assert rules.hypothetical("What does the base station do in NR?") == ""
    assert rules.hypothetical("  CA 是什么 ") == "CA 是指"


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


@pytest.mark.parametrize(
    "query",
    [
        "频谱分析仪怎么用",
        "频谱分配方式有哪些",
        "基站天线的增益",
        "切换失败率是多少",
        "How do I use a spectrum analyzer?",
        "What is the handover failure rate?",
        "What does a base station antenna weigh?",
    ],
)
def test_a_part_of_a_compound_keeps_its_language(query):
    forms = [*rules.expand(query, tokenizer(), LEXICON), *rules.multi(query, tokenizer(), LEXICON)]

    for form in forms:
        assert not re.search("[a-z]{3}[\u4e00-\u9fff]", form), form
        assert query.isascii() == form.isascii(), form


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("频谱是什么", "spectrum是什么"),
        ("频谱的分配方式是什么", "spectrum的分配方式是什么"),
        ("什么是频谱", "什么是spectrum"),
        ("基站切换流程", "base station handover流程"),
        ("RACH过程是什么", "随机接入信道过程是什么"),
        ("切换失败率是多少", "HO失败率是多少"),
    ],
)
def test_a_whole_term_gets_its_other_name(query, form):
    assert form in rules.expand(query, tokenizer(), LEXICON)
