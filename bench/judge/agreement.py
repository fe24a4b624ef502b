"""Agreement of scores with people's preferences between two answers: correlations and their bootstrap intervals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from ragcore.metrics.quality import word_f1
from ragcore.scoring.rules import WEIGHTS, AnswerJudge, JudgedAnswer
from ragcore.text.lexical_features import common_subsequence_length
from ragcore.text.matching import overlap

Values = npt.NDArray[np.float64]
RESAMPLES = 2000
FOLDS, ROUNDS = 5, 20
RIDGE = 10.0  # added to the diagonal; features are scaled to a mean square of 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """Two answers to one question, and what people prefer: -2 the first, 2 the second; means over annotators."""

    question: str
    reference: str
    first: str
    second: str
    correctness: float
    completeness: float
    overall: float


def preferences(folder: Path) -> list[Preference]:
    """The rows of pairs.jsonl; those of several annotators on the same answers are one. In order of the file."""
    labels: dict[tuple[str, str, str, str], list[tuple[float, float, float]]] = {}
    for line in (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key = (row["query"], row["gt_answer"], row["model1"]["response"], row["model2"]["response"])
        label = (row["correctness_label"], row["completeness_label"], row["overall_label"])
        labels.setdefault(key, []).append(label)
    found = []
    for (question, reference, first, second), rows in labels.items():
        correctness, completeness, overall = np.mean(rows, axis=0)
        found.append(
            Preference(
                question=question,
                reference=reference,
                first=first,
                second=second,
                correctness=float(correctness),
                completeness=float(completeness),
                overall=float(overall),
            )
        )
    return found


def differences(rows: Iterable[Preference], measure: Callable[[Preference, str], float]) -> Values:
    """float64[n]: the figure of the second answer minus that of the first."""
    return np.array([measure(row, row.second) - measure(row, row.first) for row in rows], np.float64)


def judged_answer(row: Preference, answer: str) -> JudgedAnswer:
    return JudgedAnswer(question=row.question, answer=answer, reference=row.reference)


def baselines(judge: AnswerJudge) -> dict[str, Callable[[Preference, str], float]]:
    """Plain measures of an answer beside its reference, 0 to 1."""
    tokenizer = judge.tokenizer

    def rouge_l(row: Preference, answer: str) -> float:
        """F-measure of the longest common subsequence (Lin 2004)."""
        given, wanted = tokenizer.words(answer), tokenizer.words(row.reference)
        return 2 * common_subsequence_length(given, wanted) / max(1, len(given) + len(wanted))

    return {
        "rouge_l": rouge_l,
        "token_f1": lambda row, answer: word_f1(answer, row.reference, tokenizer),
        "keyword_recall": lambda row, answer: overlap(row.reference, answer, tokenizer),
        "embedding_cosine": lambda row, answer: judge.cosine(row.reference, answer),
    }


def pearson(a: Values, b: Values) -> float:
    """0 where one of both is constant."""
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 0.0


def spearman(a: Values, b: Values) -> float:
    return pearson(rankdata(a), rankdata(b))


def margin(ours: Values, theirs: Values, people: Values) -> tuple[float, float, float]:
    """Pearson of ours minus that of theirs, with its 95 % percentile bootstrap interval over the rows."""
    random = np.random.default_rng(7)
    drawn = random.integers(0, len(people), size=(RESAMPLES, len(people)))
    found = [pearson(ours[at], people[at]) - pearson(theirs[at], people[at]) for at in drawn]
    low, high = np.percentile(found, (2.5, 97.5))
    return pearson(ours, people) - pearson(theirs, people), float(low), float(high)


def cross_validated(parts: Mapping[str, Values], people: Values) -> tuple[float, dict[str, float]]:
    """Mean Pearson of weights that were fitted to the other folds; and the weights of all, scaled to a sum of 1."""
    rows = np.array([parts[name] for name in WEIGHTS]).T
    random, found = np.random.default_rng(7), []
    for _ in range(ROUNDS):
        fold = random.permutation(len(people)) % FOLDS
        predicted = np.zeros(len(people))
        for number in range(FOLDS):
            held = fold == number
            predicted[held] = rows[held] @ _fitted(rows[~held], people[~held])
        found.append(pearson(predicted, people))
    weights = _fitted(rows, people)
    total = float(weights.sum())
    return float(np.mean(found)), {n: float(w) / total for n, w in zip(WEIGHTS, weights, strict=True)}


def _fitted(rows: Values, people: Values) -> Values:
    scale = np.sqrt((rows**2).mean(axis=0)) + 1e-9
    scaled = rows / scale
    weights = np.linalg.solve(scaled.T @ scaled + RIDGE * np.eye(rows.shape[1]), scaled.T @ people)
    return np.asarray(weights / scale, np.float64)


def table(rows: Sequence[tuple[str, float, float]]) -> str:
    """Lines of name, Pearson and Spearman."""
    lines = [f"| {name} | {first:.3f} | {second:.3f} |" for name, first, second in rows]
    return "\n".join(["| | Pearson | Spearman |", "|---|---|---|", *lines])
