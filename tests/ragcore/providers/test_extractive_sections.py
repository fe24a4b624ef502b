"""Sections that answer a question as they stand."""

import pytest

from ragcore.ports import GenerationRequest
from ragcore.providers.extractive import ExtractiveGenerator
from ragcore.providers.extractive_sections import section_answer
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

TOKENIZER = JiebaTokenizer()
TRIGGERS = """# Paging

## 1 When paging is triggered

Paging starts in these cases:

- Downlink data arrives.
- System information changes.

## 2 Paging channel

The channel carries paging messages.
"""
STEPS_ONE = """# 寻呼

## 3 两步寻呼

### 3.1 寻呼消息

核心网下发寻呼消息。
"""
STEPS_TWO = """### 3.2 寻呼响应

终端发起随机接入。

## 4 参数

无。
"""


def source(text, number=1, *, title="Paging", ordinal=0, version=1):
    passage = Passage(chunk=number, document=version, version=version, text=text, title=title, ordinal=ordinal)
    return Source(number=number, passage=passage, text=text, score=1.0)


def test_the_list_under_the_heading_that_asks_the_question_is_the_answer():
    answer = section_answer("When is paging triggered?", [source(TRIGGERS)], TOKENIZER)

    assert answer.intro == "Paging starts in these cases:"
    assert [text for text, _ in answer.items] == ["Downlink data arrives.", "System information changes."]


def test_steps_are_the_subsections_also_across_neighbouring_chunks():
    sources = [source(STEPS_ONE, 1, title="寻呼"), source(STEPS_TWO, 2, title="寻呼", ordinal=1)]

    answer = section_answer("两步寻呼有哪些步骤？", sources, TOKENIZER)

    assert [(text, s.number) for text, s in answer.items] == [
        ("**寻呼消息** 核心网下发寻呼消息。", 1),
        ("**寻呼响应** 终端发起随机接入。", 2),
    ]


def test_chunks_that_are_no_neighbours_are_not_joined():
    sources = [source(STEPS_ONE, 1, title="寻呼"), source(STEPS_TWO, 2, title="寻呼", ordinal=5)]

    assert section_answer("两步寻呼有哪些步骤？", sources, TOKENIZER) is None


@pytest.mark.parametrize(
    "question",
    ["Who invented paging?", "How large is the paging channel?", "When is handover triggered?", "???", ""],
)
def test_a_heading_that_lacks_a_word_of_the_question_is_no_answer(question):
    assert section_answer(question, [source(TRIGGERS)], TOKENIZER) is None


def test_a_section_without_a_list_is_left_to_the_choice_of_sentences():
    assert section_answer("Paging channel", [source(TRIGGERS)], TOKENIZER) is None


def test_every_point_of_the_answer_carries_its_marker():
    request = GenerationRequest(question="When is paging triggered?", sources=(source(TRIGGERS, 3),), language="en")

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert text == (
        "Paging starts in these cases: [3]\n\n- Downlink data arrives. [3]\n- System information changes. [3]"
    )
