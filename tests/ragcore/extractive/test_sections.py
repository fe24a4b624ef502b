"""Sections that answer a question as they stand."""

import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sections import find_section_answer
from ragcore.extractive.sentences import asks_something
from ragcore.ports import GenerationRequest
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
    answer = find_section_answer("When is paging triggered?", [source(TRIGGERS)], TOKENIZER)

    assert answer.sentences == ("Paging starts in these cases:",)
    assert not answer.is_ordered
    assert [text for text, _ in answer.items] == ["Downlink data arrives.", "System information changes."]


def test_steps_are_the_subsections_also_across_neighbouring_chunks():
    sources = [source(STEPS_ONE, 1, title="寻呼"), source(STEPS_TWO, 2, title="寻呼", ordinal=1)]

    answer = find_section_answer("两步寻呼有哪些步骤？", sources, TOKENIZER)

    assert [(text, s.number) for text, s in answer.items] == [
        ("**寻呼消息** 核心网下发寻呼消息。", 1),
        ("**寻呼响应** 终端发起随机接入。", 2),
    ]


def test_chunks_that_are_no_neighbours_are_not_joined():
    sources = [source(STEPS_ONE, 1, title="寻呼"), source(STEPS_TWO, 2, title="寻呼", ordinal=5)]

    assert find_section_answer("两步寻呼有哪些步骤？", sources, TOKENIZER) is None


@pytest.mark.parametrize(
    "question",
    ["Who invented paging?", "How large is the paging channel?", "When is handover triggered?", "???", ""],
)
def test_a_heading_that_lacks_a_word_of_the_question_is_no_answer(question):
    assert find_section_answer(question, [source(TRIGGERS)], TOKENIZER) is None


def test_a_heading_that_is_the_question_is_answered_by_its_text():
    answer = find_section_answer("Paging channel", [source(TRIGGERS)], TOKENIZER)

    assert answer.sentences == ("The channel carries paging messages.",)


def test_a_heading_that_says_more_is_left_to_the_choice_of_sentences_where_it_has_no_list():
    text = "# Paging\n\n## Capacity of the paging channel\n\nThe channel carries paging messages.\n"

    assert find_section_answer("Paging channel", [source(text)], TOKENIZER) is None


def test_a_wrapped_point_is_read_to_its_end():
    text = "# Paging\n\n## When paging is triggered\n\n1. Downlink data\n   arrives.\n2. A timer\nends.\n"

    answer = find_section_answer("When is paging triggered?", [source(text)], TOKENIZER)

    assert [point for point, _ in answer.items] == ["Downlink data arrives.", "A timer ends."]
    assert answer.is_ordered


def test_a_question_among_questions_and_answers_is_answered_without_its_marks():
    text = "# 寻呼\n\n### 问：寻呼周期有多长？\n\n答：最长 10.24 秒。\n\n### 问：谁发起寻呼？\n\n答：核心网。\n"

    answer = find_section_answer("寻呼周期有多长？", [source(text, title="寻呼")], TOKENIZER)

    assert answer.sentences == ("最长 10.24 秒。",)


def test_the_table_of_the_section_is_the_answer():
    text = "# Paging\n\n## Paging timers\n\nThey are set in SIB1.\n\n| Timer | Value |\n|---|---|\n| T1 | 5 s |\n"

    answer = find_section_answer("Which paging timers are there?", [source(text)], TOKENIZER)

    assert answer.sentences == ("They are set in SIB1.",)
    assert answer.table.rows == (("T1", "5 s"),)


def test_a_table_whose_first_column_is_asked_for_answers_under_any_heading():
    text = "# Paging\n\n## Who starts it\n\n| Type | Started by |\n|---|---|\n| CN | AMF |\n| RAN | gNB |\n"

    answer = find_section_answer("Which types of paging are there?", [source(text)], TOKENIZER)

    assert answer.table.head == ("Type", "Started by")


def test_the_chapters_of_a_document_are_no_answer():
    text = "# Paging procedure\n\n## Start\n\nThe core asks.\n\n## End\n\nThe device answers.\n"

    assert find_section_answer("How does the paging procedure work?", [source(text, title="p.md")], TOKENIZER) is None


def test_every_point_of_the_answer_carries_its_marker():
    request = GenerationRequest(question="When is paging triggered?", sources=(source(TRIGGERS, 3),), language="en")

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert text == (
        "Paging starts in these cases: [3]\n\n- Downlink data arrives. [3]\n- System information changes. [3]"
    )


KINDS = """# Relays

## 1 Overview

Relays extend the coverage of a cell.
By the layer that they work in, relays are divided into two types:

| Type | Works in |
|---|---|
| Repeater | layer 1 |
| Decode and forward | layer 2 |

## 2 How relays are configured

- Set the donor cell.
- Set the backhaul band.

## 3 Why a relay

Cells end at hills. A relay covers what lies behind them.

## 4 Relay failure

1. The relay reports the failure.
2. The donor cell releases it.
"""


