"""`make bench-judge` over a folder of the kind that it reads."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench.judge.__main__ import agreement
from bench.judge.agreement import cross_validated, margin, pearson, preferences, spearman
from bench.judge.grounded import faithfulness_figures, false_answer_figures, ordering_figures
from ragcore.scoring.rules import WEIGHTS, AnswerJudge
from ragcore.text.tokenise import JiebaTokenizer

JUDGE = AnswerJudge(JiebaTokenizer())
GOOD = "The form is in the portal. The manager approves it within 3 days."
BAD = "The canteen opens at noon."


def row(first, second, label):
    labels = {f"{name}_label": label for name in ("correctness", "completeness", "overall")}
    answers = {"model1": {"response": first}, "model2": {"response": second}}
    return {"query": "Where is the form?", "gt_answer": GOOD, **answers, **labels}


@pytest.fixture
def folder(tmp_path):
    rows = [row(GOOD, BAD, -2), row(GOOD, BAD, -1), row(BAD, GOOD, 2), row(GOOD, GOOD + " Done.", 0)]
    rows.append(row(BAD, "The form is in the portal.", 1))
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_annotators_of_the_same_answers_are_one(folder):
    rows = preferences(folder)

    assert len(rows) == 4
    assert rows[0].overall == -1.5


def test_the_judge_is_reported_beside_plain_measures(folder):
    figures, text = agreement(folder, JUDGE)

    assert figures["pairs"] == 4
    assert figures["pearson"] > 0.8
    assert set(figures["baselines"]) == {"rouge_l", "token_f1", "keyword_recall", "embedding_cosine"}
    best = max(figures["baselines"].values())
    assert figures["over_best_baseline"] == pytest.approx(figures["pearson"] - best, abs=2e-4)
    assert figures["interval"][0] <= figures["over_best_baseline"] <= figures["interval"][1]
    assert "rouge_l" in text


def test_correlations_are_those_of_the_books():
    a, b = np.array([1.0, 2, 3, 4]), np.array([1.0, 4, 9, 16])

    assert spearman(a, b) == pytest.approx(1)
    assert pearson(a, b) == pytest.approx(0.984, abs=1e-3)
    assert pearson(a, np.ones(4)) == 0
    assert margin(b, b, a) == (0, 0, 0)


def test_weights_are_fitted_without_the_fold_that_they_are_measured_on():
    random = np.random.default_rng(1)
    parts = {name: random.normal(size=60) for name in WEIGHTS}
    people = parts["coverage"] + 0.1 * random.normal(size=60)

    validated, weights = cross_validated(parts, people)
    by_chance, _ = cross_validated(parts, random.normal(size=60))

    assert validated > 0.9
    assert weights["coverage"] > 0.8
    assert by_chance < 0.4


def test_other_data_of_the_same_kind_is_read(tmp_path):
    samples = [
        {"source": GOOD, "response": GOOD, "hallucinated": False},
        {"source": GOOD, "response": f"{BAD} It serves pizza.", "hallucinated": True},
    ]
    (tmp_path / "samples.jsonl").write_text("\n".join(map(json.dumps, samples)), encoding="utf-8")
    answers = [
        {"question": "Where is the form?", "passage": GOOD, "outputs": [GOOD, GOOD]},
        {"question": "When does it open?", "passage": BAD, "outputs": [BAD, f"{BAD} Every day at 12."]},
        {"question": "one answer only", "passage": BAD, "outputs": [BAD]},
    ]
    (tmp_path / "answerable.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")

    assert faithfulness_figures(tmp_path, JUDGE)["auc"] == 1
    assert ordering_figures(tmp_path, JUDGE)["answers"] == 2
    assert ordering_figures(tmp_path, JUDGE)["other_question"] == 1


def test_a_false_answer_beside_the_right_one_is_told_by_language(tmp_path):
    rows = {
        "zh": {
            "query": "中超冠军是谁？",
            "answer": "广州恒大",
            "fakeanswer": "江苏苏宁",
            "positive": ["广州恒大获得中超冠军。"],
        },
        "en": {"query": "Who won?", "answer": ["Ann"], "fakeanswer": "Bob", "positive": [["Ann won the cup."]]},
    }
    for language, one in rows.items():
        empty = {**one, "positive": []}
        lines = "\n".join(json.dumps(each, ensure_ascii=False) for each in (one, empty))
        (tmp_path / f"{language}_fact.jsonl").write_text(lines, encoding="utf-8")

    found = false_answer_figures(tmp_path, JUDGE)

    assert list(found) == ["en", "zh"]
    assert {one["questions"] for one in found.values()} == {1}
    assert found["zh"]["right_above_false"] == 1.0
