"""The judge on other data: faithfulness beside people's marks, answers that were damaged on purpose, and false ones."""

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


def false_answer_figures(folder: Path, judge: AnswerJudge) -> dict[str, dict[str, float]]:
    """By language: share of questions whose right answer is more faithful to the passages than the false one beside it.

    `*_fact.jsonl` with query, answer, fakeanswer and positive (passages that hold the right one), as RGB has them (Chen
    et al. 2024); ties count half. `word_overlap`: the same share by words that stand in the passages.
    """
    found = {}
    for path in sorted(folder.glob("*_fact.jsonl")):
        ours, plain = list[float](), list[float]()
        for row in _rows(path):
            texts = _texts(row["answer"]), _texts(row["fakeanswer"])
            if not (texts[0] and texts[1] and row["positive"]):
                continue
            contexts = tuple(_texts(row["positive"]))
            right, false = (_told(row["query"], one[0]) for one in texts)
            faithful = [
                judge.judge(JudgedAnswer(question=row["query"], answer=one, contexts=contexts)).faithfulness or 0.0
                for one in (right, false)
            ]
            words = [overlap(one, " ".join(contexts), judge.tokenizer) for one in (right, false)]
            ours.append(_win(*faithful))
            plain.append(_win(*words))
        shares = {"right_above_false": float(np.mean(ours)), "word_overlap": float(np.mean(plain))}
        rounded = {name: round(value, 4) for name, value in shares.items()}
        found[path.name.partition("_")[0]] = {"questions": len(ours), **rounded}
    return found


def _texts(value: object) -> list[str]:
    """A text, or a list of texts or of lists of them."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [text for one in value for text in _texts(one)] if isinstance(value, list) else []


def _told(question: str, answer: str) -> str:
    """An answer as a claim: without its question nothing can be said of "64"."""
    return f"{question.rstrip('?？ ')}: {answer}"


def _win(first: float, second: float) -> float:
    return 1.0 if first > second else 0.5 if first == second else 0.0


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
