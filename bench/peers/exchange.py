"""What a worker is given and what it answers, as files in one folder: JSON Lines, .npy and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
TOP_K = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Passages to index and questions to answer; rows of the vectors belong to texts of the same number.

    `passage_terms` and `question_terms` are the product's search terms. `access` is for the product only.
    """

    ids: Sequence[str]
    passages: Sequence[str]
    passage_terms: Sequence[Sequence[str]]
    passage_vectors: FloatArray  # float32[passages, dimensions], L2-normalised
    questions: Sequence[str]
    question_terms: Sequence[Sequence[str]]
    question_vectors: FloatArray  # float32[questions, dimensions], L2-normalised
    access: Mapping[str, int] = field(default_factory=dict)

    def vectors_of_texts(self) -> dict[str, FloatArray]:
        """For systems that only take an embedder: every text with its vector."""
        known = dict(zip(self.passages, self.passage_vectors, strict=True))
        return known | dict(zip(self.questions, self.question_vectors, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Of one system on one set."""

    ranked: Sequence[Sequence[str]]  # ids by question, best first, at most TOP_K
    milliseconds: Sequence[float]  # by question
    index_seconds: float
    peak_bytes: int
    versions: Mapping[str, str]  # distributions that did the work


def task_write(folder: Path, task: Task) -> None:
    """The folder is made."""
    folder.mkdir(parents=True, exist_ok=True)
    passages = zip(task.ids, task.passages, task.passage_terms, strict=True)
    questions = zip(task.questions, task.question_terms, strict=True)
    _lines(folder / "passages.jsonl", [{"id": i, "text": text, "terms": list(terms)} for i, text, terms in passages])
    _lines(folder / "questions.jsonl", [{"text": text, "terms": list(terms)} for text, terms in questions])
    np.save(folder / "passages.npy", task.passage_vectors)
    np.save(folder / "questions.npy", task.question_vectors)
    (folder / "access.json").write_text(json.dumps(dict(task.access)), encoding="utf-8")


def task_read(folder: Path) -> Task:
    """What `task_write` wrote."""
    passages, questions = _rows(folder / "passages.jsonl"), _rows(folder / "questions.jsonl")
    return Task(
        ids=[row["id"] for row in passages],
        passages=[row["text"] for row in passages],
        passage_terms=[row["terms"] for row in passages],
        passage_vectors=np.load(folder / "passages.npy"),
        questions=[row["text"] for row in questions],
        question_terms=[row["terms"] for row in questions],
        question_vectors=np.load(folder / "questions.npy"),
        access=json.loads((folder / "access.json").read_text(encoding="utf-8")),
    )


def answer_write(path: Path, answer: Answer) -> None:
    path.write_text(json.dumps(asdict(answer)), encoding="utf-8")


def answer_read(path: Path) -> Answer:
    return Answer(**json.loads(path.read_text(encoding="utf-8")))


def _lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
