"""The judge on other data: faithfulness beside people's marks, and answers that were damaged on purpose."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.judge.agreement import pearson
from ragcore.scoring.rules import AnswerJudge, JudgedAnswer
from ragcore.text.matching import overlap
from ragcore.text.sentences import split_sentences
from ragcore.training.support_training import auc

_DIGITS = re.compile(r"\d+")


def faithfulness_figures(folder: Path, judge: AnswerJudge) -> dict[str, float]:
    """AUC and Pearson of faithfulness against "no annotator marked an unwanted part", beside plain word overlap."""
    rows = _rows(folder / "samples.jsonl")
    scores, plain = [], []
    for row in rows:
        found = judge.judge(JudgedAnswer(question="", answer=row["response"], contexts=(row["source"],)))
        scores.append(found.faithfulness or 0.0)
        plain.append(overlap(row["response"], row["source"], judge.tokenizer))
    faithful = np.array([not row["hallucinated"] for row in rows])
    return {
        "answers": len(rows),
        "auc": round(auc(faithful, np.array(scores)), 4),
        "pearson": round(pearson(np.array(scores), faithful.astype(np.float64)), 4),
        "auc_of_word_overlap": round(auc(faithful, np.array(plain)), 4),
    }


def ordering_figures(folder: Path, judge: AnswerJudge) -> dict[str, float]:
    """Share of pairs in which an answer of a second person scores above the same answer damaged in one way.

    The reference is the first person's answer; ties count half.
    """
    rows = [row for row in _rows(folder / "answerable.jsonl") if len(row["outputs"]) > 1]
    chance, wins = random.Random(7), dict[str, list[float]]()
    for at, row in enumerate(rows):
        reference, answer = row["outputs"][:2]
        whole = _score(judge, row["question"], reference, answer)
        other = rows[(at + 1) % len(rows)]["outputs"][1]
        for kind, damaged in _damages(answer, other, row["passage"], chance):
            below = _score(judge, row["question"], reference, damaged)
            wins.setdefault(kind, []).append(1.0 if whole > below else 0.5 if whole == below else 0.0)
    return {"answers": len(rows), **{kind: round(float(np.mean(values)), 4) for kind, values in wins.items()}}


def _damages(answer: str, other: str, passage: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    sentences = split_sentences(answer)
    if len(sentences) > 1:
        yield "half_left_out", "".join(sentences[: len(sentences) // 2])
    if _DIGITS.search(answer):
        yield "figures_changed", _DIGITS.sub(lambda found: str(int(found.group()) + chance.randint(2, 9)), answer)
    yield "other_question", other
    strange = [sentence for sentence in split_sentences(other) if sentence.strip() not in passage]
    if strange:
        yield "strange_added", f"{answer} {chance.choice(strange)}"


def _score(judge: AnswerJudge, question: str, reference: str, answer: str) -> float:
    return judge.judge(JudgedAnswer(question=question, answer=answer, reference=reference)).score or 0.0


def _rows(path: Path) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
