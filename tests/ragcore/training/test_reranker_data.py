"""Public sets are brought into the form that golden sets are read from."""

from __future__ import annotations

import json
from pathlib import Path

from ragcore.training.reranker_data import halves_joined, halves_mixed, sets_joined, tatqa_passages


def lines(path: Path, *rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def test_questions_meet_the_passages_of_their_own_language(tmp_path: Path) -> None:
    english, chinese = tmp_path / "a", tmp_path / "b"
    lines(english / "queries.jsonl", {"id": "q1", "text": "How many?"}, {"id": "q2", "text": "Nobody knows."})
    (english / "qrels.tsv").write_text("q1\tset-zh-7\t1\n", encoding="utf-8")
    lines(chinese / "corpus.jsonl", {"id": "set-en-7", "title": "", "text": "Seven."})

    kept = halves_joined(questions=[english], passages=[chinese], out=tmp_path / "out")

    assert kept == 1
    assert (tmp_path / "out/qrels.tsv").read_text(encoding="utf-8") == "q1\tset-en-7\t1\n"


def test_a_question_over_both_languages_has_a_passage_in_each(tmp_path: Path) -> None:
    english, chinese = tmp_path / "a", tmp_path / "b"
    lines(chinese / "queries.jsonl", {"id": "q1", "text": "多少？"})
    (chinese / "qrels.tsv").write_text("q1\tset-en-7ab-0\t1\n", encoding="utf-8")
    for folder, name in ((english, "en"), (chinese, "zh")):
        lines(folder / "corpus.jsonl", {"id": f"set-{name}-7ab-0", "title": "", "text": "7"})

    halves_joined(questions=[chinese], passages=[english, chinese], out=tmp_path / "out")

    assert (tmp_path / "out/qrels.tsv").read_text(encoding="utf-8") == "q1\tset-en-7ab-0\t1\nq1\tset-zh-7ab-0\t1\n"
    assert json.loads((tmp_path / "out/queries.jsonl").read_text(encoding="utf-8"))["about"] == "7ab"
    assert len((tmp_path / "out/corpus.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_sets_are_joined_under_ids_of_their_own(tmp_path: Path) -> None:
    for name, text in (("a", "One."), ("b", "Two.")):
        lines(tmp_path / name / "queries.jsonl", {"id": "q", "text": text})
        lines(tmp_path / name / "corpus.jsonl", {"id": "d", "text": text})
        (tmp_path / name / "qrels.tsv").write_text("q\td\t1\n", encoding="utf-8")

    assert sets_joined(folders=[tmp_path / "a", tmp_path / "b"], out=tmp_path / "out") == 2
    assert (tmp_path / "out/qrels.tsv").read_text(encoding="utf-8") == "0/q\t0/d\t1\n1/q\t1/d\t1\n"


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


def test_every_passage_of_a_mixed_set_stands_in_one_language(tmp_path: Path) -> None:
    english, chinese = tmp_path / "a", tmp_path / "b"
    for folder, name in ((english, "en"), (chinese, "zh")):
        other = {"en": "zh", "zh": "en"}[name]
        lines(folder / "corpus.jsonl", *({"id": f"set-{name}-7ab-{n}", "title": "", "text": str(n)} for n in range(6)))
        lines(folder / "queries.jsonl", *({"id": f"{other}-{n}", "text": f"Which {n}?"} for n in range(6)))
        relevant = "\n".join(f"{other}-{n}\tset-{name}-7ab-{n}\t1" for n in range(6))
        (folder / "qrels.tsv").write_text(relevant, encoding="utf-8")

    kept = halves_mixed(halves=[english, chinese], out=tmp_path / "out")

    rows = [json.loads(line) for line in (tmp_path / "out/corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    names = [row["id"].split("-") for row in rows]
    assert sorted(number for *_rest, number in names) == list("012345")
    assert {language for _set, language, *_rest in names} == {"en", "zh"}
    pairs = [line.split("\t")[:2] for line in (tmp_path / "out/qrels.tsv").read_text(encoding="utf-8").splitlines()]
    assert kept == 12
    assert {passage for _query, passage in pairs} == {row["id"] for row in rows}
    assert all(query.split("-")[1] == passage.split("-")[-1] for query, passage in pairs)
