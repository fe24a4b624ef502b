"""Sentences by whether they tell what holds now or what held before.

A question is answered with what holds now; one that asks how it was, with the value before of the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ragcore.extractive.choice import leans_back
from ragcore.extractive.edition_changes import asks_changes
from ragcore.extractive.editions import less_of_older, older_editions
from ragcore.extractive.sentence_meaning import sentence_scores
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.former_values import names_former, tells_former, tells_only_former, without_struck
from ragcore.text.matching import keywords
from ragcore.types import Source

LEAST_SHARED = 0.6  # of the question's words in the likeliest sentence: fewer, and another thing is told
LIFT = 2.0  # log-odds above the best sentence, of the one that tells the value which is asked for
ONLY_FORMER = 3.0  # log-odds that a sentence loses which tells nothing but how it was

_BEFORE = re.compile(r"(?:before|old|was|previous|旧值?|舊值?|原值|原)\s*\Z", re.IGNORECASE)


def asks_former(question: str) -> bool:
    """Whether a question wants a value that holds no longer, and not what has changed."""
    return names_former(question) and not asks_changes(question)


def by_time(
    question: str,
    statements: Sequence[Statement],
    scores: FloatArray,
    older: Mapping[int, frozenset[str]],
    tokenizer: Tokenizer,
) -> FloatArray:
    """float32[n]: log-odds of sentences, by whether they tell the value of the time that a question asks for.

    `older`: documents that are older editions. Where none tells the former value, the scores stay as they are.
    """
    if not statements or not asks_former(question):
        only_former = [tells_only_former(s.text) and not s.is_row for s in statements]
        return less_of_older(question, statements, scores, older) - np.where(only_former, np.float32(ONLY_FORMER), 0)
    places = former_places(question, statements, scores, older, tokenizer)
    if not places:
        return scores
    changed = scores.copy()
    changed[max(places, key=lambda at: float(changed[at]))] = scores.max() + LIFT
    return changed


def former_places(
    question: str,
    statements: Sequence[Statement],
    scores: FloatArray,
    older: Mapping[int, frozenset[str]],
    tokenizer: Tokenizer,
) -> list[int]:
    """The places of the sentences that tell a former value of what the likeliest one is about."""
    best = statements[int(scores.argmax())]
    shared = frozenset(keywords(question, tokenizer)) & _words(best, tokenizer)
    return [
        at
        for at, statement in enumerate(statements)
        if (statement.source.passage.document in older or _tells_former(statement))
        and (statement is best or _follows(statement, best) or _shares(statement, shared, tokenizer))
    ]


def has_former(question: str, sources: Sequence[Source], embedder: Embedder | None, tokenizer: Tokenizer) -> bool:
    """Whether sources tell a former value of what a question asks for."""
    statements = read_statements(sources, tokenizer)
    if not statements:
        return False
    scores = sentence_scores(question, statements, embedder, tokenizer)
    return bool(former_places(question, statements, scores, older_editions(sources), tokenizer))


def plain_quotes(question: str, blocks: list[str]) -> list[str]:
    """The blocks of an answer without what is struck through and replaced, unless the question asks for that."""
    if asks_former(question) or asks_changes(question):
        return blocks
    return [without_struck(block) for block in blocks]


def _tells_former(statement: Statement) -> bool:
    """Whether it says so, or is a row with a column for it: | clause | before | after |."""
    columns = (head for head, cell in zip(statement.head, statement.cells, strict=False) if cell.strip())
    return tells_former(statement.text) or any(names_former(head) or _BEFORE.match(head) for head in columns)


def _shares(statement: Statement, shared: frozenset[str], tokenizer: Tokenizer) -> bool:
    common = len(shared & _words(statement, tokenizer))
    return bool(common) and common >= LEAST_SHARED * len(shared)


def _words(statement: Statement, tokenizer: Tokenizer) -> frozenset[str]:
    return frozenset(tokenizer.words(f"{statement.heading} {statement.text}"))


def _follows(statement: Statement, best: Statement) -> bool:
    """Whether it goes on with the best sentence: "It was 3 days before 2025." behind "Within 5 days."."""
    is_next = statement.source is best.source and statement.position == best.position + 1
    return is_next and leans_back(statement)