def test_a_sentence_that_announces_a_table_counts_as_its_heading():
    answer = find_section_answer("Into which types are relays divided?", [source(KINDS, title="Relays")], TOKENIZER)

    assert answer.sentences == ("By the layer that they work in, relays are divided into two types:",)
    assert [row[0] for row in answer.table.rows] == ["Repeater", "Decode and forward"]


def test_a_heading_that_says_how_does_not_answer_why():
    answer = find_section_answer("Why do we need a relay?", [source(KINDS, title="Relays")], TOKENIZER)

    assert answer.source.number == 1
    assert answer.sentences[0] == "Cells end at hills."


def test_a_heading_may_name_the_thing_by_a_derived_word():
    answer = find_section_answer("What happens when a relay fails?", [source(KINDS, title="Relays")], TOKENIZER)

    assert [text for text, _ in answer.items] == ["The relay reports the failure.", "The donor cell releases it."]


def test_every_sentence_of_a_point_is_marked_and_a_name_in_front_shares_its_marker():
    steps = "1. Detection. The device counts. It declares a failure.\n2. Request. It sends a preamble.\n"
    text = f"# Recovery of a beam\n\n{steps}"

    blocks = ExtractiveGenerator(TOKENIZER).blocks(
        GenerationRequest(
            question="What are the steps of the recovery of a beam?", sources=[source(text, title="Beams")]
        )
    )

    assert "1. Detection. The device counts. [1] It declares a failure. [1]" in "".join(blocks)


def test_the_head_of_a_message_is_no_list_of_its_section():
    text = "# RE: Pump leaks in hall 3\n\n- From: Ann\n- To: Bob\n- Date: 2026-03-02\n\nThe seal was worn."
    passage = Passage(chunk=1, document=1, version=1, text=text, title="RE: Pump leaks in hall 3")
    found = find_section_answer(
        "why are there pump leaks in hall 3", [Source(number=1, passage=passage, text=text, score=1.0)], TOKENIZER
    )

    assert found is None or not found.items


@pytest.mark.parametrize(
    ("heading", "asks"),
    [
        ("3 为什么没有告警", True),
        ("How to send parts back", True),
        ("Why no alarm was raised", True),
        ("May I use bleach?", True),
        ("3 Alarms", False),
        ("What", False),
        ("告警列表", False),
    ],
)
def test_a_heading_asks_with_a_question_mark_or_without(heading, asks):
    assert asks_something(heading) is asks


def test_what_stands_below_a_heading_about_reasons_is_told_whole():
    told = source(
        """# 上行干扰案例

## 3 为什么没有告警

- 站点设置了工程态，完工后没有解除
- 两条告警被抑制
- 保持时间门限被人为改为 96 小时

## 4 影响

- 12 个小区受影响
""",
        title="上行干扰案例",
    )
    request = GenerationRequest(question="那次干扰为啥一个告警都没报", sources=(told,))

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert [line for line in text.splitlines() if line.startswith("- ")][:3] == [
        "- 站点设置了工程态，完工后没有解除[1]",
        "- 两条告警被抑制[1]",
        "- 保持时间门限被人为改为 96 小时[1]",
    ]


MINUTES = """# Minutes

## 1. STATUS

The pump runs again.

## 3. DECISIONS

- D1 Buy two filters.
- D2 Open on Sundays.
"""


@pytest.mark.parametrize(
    "question", ["what was decided by the pool committee", "what was decided by the pool committee on 12 june"]
)
def test_a_verb_finds_the_section_that_is_called_after_it_whatever_the_day(question):
    answer = find_section_answer(question, [source(MINUTES, title="2025-06-12 Pool committee")], TOKENIZER)

    assert answer is not None
    assert [text for text, _source in answer.items] == ["D1 Buy two filters.", "D2 Open on Sundays."]


CAUSED = """# Case of the pump P-26

## What was seen

At 06:40 the management system showed the fault P-26 for the pump. The fault P-26 was closed at 12:00.

## Root cause

Water in the plug after the storm.
"""


@pytest.mark.parametrize("question", ["what caused P-26", "why did the pump show P-26", "P-26的根因是什么"])
def test_a_section_that_says_why_answers_who_asks_why(question):
    generator = ExtractiveGenerator(TOKENIZER)
    blocks = generator.blocks(GenerationRequest(question=question, sources=[source(CAUSED, title="Case P-26")]))

    assert "Water in the plug after the storm." in "".join(blocks).split("Also relevant")[0].split("补充要点")[0]
