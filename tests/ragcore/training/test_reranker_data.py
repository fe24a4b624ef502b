"""Public sets are brought into the form that golden sets are read from."""

from __future__ import annotations

import json
from pathlib import Path

from ragcore.training.reranker_data import halves_joined, tatqa_passages


def lines(path: Path, *rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def test_questions_meet_the_passages_of_their_own_language(tmp_path: Path) -> None:
    english, chinese = tmp_path / "a", tmp_path / "b"
    lines(english / "queries.jsonl", {"id": "q1", "text": "How many?"}, {"id": "q2", "text": "Nobody knows."})
    (english / "qrels.tsv").write_text("q1\tset-zh-7\t1\n", encoding="utf-8")
    lines(chinese / "corpus.jsonl", {"id": "set-en-7", "title": "", "text": "Seven."})

    kept = halves_joined(questions=english, passages=chinese, out=tmp_path / "out")

    assert kept == 1
    assert (tmp_path / "out/qrels.tsv").read_text(encoding="utf-8") == "q1\tset-en-7\t1\n"


def test_an_answer_belongs_to_the_table_or_to_the_paragraph_that_contains_it(tmp_path: Path) -> None:
    questions = [
        {"id": "t", "question": "Which rate?", "answer": 2.1, "answer_from": "table"},
        {"id": "p", "question": "How often?", "answer": ["each spring"], "answer_from": "text"},
        {"id": "none", "question": "Why?", "answer": ["it"], "answer_from": "text"},
    ]
    context = {"id": "c", "table": [["", "2019"], ["rate", 2.1]], "paragraphs": ["One.", "Each spring."]}
    lines(tmp_path / "contexts.jsonl", {**context, "questions": questions})

    kept = tatqa_passages(folder=tmp_path, out=tmp_path / "out")

    relevant = [line.split("\t")[:2] for line in (tmp_path / "out/qrels.tsv").read_text(encoding="utf-8").splitlines()]
    assert kept == 2
    assert relevant == [["t", "c-table"], ["p", "c-1"]]
