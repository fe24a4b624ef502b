"""What stands in a source is never marked as unsupported, and no mark of a picture gets into an answer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.citations import extract_citations
from ragcore.grounding.support import support_states
from ragcore.ports import GenerationRequest
from ragcore.types import Passage, Source
from tests.forms_plugin import examples

PROSE = (
    "The drain plug sits below the housing (see figure 3).",
    "Tighten all four bolts to 24 Nm!",
    "Each pump is delivered with **one** seal; it must not be greased.",
    "Release 17.2 changed the limit from 10 dB to 12.5 dB [4].",
    "Soup costs $3.20, i.e. less than a dessert.",
    "阀门关闭后，压力应在 30 秒内降到 0.2 MPa 以下。",
    "雷雨天气禁止登高作业；",
    "该参数默认值为 5%（见表 2）。",
    "RA-RNTI = 1 + s_id，其中 s_id 从 0 开始。",
    "Ｆｕｌｌ width words and `code_name` stand here.",
)
BLOCKS = (
    *PROSE,
    "## Mounting the pump",
    "![Pump [side view] and (top view)](picture:image1.png)",
    "| Meal | Price |\n|---|---|\n| Soup | 3.20 |\n| Main dish | 7.80 |",
    "The steps are:\n\n1. Close the valve.\n2. Open the cabinet.\n3. Remove the four bolts.",
    "准备工作：\n\n- 佩戴安全帽。\n- 检查接地电阻。",
)
QUESTIONS = (
    "How is the pump mounted?",
    "What does the main dish cost?",
    "雷雨天可以登高吗？",
    "关闭阀门后压力是多少？",
    "Quel est le prix de la soupe ?",
    "ポンプの取り付け方は？",
)


def _source(number: int, text: str) -> Source:
    passage = Passage(chunk=number, document=number, version=1, text=text, title=f"Manual {number}")
    return Source(number=number, passage=passage, text=text, score=1.0 / number)


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=6, unique=True), min_size=1, max_size=3),
    question=st.sampled_from(QUESTIONS),
)
def test_a_quoted_answer_has_no_unsupported_sentence_and_no_mark_of_a_picture(tokenizer, texts, question):
    sources = [_source(number, "\n\n".join(blocks)) for number, blocks in enumerate(texts, start=1)]
    request = GenerationRequest(question=question, sources=tuple(sources), messages=(), language="other")

    answer = "".join(ExtractiveGenerator(tokenizer).blocks(request))
    text = extract_citations(answer, sources, tokenizer=tokenizer).text

    assert [s.text for s in support_states(text, sources, tokenizer=tokenizer) if s.support != "supported"] == []
    assert "picture:" not in text


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sentence=st.sampled_from(PROSE), around=st.lists(st.sampled_from(BLOCKS), max_size=4), cited=st.booleans())
def test_a_copied_sentence_is_never_unsupported(tokenizer, sentence, around, cited):
    source = _source(1, "\n\n".join([*around, sentence]))
    claim = sentence.replace("[4]", "［4］") + (" [1]" if cited else "")

    states = support_states(claim, [source], tokenizer=tokenizer)

    assert {s.support for s in states} == ({"supported"} if cited else {"weak"})
    assert all(s.quoted == cited for s in states)


@pytest.mark.parametrize("claim", ["Tighten all five bolts to 24 Nm! [1]", "Tighten all four bolts. 0.24 Nm [1]"])
def test_a_changed_word_is_no_quotation(tokenizer, claim):
    assert not any(s.quoted for s in support_states(claim, [_source(1, PROSE[1])], tokenizer=tokenizer)[-1:])
