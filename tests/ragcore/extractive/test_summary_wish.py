"""Of which document a summary is wanted, and how long it may be."""

from __future__ import annotations

import pytest

from ragcore.extractive.summary_wish import (
    BRIEF_POINTS,
    MOST_POINTS,
    is_same_text,
    names_document,
    summary_points,
    wants_summary,
)
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage

NOTE = ("Recovery timers", "Design note DN-0083, revision B, approved 9 April 2025. Timers are set by speed.")
REVIEW = ("SC310 项目立项评审会议纪要", "会议时间：2025-05-20 14:00\n\n评审委员会同意立项。")
MAIL = ("RE: Marina Mall - dropped calls", "The neighbour was added on 20 May.")


@pytest.fixture(scope="module")
def tokenizer():
    return JiebaTokenizer()


def passage(title, text="", document=1, ordinal=0, headings=()):
    return Passage(
        chunk=10 * document + ordinal,
        document=document,
        version=document,
        text=text,
        title=title,
        ordinal=ordinal,
        heading_path=headings,
    )


@pytest.mark.parametrize(
    ("question", "points"),
    [
        ("summarise the safety rules", MOST_POINTS),
        ("give me a short summary of DN-0083", BRIEF_POINTS),
        ("sum up the report in three sentences", 3),
        ("summary in two or three short sentences", 3),
        ("summarise it in 2 bullet points", 2),
        ("summarise it in a few lines", 4),
        ("summary in one sentence", 1),
        ("帮我总结下评审会，三五句话就行", 5),
        ("一句话概括安全守则", 1),
        ("用几句话总结一下", 4),
        ("简要总结一下制度", BRIEF_POINTS),
        ("总结一下制度的主要内容", MOST_POINTS),
    ],
)
def test_a_wish_says_how_long_a_summary_may_be(question, points):
    assert wants_summary(question)
    assert summary_points(question) == points


@pytest.mark.parametrize(
    ("question", "document", "is_named"),
    [
        ("give me a short summary of DN-0083", NOTE, True),
        ("give me a short summary of DN-0084", NOTE, False),
        ("summarise the recovery timers", NOTE, True),
        ("summarise the canteen menu", NOTE, False),
        ("帮我总结下5月20号SC310立项评审会的结论，三五句话就行", REVIEW, True),
        ("帮我总结下5月27号SC310立项评审会的结论", REVIEW, False),
        ("summarise the meeting of 20 May", REVIEW, True),
        ("summarise the meeting", REVIEW, False),
        ("sum up the marina mall mail thread for me, just the main points", MAIL, True),
    ],
)
def test_a_document_is_named_by_its_title_and_by_codes_and_dates_of_its_first_passage(
    question, document, is_named, tokenizer
):
    assert names_document(question, [passage(*document)], tokenizer) is is_named


def test_codes_and_dates_may_stand_in_a_first_passage_that_was_not_found(tokenizer):
    found = passage(NOTE[0], "Users are put into profiles.", ordinal=3)

    assert not names_document("summary of DN-0083", [found], tokenizer)
    assert names_document("summary of DN-0083", [found], tokenizer, first=passage(*NOTE))


def test_messages_with_one_subject_are_one_text_and_documents_with_one_title_are_not():
    assert is_same_text(passage("RE: Offer"), passage("Offer", document=2))
    assert is_same_text(passage("回复：RE: 报价"), passage("转发: 报价", document=2))
    assert not is_same_text(passage("RE: Offer"), passage("Offers", document=2))
    assert not is_same_text(passage("Travel rules"), passage("Travel rules", document=2))
    assert not is_same_text(passage("RE: "), passage("FW: ", document=2))
    assert is_same_text(passage("Travel rules"), passage("Travel rules", ordinal=4))
