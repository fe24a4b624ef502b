"""The property whose value a question asks for."""

import pytest

from ragcore.text.asked_property import asked_column, asked_property, asked_support, speaks_of
from ragcore.text.tokenise import JiebaTokenizer

CHINESE = {
    "warranty": {"保修": 1.0},
    "price": {"价格": 1.0},
    "allowance": {"津贴": 1.0, "补贴": 1.0},
}
ENGLISH = {"保修": [{"warranti"}], "价格": [{"price"}, {"cost"}], "津贴": [{"allow"}], "allow": [{"allow"}]}


class Words:
    """A dictionary of a few words."""

    def translations(self, word):
        return {"allow": CHINESE["allowance"], "cost": {"价格": 1.0}, **CHINESE}.get(word, {})

    def meanings(self, word):
        return [frozenset(one) for one in ENGLISH.get(word, ())]


TOKENIZER = JiebaTokenizer(glossary=Words())


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("what is the warranty period for the cargo rack", "warranty"),
        ("What is the price of part P10?", "price"),
        ("what are the rules for parking", ""),
        ("what is the name of the manager", ""),
        ("what is a pump", ""),
        ("what is the seventh step of changing the pump", ""),
        ("who paints the mast", ""),
        ("夜班津贴一天多少钱", "津贴"),
        ("出差每天补多少", ""),
        ("员工每月多少人", ""),
        ("", ""),
    ],
)
def test_a_question_for_a_value_names_its_property(question, asked):
    assert asked_property(question) == asked


@pytest.mark.parametrize(
    ("text", "word", "is_told"),
    [
        ("Check the rack for cracks.", "warranty", False),
        ("The warranties end in May.", "warranty", True),
        ("车架保修 5 年", "warranty", True),
        ("The cost is 5 EUR.", "price", True),  # means the same
        ("早班 6:00 至 14:30", "津贴", False),
        ("补贴 100 元", "津贴", True),
        ("An allowance of 5 EUR", "津贴", True),
        ("早班 6:00 至 14:30", "未知词", True),  # the dictionary does not know it
    ],
)
def test_a_text_speaks_of_it_in_its_own_words_in_others_and_in_the_other_language(text, word, is_told):
    assert speaks_of(text, word, TOKENIZER) is is_told


def test_without_a_dictionary_nothing_is_denied():
    assert speaks_of("Check the rack.", "warranty", JiebaTokenizer())


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ("payment terms of Lindt & Co", "payment"),
        ("MTBF of the P10", "mtbf"),
        ("What is the warranty of the pump?", "warranty"),
        ("昇辉的交期几周", "交期"),
        ("price for partners", "price"),
        ("length of the cable", ""),  # a figure with its unit tells it
        ("什么是交期", ""),
        ("who is the owner of the pump", ""),
        ("pumps", ""),
    ],
)
def test_a_question_for_a_value_of_a_thing_names_the_column_of_a_table(question, column):
    assert asked_column(question, TOKENIZER) == column


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("does the client run on Linux?", "Linux"),
        ("is the pump compatible with glycol", "glycol"),
        ("can it work with the P10", "P10"),
        ("这个控制器支持摄像头吗？", "摄像头"),
        ("P10支持SNMP吗", "SNMP"),
        ("who supports the pump", ""),
        ("支持的有哪些", ""),
        ("does it run", ""),
    ],
)
def test_what_a_thing_is_asked_to_work_with(question, thing):
    assert asked_support(question) == thing


def test_a_record_says_an_unknown_chinese_word_only_by_some_of_its_characters():
    assert speaks_of("名称：齿轮泵 · 交货周期：4 周", "交期", TOKENIZER, is_record=True)
    assert not speaks_of("名称：齿轮泵 · 单价：4 元", "交期", TOKENIZER, is_record=True)
