"""Conversations from files: rewriting sets, and retrieval sets whose questions have a history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragcore.text.normalise import normalise_query
from ragcore.types.answering import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritingQuestion:
    """A question in its conversation; `wanted` is what a person made of it, or the id that relevance is given for."""

    history: tuple[Turn, ...]
    text: str
    wanted: str


def rewriting_files(folder: Path) -> list[Path]:
    """Files of the folder whose rows have history, question and rewrite, by name."""
    return [path for path in sorted(folder.glob("*.jsonl")) if {"history", "question", "rewrite"} <= set(_first(path))]


def conversations(path: Path) -> list[RewritingQuestion]:
    """Rows of {history, question, rewrite}.

    A history holds questions and answers in turn, or questions only: it is the latter where it has an odd length, or
    where its second entry is a question of another row.
    """
    rows = list(_rows(path))
    questions = {row["question"] for row in rows}
    found = []
    for row in rows:
        said = [text.removeprefix("[system] ").removeprefix("[user] ") for text in row["history"]]
        only_questions = len(said) % 2 == 1 or (len(said) > 1 and row["history"][1] in questions)
        turns = [Turn(question=text) for text in said] if only_questions else paired(said)
        found.append(
            RewritingQuestion(history=tuple(turns), text=normalise_query(row["question"]), wanted=row["rewrite"])
        )
    return found


def retrieval_questions(folder: Path) -> list[RewritingQuestion]:
    """queries.jsonl of a retrieval set, with `history` of {speaker, text}."""
    found = []
    for row in _rows(folder / "queries.jsonl"):
        turns = spoken(row.get("history") or [])
        found.append(RewritingQuestion(history=tuple(turns), text=normalise_query(row["text"]), wanted=str(row["id"])))
    return found


def relevance(folder: Path) -> dict[str, set[str]]:
    """Documents by question, from qrels.tsv."""
    found: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        question, document = line.split("\t")[:2]
        found.setdefault(question, set()).add(document)
    return found


def paired(said: Sequence[str]) -> list[Turn]:
    return [Turn(question=question, answer=answer) for question, answer in zip(said[::2], said[1::2], strict=True)]


def spoken(said: Sequence[dict[str, Any]]) -> list[Turn]:
    """Turns of a conversation with named speakers; whoever is not "user" answers."""
    turns: list[Turn] = []
    for entry in said:
        if entry["speaker"] == "user" or not turns:
            turns.append(Turn(question=entry["text"] if entry["speaker"] == "user" else ""))
        if entry["speaker"] != "user":
            turns[-1] = Turn(question=turns[-1].question, answer=entry["text"])
    return turns


def _first(path: Path) -> dict[str, Any]:
    return next(_rows(path), {})


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)
