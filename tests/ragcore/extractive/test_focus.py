"""Points tell what a question asks, of each document that it names."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.extractive.answer_patterns import asked_extent
from ragcore.extractive.choice import is_of_use
from ragcore.extractive.focus import focus_terms, point_worth
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.spans import POINT_COLUMNS, point_columns
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

TOKENIZER = JiebaTokenizer()


def source(number, text, title):
    passage = Passage(chunk=number, document=number, version=number, text=text, title=title)
    return Source(number=number, passage=passage, text=text, score=1 / number)


@pytest.mark.parametrize(
    ("question", "named", "focus"),
    [
        ("According to the report of Acme Ltd., summarize the risks of flooding.", {"Acme Ltd."}, ["risk", "flood"]),
        ("What did Acme Ltd. do against flooding?", {"Acme Ltd."}, ["flood"]),
        ("根据甲乙公司的报告，总结其风险管理。", {"甲乙公司"}, ["风险", "管理"]),
    ],
)
def test_the_focus_leaves_out_frame_task_and_names(question, named, focus):
    found = focus_terms(question, frozenset(named), TOKENIZER)

    assert set(focus) <= set(found)
    assert not {"report", "acm", "summar", "报告", "公司"} & set(found)


def test_a_question_of_names_alone_keeps_its_terms():
    assert focus_terms("Acme Tools", frozenset({"Acme Tools"}), TOKENIZER)


def test_neighbours_of_what_is_asked_are_worth_more_than_far_sentences():
    text = (
        "The board met in May. The staff canteen was painted. Floods are the main risk. Walls were built along the "
        "river. Pumps stand ready. The logo was changed. Shares rose in autumn."
    )
    found = read_statements([source(1, text, "Report")], TOKENIZER)

    worth = point_worth("What about floods?", found, np.zeros(7, np.float32), frozenset(), TOKENIZER)

    assert worth.argmax() == 2
    assert worth[3] > worth[5]


def test_named_documents_take_turns():
    ada = "Occupation: pilot. Ada works as a pilot. Her occupation takes her far. An occupation of many weeks."
    bob = "The record has three pages. His occupation is baking bread."
    found = read_statements([source(1, ada, "Ada Lind"), source(2, bob, "Bob Holm")], TOKENIZER)
    question, named = "What are the occupations of Ada Lind and Bob Holm?", frozenset({"Ada Lind", "Bob Holm"})

    worth = point_worth(question, found, np.zeros(len(found), np.float32), named, TOKENIZER)

    order = [found[at].source.number for at in np.argsort(-worth, kind="stable")]
    assert set(order[:2]) == {1, 2}


def test_a_fact_of_each_named_document_is_quoted():
    sources = (
        source(1, "Record of a stay.\n\nOccupation: pilot\n\nThe visit was short and nothing was found.", "Ada Lind"),
        source(2, "Record of a stay.\n\nOccupation: baker\n\nThe visit was long and a cold was found.", "Bob Holm"),
    )
    request = GenerationRequest(question="What are the occupations of Ada Lind and Bob Holm?", sources=sources)

    answer = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    assert "Occupation: pilot" in answer
    assert "Occupation: baker" in answer


@pytest.mark.parametrize(("question", "is_kept"), [("What are the occupations of Ada?", True), ("Who is Ada?", False)])
def test_a_field_is_quoted_where_it_is_asked_for(question, is_kept):
    [statement] = read_statements([source(1, "Occupation: pilot", "Ada Lind")], TOKENIZER)

    assert is_of_use(statement, question) is is_kept


@pytest.mark.parametrize(
    ("question", "named", "extent"),
    [
        ("Summarize the events of 2020.", 1, "summary"),
        ("总结其主要措施。", 1, "summary"),
        ("Which of the two was founded earlier?", 2, "choice"),
        ("比较两家公司，哪家规模更大？", 2, "choice"),
        ("How did sales become higher?", 1, "reason"),
        ("Where do A and B live?", 2, "each"),
        ("Which steps are there?", 0, "several"),
    ],
)
def test_how_much_is_asked_for_is_read_from_the_question(question, named, extent):
    assert asked_extent(question, names=named) == extent


def test_chinese_points_take_fewer_columns():
    assert (
        point_columns("总结其主要措施", "summary")
        < point_columns("Summarize it", "summary")
        == POINT_COLUMNS["summary"]
    )
