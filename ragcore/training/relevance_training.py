"""Training of the sentences that belong into an explanation, on questions with the sentences that people chose.

A folder holds answerable.jsonl and unanswerable.jsonl of rows {id, question, title, passage, selected_sentences}, as
CLAP NQ does. Weights are judged on articles that they were not fitted to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ragcore.extractive.relevance import aspect_coverage, relevance_table
from ragcore.extractive.sentence_model import SentenceScorer, compute_sentence_features
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.extractive.spans import Places, choose_runs, main_source
from ragcore.ports import Embedder, FloatArray, TokenCounter, Tokenizer
from ragcore.text.normalise import nfkc
from ragcore.training.answer_sets import Ranking, passages_of, rows

L2 = 0.01  # on weights of features scaled to a spread of 1
LEAST_SPREAD = 0.05
FOLDS = 5
LONG = 20  # characters from which a part of a chosen sentence counts as chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedQuestion:
    """The sentences of a question's main source with their features, and which of them were chosen."""

    article: str
    question: str
    statements: tuple[Statement, ...]  # of all sources
    places: Places  # of the main source's sentences
    table: FloatArray  # float32[found, features]
    chosen: FloatArray  # of `places`: 1 for a chosen sentence
    golds: tuple[str, ...]  # the chosen sentences, letters alone


def explained_questions(
    folder: Path, *, tokenizer: Tokenizer, counter: TokenCounter, embedder: Embedder | None
) -> list[ExplainedQuestion]:
    """The answerable questions of a folder over all its passages."""
    cases, distractors = rows(folder / "answerable.jsonl"), rows(folder / "unanswerable.jsonl")
    documents = [{"id": row["id"], "title": row["title"], "text": row["passage"]} for row in cases + distractors]
    passages = passages_of(documents, counter)
    ranking = Ranking.of(passages, tokenizer=tokenizer, counter=counter, embedder=embedder)
    return list(_explained(cases, ranking))


def _explained(cases: Sequence[Mapping[str, Any]], ranking: Ranking) -> Iterator[ExplainedQuestion]:
    scorer = SentenceScorer.shipped()
    for case in cases:
        golds = tuple(gold for text in case["selected_sentences"][0] if (gold := letters(text)))
        statements = tuple(read_statements(ranking.sources(case["question"]), ranking.tokenizer))
        if not golds or not statements:
            continue
        features = compute_sentence_features(case["question"], statements, ranking.tokenizer)
        scores = scorer.scores(features)
        aspects = aspect_coverage(case["question"], statements, ranking.tokenizer)
        places = main_source(statements, scores, aspects)
        yield ExplainedQuestion(
            article=case["title"],
            question=case["question"],
            statements=statements,
            places=places,
            table=relevance_table(features, scores, aspects, case["question"]),
            chosen=np.array([_is_chosen(statements[at], case["id"], golds) for at in places], np.float64),
            golds=golds,
        )


def letters(text: str) -> str:
    """Letters and digits alone: the set writes quotation marks as symbols."""
    return "".join(c for c in nfkc(text).lower() if c.isalnum())


def _is_chosen(statement: Statement, document: str, golds: Sequence[str]) -> bool:
    text = letters(statement.text)
    is_there = any(gold in text or (len(text) > LONG and text in gold) for gold in golds)
    return statement.source.passage.external_id == document and is_there


def relevance_fit(questions: Sequence[ExplainedQuestion]) -> FloatArray:
    """Logistic regression: float64[features], the constant last; every question weighs the same."""
    table = np.vstack([question.table[question.places] for question in questions]).astype(np.float64)
    truth = np.concatenate([question.chosen for question in questions])
    share = np.concatenate([np.full(len(question.places), len(question.places) ** -0.5) for question in questions])
    share /= share.sum()
    middle, spread = table.mean(axis=0), np.maximum(table.std(axis=0), LEAST_SPREAD)
    middle[-1], spread[-1] = 0.0, 1.0
    inputs = (table - middle) / spread

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        margin = inputs @ weights
        penalty = np.append(weights[:-1], 0.0)
        value = float(share @ (np.logaddexp(0, margin) - truth * margin)) + L2 * float(penalty @ penalty)
        return value, inputs.T @ (share * (1 / (1 + np.exp(-margin)) - truth)) + 2 * L2 * penalty

    solution = np.asarray(minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B").x) / spread
    solution[-1] -= float(solution[:-1] @ middle[:-1])
    return np.asarray(solution)


def f1_of(question: ExplainedQuestion, weights: FloatArray) -> tuple[float, int]:
    """F1 of the runs by these weights with the chosen sentences, by letters, and how many characters they take."""
    chances = 1 / (1 + np.exp(-(question.table @ weights)))
    text = " ".join(s.text for s in choose_runs(question.statements, question.places, chances, question.question))
    squeezed = letters(text)
    inside = [gold for gold in question.golds if gold in squeezed]
    recall, precision = len(inside) / len(question.golds), min(1.0, sum(map(len, inside)) / max(len(squeezed), 1))
    return (2 * recall * precision / (recall + precision) if inside else 0.0), len(text)


def cross_validated(questions: Sequence[ExplainedQuestion]) -> list[tuple[float, int]]:
    """`f1_of` each question by weights of other articles."""
    folds = [hashlib.sha256(question.article.encode()).digest()[1] % FOLDS for question in questions]
    fits = [relevance_fit([a for a, f in zip(questions, folds, strict=True) if f != fold]) for fold in range(FOLDS)]
    return [f1_of(question, fits[fold]) for question, fold in zip(questions, folds, strict=True)]
