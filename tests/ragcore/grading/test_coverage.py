from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.grading.passages import compute_coverage, coverage_categories, coverage_status
from ragcore.text.word_lists import read_cues
from tests.ragcore.grading.world import LIBRARY, ranked, tokenizer

ALL = [ranked(title, text, chunk=n) for n, (title, text) in enumerate(LIBRARY, 1)]


def test_the_formula_by_hand():
    passages = [ranked("", "A preamble is a sequence.", chunk=1), ranked("", "The window is 10 ms.", chunk=2)]

    evidence = compute_coverage("preamble window", passages, tokenizer())

    # each passage has one of two keywords; "is a" is a sign of the first of five categories, and the only one
    assert evidence.covered == ("definition",)
    assert evidence.confidence == pytest.approx(0.7 * 0.5 + 0.3 * 1 / 5)
    assert evidence.status == "adequate"
    assert evidence.missing == ("mechanism", "procedure", "figures", "application")


TRANSFORMER = (
    "Transformer是一种神经网络结构，其原理是自注意力机制，由编码器和解码器组成。首先计算注意力，然后归一化。"
    "它应用于机器翻译，例如翻译句子。"
)


def test_passages_without_keywords_count_in_the_mean():
    others = [ranked("食堂", "星期五有鱼。", chunk=n) for n in range(2, 6)]

    alone = compute_coverage("什么是Transformer?", [ranked("Transformer", TRANSFORMER)], tokenizer())
    among = compute_coverage("什么是Transformer?", [ranked("Transformer", TRANSFORMER), *others], tokenizer())

    assert (alone.confidence, alone.status) == (pytest.approx(0.7 + 0.3 * 4 / 5), "excellent")
    assert (among.confidence, among.status) == (pytest.approx(0.7 / 5 + 0.3 * 4 / 5), "insufficient")  # 0.38
    assert (among.relevant, among.covered) == (pytest.approx(alone.confidence), alone.covered)


def test_documents_with_categories_cover_their_own():
    texts = ("A preamble is a sequence.", "The preamble and the canteen.", "The preamble has 64 values.")
    own = [("Basics",), ("Operation", "Basics"), ()]
    passages = [ranked("", text, chunk=n) for n, text in enumerate(texts, 1)]
    passages = [
        replace(each, passage=replace(each.passage, categories=categories))
        for each, categories in zip(passages, own, strict=True)
    ]

    evidence = compute_coverage("preamble", passages, tokenizer())

    assert evidence.covered == ("figures", "Basics", "Operation")  # words tell only of the last document
    assert evidence.confidence == pytest.approx(0.7 + 0.3 * 3 / 5)
    assert "definition" not in evidence.missing


def test_without_evidence_the_confidence_is_zero():
    assert compute_coverage("preamble", [], tokenizer()).confidence == 0
    nothing = compute_coverage("turbine blades", ALL, tokenizer())

    assert (nothing.confidence, nothing.status, nothing.covered) == (0, "insufficient", ())
    assert nothing.missing_words == ("turbin", "blade")


def test_chinese_passages_cover_categories_too():
    passages = [ranked("载波聚合", "载波聚合是指把多个载波合并使用，最多支持32个载波，用于提高速率。")]

    evidence = compute_coverage("载波聚合是什么", passages, tokenizer())

    assert {"definition", "application"} <= set(evidence.covered)
    assert evidence.status == "excellent"


@pytest.mark.parametrize(
    ("confidence", "status"),
    [(1.0, "excellent"), (0.8, "excellent"), (0.79, "good"), (0.6, "good"), (0.5, "adequate"), (0.39, "insufficient")],
)
def test_status_by_confidence(confidence, status):
    assert coverage_status(confidence) == status


def test_there_are_five_categories_in_both_languages():
    sections = coverage_categories()

    assert len(sections) == 5
    assert all(
        any(e.isascii() for e in s.entries) and any(not e.isascii() for e in s.entries) for s in sections.values()
    )
    assert sections is read_cues("ragcore.grading", "evidence_categories.txt")


@given(
    query=st.sampled_from(["random access steps", "handover", "fish"]), take=st.lists(st.sampled_from(ALL), max_size=5)
)
def test_confidence_is_between_0_and_1_and_what_is_missing_is_not_covered(query, take):
    evidence = compute_coverage(query, take, tokenizer())

    assert 0 <= evidence.confidence <= 1
    assert not set(evidence.covered) & set(evidence.missing)
    assert set(evidence.covered) | set(evidence.missing) == set(coverage_categories())
