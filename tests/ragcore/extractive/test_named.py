"""A question that names a document's title is answered from it, not from another company's report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragcore.extractive.answer_patterns import spells_out
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.named import about_codes, about_named, named_titles, without_bare_names, without_siblings
from ragcore.extractive.sentences import read_statements
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()
REPORTS = {
    "Acme Tools Ltd.": "Acme raised ten million in January. It closed a branch.",
    "Border Foods Inc.": "Border raised six million in March.",
    "Steam": "Steam drives an engine.",
}


def sources(*titles: str) -> list[Source]:
    return [
        Source(
            number=number,
            passage=Passage(chunk=number, document=number, version=number, title=title, text=REPORTS[title]),
            text=REPORTS[title],
            score=1.0 / number,
        )
        for number, title in enumerate(titles, 1)
    ]


@pytest.mark.parametrize(
    ("question", "titles", "left"),
    [
        ("What did Acme Tools Ltd. raise in 2020?", ("Acme Tools Ltd.", "Border Foods Inc."), {"Acme Tools Ltd."}),
        ("What did Acme Tools Ltd. and Border Foods Inc. raise?", ("Acme Tools Ltd.", "Border Foods Inc."), None),
        ("What was raised in January?", ("Acme Tools Ltd.", "Border Foods Inc."), None),
        ("What did Border Foods Inc. raise?", ("Acme Tools Ltd.", "Border Foods Inc."), None),
        ("What does steam drive?", ("Steam", "Acme Tools Ltd."), None),
    ],
)
def test_only_sentences_of_named_documents_are_left_where_the_best_source_is_named(question, titles, left):
    found = read_statements(sources(*titles), TOKENIZER)

    kept = about_named(found, named_titles(question, found, TOKENIZER))

    assert {found[at].source.passage.title for at in kept} == (left or set(titles))
    assert about_named([], frozenset()) == []


def test_a_title_within_a_longer_named_title_is_not_named():
    found = read_statements(sources("Acme Tools Ltd.", "Border Foods Inc."), TOKENIZER)
    short = [replace(s, source=replace(s.source, passage=replace(s.source.passage, title="Acme Tools"))) for s in found]

    named = named_titles("What did Acme Tools Ltd. raise?", [*found, *short], TOKENIZER)

    assert named == {"Acme Tools Ltd."}


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("what does V3.2.0 need", {"Notes V3.2.0"}),
        ("in which version is the fault of V3.2.0 gone", {"Notes V3.2.0", "Notes V3.2.1"}),
        ("how do V3.2.0 and V3.2.1 differ", {"Notes V3.2.0", "Notes V3.2.1"}),
        ("what is needed", {"Notes V3.2.0", "Notes V3.2.1"}),
    ],
)
def test_a_version_is_told_of_by_the_document_that_is_called_after_it(question, left):
    found = read_statements(
        [
            source(1, "It mends the fault of V3.2.0. It needs OMC 6.", title="Notes V3.2.1"),
            source(2, "This one needs OMC 5.", title="Notes V3.2.0"),
        ],
        TOKENIZER,
    )

    assert {found[at].source.passage.title for at in about_codes(question, found)} == left


def test_what_is_said_of_another_line_is_no_answer():
    lines = ("Line #1 leaves at 7:10.", "Line #2 leaves at 7:20.", "Line #3 leaves at 6:55.")
    buses = source(1, " ".join(lines))
    request = GenerationRequest(question="when does line #2 leave", sources=(buses,))

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert "7:20" in text
    assert "7:10" not in text
    assert "6:55" not in text


ROAD_MAP = (
    "# Road map\n\n## Next: Aspen\n\nGeneral availability is in October 2026.\n\n"
    "## Under study: Cedar\n\nA decision falls after the auction, not before 2027.\n\n"
    "## Where we are\n\nCedar and Aspen have 20 people.\n"
)


@pytest.mark.parametrize(
    ("question", "lost"),
    [
        ("When will Cedar be available?", {"General availability is in October 2026."}),
        ("when will aspen be available", {"A decision falls after the auction, not before 2027."}),
        ("When will Aspen and Cedar be available?", set()),
        ("When is general availability?", set()),
        ("When will Birch be available?", set()),
    ],
)
def test_what_stands_under_the_heading_of_another_thing_is_no_answer(question, lost):
    found = read_statements([source(1, ROAD_MAP)], TOKENIZER)
    scores = np.zeros(len(found), np.float32)

    after = without_siblings(question, found, scores)

    assert {one.text for one, score in zip(found, after, strict=True) if score < 0} == lost


def test_what_is_said_of_another_label_is_no_answer():
    found = read_statements(
        [source(1, "The value of port C was 2.3. Port A was closed. The storm lasted long.")], TOKENIZER
    )

    after = without_siblings("What was measured on port A?", found, np.zeros(len(found), np.float32))

    assert [one.text for one, score in zip(found, after, strict=True) if score < 0] == ["The value of port C was 2.3."]


@pytest.mark.parametrize(
    ("question", "text", "is_told"),
    [
        ("NSACF 是什么意思", "Rel-17 引入网络切片准入控制功能 NSACF，可以限制终端数。", True),
        ("what is RMA", "Ask for a return material authorisation (RMA) first.", True),
        ("what is RMA", "RMA: return material authorisation", True),
        ("what is RMA", "Send the RMA with the pump.", False),
        ("NSACF 是什么意思", "NSACFX 与 NSACF 不同", False),
        ("what is a pump", "A pump (P10) moves water.", False),
    ],
)
def test_an_abbreviation_is_spelt_out_by_the_words_beside_it(question, text, is_told):
    assert spells_out(question, [text]) is is_told


POINTS = source(
    1,
    "第一章 规定\n  第一条 钥匙由班长保管\n  第二条 备用钥匙封存于财务室\n第二章 罚则\n  第三条 丢失钥匙罚款 200 元",
)
CLAUSES = source(1, "II 检验\n  2.1 周期\n    2.1.1 外部检验每年一次\n    2.1.2 内部检验每三年一次")
PAPERS = source(1, "1. 附件\n  附件A 清单表\n  附件B 图纸表")


@pytest.mark.parametrize(
    ("question", "passage", "answer"),
    [
        ("第二条是什么", POINTS, "第二条 备用钥匙封存于财务室"),
        ("第三条规定了什么？", POINTS, "第三条 丢失钥匙罚款 200 元"),
        ("2.1.2 的内容是什么？", CLAUSES, "2.1.2 内部检验每三年一次"),
        ("附件B是什么？", PAPERS, "附件B 图纸表"),
    ],
)
def test_a_point_is_found_by_its_label(question, passage, answer):
    request = GenerationRequest(question=question, sources=(passage,), language="zh")

    assert ExtractiveGenerator(TOKENIZER).blocks(request)[0].replace("**", "").startswith(answer)


SIGNED = source(
    1,
    "C# 开发岗要求三年经验，由刘洋面试。\n\nC++ 开发岗要求五年经验，由赵强面试。\n\nA+ 级供应商账期为 60 天。\n\n"
    "A 级供应商账期为 45 天。\n\n5G-A 基站的功耗为 980 W。\n\n5G 基站的功耗为 870 W。",
)


@pytest.mark.parametrize(
    ("question", "said", "unsaid"),
    [
        ("C#开发岗要求几年经验？", "三年", "五年"),
        ("C++ 开发岗由谁面试？", "赵强", "刘洋"),
        ("A+级供应商的账期是多少天", "60", "45"),
        ("A级供应商的账期？", "45", "60"),
        ("5G 基站功耗？", "870", "980"),
        ("5G-A 基站的功耗是多少？", "980", "870"),
    ],
)
def test_names_that_only_a_sign_tells_apart_are_not_answered_by_each_other(question, said, unsaid):
    request = GenerationRequest(question=question, sources=(SIGNED,), language="zh")

    text = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert said in text
    assert unsaid not in text


OCCASIONS = (
    "随机接入的触发条件：\n\n- 从空闲态发起初始接入；\n- 上行失步时有数据到达；\n- 波束失败恢复（BFR）。\n"
    "- 波束失败恢复时先测量候选波束，再发送请求。"
)


@pytest.mark.parametrize(
    ("question", "left_out"),
    [
        ("波束失败怎么恢复", {"波束失败恢复（BFR）。"}),
        ("波束失败恢复的流程", {"波束失败恢复（BFR）。"}),
        ("什么时候触发随机接入", set()),
        ("什么是波束失败恢复", {"上行失步时有数据到达；", "波束失败恢复（BFR）。"}),
    ],
)
def test_a_point_that_only_names_the_thing_does_not_answer(question, left_out):
    passage = Passage(chunk=1, document=1, version=1, title="随机接入", text=OCCASIONS)
    statements = read_statements([Source(number=1, passage=passage, text=OCCASIONS, score=1.0)], TOKENIZER)

    remaining = without_bare_names(question, statements, TOKENIZER)

    assert {s.text for s in statements} - {s.text for s in remaining} == left_out
