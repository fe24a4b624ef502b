"""Questions for the document in which something stands."""

import pytest

from ragcore.extractive.document_wish import asks_document, wants_version_of, without_document_wish
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

POOL = source(1, "车队规定如下。公务车须提前 2 天预约，由行政部派车。", title="车队管理办法")
LIFT = source(1, "The lift is inspected every 6 months by a certified body.", title="Care of lifts")


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("公务车的规定在哪个文件里", "公务车"),
        ("公务车在哪个文档里写的？", "公务车"),
        ("公务车预约写在哪份文件里", "公务车预约"),
        ("公务车在哪里规定的", "公务车"),
        ("公务车规定在哪里", "公务车"),
        ("哪里写了公务车怎么预约", "公务车怎么预约"),
        ("哪个文件规定了公务车", "公务车"),
        ("哪份文件里有提到公务车", "公务车"),
        ("公务车预约出自什么制度", "公务车预约"),
        ("where is the inspection of lifts regulated?", "the inspection of lifts"),
        ("Where are lift inspections written down", "lift inspections"),
        ("which document covers the inspection of lifts?", "the inspection of lifts"),
        ("in which file can I find the inspection interval", "the inspection interval"),
        ("what policy says how often lifts are inspected", "how often lifts are inspected"),
        ("where do i find the rules on lift inspections", "lift inspections"),
        ("where are the rules for lift inspections", "lift inspections"),
    ],
)
def test_what_stands_in_the_document_is_told_from_the_wish_for_it(question, subject):
    assert asks_document(question)
    assert without_document_wish(question) == subject


@pytest.mark.parametrize(
    "question",
    [
        "公务车停在哪里",
        "公务车多少钱",
        "where is the lift",
        "which lift is inspected first",
        "文件保存多久",
        "哪个文件",
    ],
)
def test_other_questions_stay_as_they_are(question):
    assert without_document_wish(question) == question


@pytest.mark.parametrize(
    ("question", "of"),
    [
        ("公务车的规定在哪个文件里", POOL),
        ("公务车预约在哪里规定的", POOL),
        ("where is the inspection of the lift regulated", LIFT),
        ("in which document can i read about the inspection of lifts", LIFT),
    ],
)
def test_the_document_is_named_first(question, of):
    text = "".join(ExtractiveGenerator(JiebaTokenizer()).blocks(GenerationRequest(question=question, sources=(of,))))

    assert text.startswith(f"**{of.passage.title}**\n\n")


def test_of_a_long_passage_in_the_document_the_first_sentences_are_shown():
    steps = "\n".join(
        f"{n}. Step {n} comes first here. {'It takes care of the rope and the doors. ' * 5}" for n in range(1, 5)
    )
    lift = source(1, f"# Lift rescue\n\n{steps}\n", title="Care of lifts")
    request = GenerationRequest(question="which document describes the lift rescue", sources=(lift,))

    text = "".join(ExtractiveGenerator(JiebaTokenizer()).blocks(request))

    assert text.startswith("**Care of lifts**\n\n")
    assert len(text) < 600


NOTES = source(
    1,
    "Corrected: DT-19, the load of the board was too high. The cause was a task on the wrong core.",
    title="Release notes V3.2.1",
)


def test_a_version_that_only_the_title_says_is_told():
    def answered(question: str) -> str:
        request = GenerationRequest(question=question, sources=(NOTES,))
        return "".join(ExtractiveGenerator(JiebaTokenizer()).blocks(request))

    assert answered("the board load was too high in V3.2.0, which version fixed it").startswith(
        "**Release notes V3.2.1**"
    )
    assert answered("why was the board load too high").startswith("Corrected")


@pytest.mark.parametrize(
    ("question", "told", "title", "wants"),
    [
        ("哪个版本修的", "绑核错误已修正。", "发布说明 V3.2.1", True),
        ("哪个版本修的", "V3.2.1 已修正。", "发布说明 V3.2.1", False),
        ("哪个版本修的", "绑核错误已修正。", "告警手册（2025 版）", False),
        ("which release fixed DT-19", "It is fixed.", "Notes 4.2", True),
        ("what is new in 4.2", "It is faster.", "Notes 4.2", False),
    ],
)
def test_the_version_of_a_document_answers_only_who_asks_for_one(question, told, title, wants):
    assert wants_version_of(question, told, title) == wants
