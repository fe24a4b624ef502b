"""Which pairs are worth training with, and how they are split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.text.question_pairs import (
    QuestionPair,
    document_group,
    folds_of,
    pairs_balance,
    pairs_screen,
    question_fault,
)


def pair(question, chunk=1, origin="question"):
    return QuestionPair(question=question, chunks=(chunk,), documents=(chunk,), origin=origin)


@pytest.mark.parametrize(
    ("question", "fault"),
    [
        ("What is beam management?", ""),
        ("载波聚合是什么？", ""),
        ("What happened this year in Shanghai?", ""),
        ("这", "length"),
        ("x" * 500, "length"),
        ("What is \ufffd\ufffd?", "characters"),
        ("什么是\x07载波？", "characters"),
        ("=====>>> ### ???", "characters"),
        ("本文主要讲了什么？", "pointing"),
        ("这是什么意思？", "pointing"),
        ("What does this article say about beams?", "pointing"),
        ("According to the passage, who won?", "pointing"),
        ("That is caused by what?", "pointing"),
    ],
)
def test_questions_with_faults_are_told(question, fault):
    assert question_fault(question) == fault


def test_what_people_asked_comes_before_what_was_made():
    found = pairs_screen(
        [
            pair("What is the beam management of a base station?", 1),
            pair("What is the beam management of a base station", 2),  # nearly the same
            pair("what is the beam management of a base  station?", 3, "golden"),
            pair("这是什么？", 4, "vote"),
            pair("这是什么呢？", 5),
        ]
    )
    assert [(one.chunks, one.origin) for one in found.kept] == [((3,), "golden"), ((4,), "vote")]
    assert found.dropped == {"repeated": 2, "pointing": 1}


def test_made_pairs_are_balanced_by_the_length_of_their_passages():
    made = [pair(f"How long is number {n}?", n) for n in range(1, 101)]
    lengths = {n: 10 if n <= 90 else 5000 + n for n in range(1, 101)}

    found = pairs_balance([*made, pair("Who asked?", 500, "golden")], lengths, most=20)

    long_ones = sum(lengths.get(one.chunks[0], 0) > 10 for one in found.kept)
    assert len(found.kept) == 21
    assert long_ones >= 4
    assert found.dropped == {"balance": 80}
    assert set(pairs_balance(made[::-1], lengths, most=20).kept) == set(pairs_balance(made, lengths, most=20).kept)


def test_parts_of_one_work_stay_together():
    assert document_group("3GPP TS 23.273 part 30", 1) == document_group("3GPP TS 23.273 part 4", 2)
    assert document_group("手册 第3章", 1) == document_group("手册 第12章", 2)
    assert document_group("", 1) != document_group("", 2)
    assert document_group("2024", 1) != document_group("2025", 2)


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=3), min_size=1, max_size=60), st.integers(2, 5))
def test_a_document_is_in_one_fold_and_all_folds_are_used(groups, folds):
    touches = folds_of(groups, folds=folds)
    documents = {document for one in groups for document in one}

    assert touches.shape == (len(groups), min(folds, len(documents)))
    assert touches.any(axis=1).all()
    assert touches.any(axis=0).all()
    place = {}
    for one, row in zip(groups, touches, strict=True):
        if len(set(one)) == 1:
            assert place.setdefault(one[0], int(np.argmax(row))) == int(np.argmax(row))
            assert row.sum() == 1
