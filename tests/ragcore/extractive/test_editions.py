"""What holds now is said before what an older edition says."""

from dataclasses import replace

import pytest

from ragcore.extractive.editions import asks_older, older_editions
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source


def source(number, text, title):
    passage = Passage(chunk=number, document=number, version=number, text=text, title=title)
    return Source(number=number, passage=passage, text=text, score=1 - number / 100)


OLD = source(1, "出差结束后 15 个工作日内提交报销单，逾期不予报销。住宿每晚不超过 350 元。", "差旅管理制度（2024版）")
NEW = source(2, "出差结束后 10 个工作日内提交报销单，逾期不予报销。住宿每晚不超过 420 元。", "差旅管理制度（2026版）")
OLD_EN = source(1, "This edition has been replaced in May. The pump is checked every 12 months.", "Pump rules")
NEW_EN = source(2, "The pump is checked every 6 months and after each repair.", "Care of pumps")


def answer(question, *sources):
    return "".join(ExtractiveGenerator(JiebaTokenizer()).blocks(GenerationRequest(question=question, sources=sources)))


def test_the_current_edition_answers():
    text = answer("出差回来几个工作日内交报销单", OLD, NEW)

    assert "10" in text.partition("补充要点")[0]
    assert "15" not in text  # the same sentence with what held before


@pytest.mark.parametrize("question", ["2024版规定几个工作日内交报销单", "以前几个工作日内交报销单"])
def test_an_older_edition_answers_where_it_is_asked_for(question):
    assert answer(question, OLD, NEW).startswith("出差结束后")
    assert "15" in answer(question, OLD, NEW).split("补充要点")[0]


def test_a_document_that_says_that_it_was_replaced_is_an_older_one():
    assert list(older_editions([OLD_EN, NEW_EN])) == [1]
    assert answer("how often is the pump checked", OLD_EN, NEW_EN).startswith("The pump is checked every **6** months")


@pytest.mark.parametrize(
    ("titles", "older"),
    [
        (("Rules (2024 edition)", "Rules (2026 edition)"), [1]),
        (("Installation Guide v1.3", "Installation Guide v1.4"), [1]),
        (("Plan rev C", "Plan rev D"), [1]),
        (("规定（2025年修订）", "规定（2023版）"), [2]),
        (("Report 2019", "Report 2020"), []),  # reports of two years are no editions of one thing
        (("Rules (2024 edition)", "Guide (2026 edition)"), []),
        (("Rules", "Rules"), []),
    ],
)
def test_editions_are_told_by_titles(titles, older):
    found = older_editions([source(number, "Text.", title) for number, title in enumerate(titles, start=1)])

    assert list(found) == older


def test_editions_of_one_title_are_told_by_how_they_begin():
    sources = [
        source(1, "管理办法 （2023 版） 文件编号", "管理办法"),
        source(2, "管理办法 （2025 年修订）", "管理办法"),
    ]

    assert list(older_editions(sources)) == [1]
    assert list(older_editions([sources[0], replace(sources[1], number=3)])) == [1]


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("老版的标准是多少", True),
        ("compare the two editions", True),
        ("what is the limit in 2024", True),
        ("what is the limit", False),
    ],
)
def test_a_question_may_ask_for_the_older_one(question, asks):
    assert asks_older(question, {1: frozenset({"2024"})}) is asks
