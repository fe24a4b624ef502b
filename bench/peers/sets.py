"""Public retrieval sets from their three files: corpus.jsonl {id, title, text}, queries.jsonl {id, text}, qrels.tsv."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEED = 7
PARTS = ("dev", "heldout", "test", "train")  # of a set; its name is that of the folder above
PUBLIC_NAMES = {
    "zh_cmrc2018": "CMRC 2018 (zh)",
    "zht_drcd": "DRCD (zh-Hant)",
    "en_squad": "SQuAD 2.0 (en)",
    "telecom_telequad": "TeleQuAD (en)",
    "zh_dragonball": "DragonBall (zh)",
    "en_dragonball": "DragonBall (en)",
    "zh_domainrag": "DomainRAG (zh)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One row of the corpus, indexed whole by every system."""

    id: str
    title: str
    text: str

    @property
    def indexed(self) -> str:
        """What every system is given, the product's own index included: title, line break, text."""
        return f"{self.title}\n{self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """With the ids of the passages that answer it; at least one."""

    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSet:
    """`label` is what its authors call it, where that is known."""

    name: str
    label: str
    passages: Sequence[Passage]
    questions: Sequence[Question]


def set_read(folder: Path, *, limit: int) -> PublicSet:
    """All passages and a seeded choice of `limit` questions that have an answer among them.

    Raises ValueError for a passage id that is there twice and where no question is left.
    """
    passages = [
        Passage(id=str(row["id"]), title=row.get("title") or "", text=row["text"])
        for row in _rows(folder / "corpus.jsonl")
    ]
    ids = {passage.id for passage in passages}
    if len(ids) != len(passages):
        raise ValueError(f"{folder.name}: a passage id is there twice")
    questions = _questions(folder, ids)
    if not questions:
        raise ValueError(f"{folder.name}: no question has an answer among the passages")
    random.Random(SEED).shuffle(questions)
    name = folder.resolve().parent.name if folder.name in PARTS else folder.resolve().name
    return PublicSet(name=name, label=PUBLIC_NAMES.get(name, name), passages=passages, questions=questions[:limit])


def _questions(folder: Path, ids: set[str]) -> list[Question]:
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, passage, *_ = line.split("\t")
        if passage in ids:
            relevant.setdefault(query, set()).add(passage)
    return [
        Question(text=row["text"], relevant=frozenset(relevant[str(row["id"])]))
        for row in _rows(folder / "queries.jsonl")
        if str(row["id"]) in relevant
    ]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)
