"""Which sentences answer a question by what they mean, beside the words that they share with it.

The cosine of question and sentence is added to the log-odds of the words: little of it in the language of the question,
where words tell most, and much in the other one, where they cannot match and count less. What a model says that reads
question and sentence together comes on top. The weights belong to an embedding model (`python -m ragcore.training
sentence-meaning`); with a model without any nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ragcore.embedding.vectors import pair_scorer_of
from ragcore.extractive.answer_patterns import PATTERNS
from ragcore.extractive.definitions_across import definition_test_across
from ragcore.extractive.own_language import are_foreign, handicap_across
from ragcore.extractive.pair_scores import pair_scores
from ragcore.extractive.sentence_cosines import sentence_cosines
from ragcore.extractive.sentence_model import SentenceScorer, compute_sentence_features
from ragcore.extractive.sentences import Statement
from ragcore.fitted_weights import fitted_weights
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.across_words import covered_across
from ragcore.text.question_type import wanted
from ragcore.text.scripts import language_of

# a point in time; "within 30 days" is none
_TIME = re.compile(
    r"\d\s?[年月]\s?\d|\d{4}-\d\d|\d[:：]\d\d|\d{1,2}\s?[点點]|周[一二三四五六日]|星期|每[天日周月年]"
    r"|\b(?:19|20)\d\d\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b\d{1,2}(?:st|nd|rd|th)?\s(?:jan|feb|mar|apr|may|jun"
    r"|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
WEIGHTS_FILE = "sentence_meaning.json"
ACROSS_DEFINITION = 4.0  # log-odds of a sentence in the other language that says what the asked-for term is


def sentence_scores(
    question: str, statements: Sequence[Statement], embedder: Embedder | None, tokenizer: Tokenizer
) -> FloatArray:
    """float32[n]: log-odds that each sentence answers, by words and by meaning."""
    words = SentenceScorer.shipped().scores(compute_sentence_features(question, statements, tokenizer))
    return meaning_scores(question, statements, words, embedder, tokenizer)


def meaning_scores(
    question: str, statements: Sequence[Statement], words: FloatArray, embedder: Embedder | None, tokenizer: Tokenizer
) -> FloatArray:
    """float32[n]: log-odds by words, float32[n], and by meaning; those by words where no weights are known.

    The likeliest sentences are read together with the question, where the embedder can; the others then count as much
    as the unlikeliest of these.
    """
    record = _record(embedder)
    if embedder is None or record is None or not statements:
        return words
    compared = compared_scores(question, statements, words, record, embedder, tokenizer)
    read = pair_scores(question, statements, compared, embedder)
    if read is None:
        return compared
    return read_beside(compared, read, record)


def read_beside(compared: FloatArray, read: FloatArray, record: Mapping[str, float]) -> FloatArray:
    """float32[n]: log-odds by words and vectors, and those of the sentences that were read, nan for the others."""
    every = np.where(np.isnan(read), np.nanmin(read), read)
    return np.asarray(record["compared"] * compared + record["read"] * every, np.float32)


def best_pair_score(
    question: str, statements: Sequence[Statement], embedder: Embedder, tokenizer: Tokenizer
) -> float | None:
    """The highest log-odds, of the likeliest sentences, that one answers; None where the embedder reads no pairs."""
    record = _record(embedder)
    if record is None or not statements or pair_scorer_of(embedder) is None:
        return None
    words = SentenceScorer.shipped().scores(compute_sentence_features(question, statements, tokenizer))
    compared = compared_scores(question, statements, words, record, embedder, tokenizer)
    read = pair_scores(question, statements, compared, embedder)
    return None if read is None else float(np.nanmax(read))


def _record(embedder: Embedder | None) -> dict[str, float] | None:
    return fitted_weights(__package__, WEIGHTS_FILE, embedder.model) if embedder is not None else None


def compared_scores(
    question: str,
    statements: Sequence[Statement],
    words: FloatArray,
    record: Mapping[str, float],
    embedder: Embedder,
    tokenizer: Tokenizer,
) -> FloatArray:
    """float32[n]: log-odds by words, float32[n], and vectors, with the weights of an embedding model."""
    foreign = are_foreign(question, statements)
    cosines = filled(sentence_cosines(question, statements, embedder))
    same_language = record["own_zh" if language_of(question) == "zh" else "own"] * cosines
    across = record["across_constant"] + record["across"] * cosines + record["across_words"] * words
    across += record["across_covered"] * sentences_covered(question, statements, foreign, tokenizer)
    across += record["across_kind"] * gives_kind(question, statements)
    across += ACROSS_DEFINITION * defines_across(question, statements, foreign, tokenizer)
    across -= handicap_across(question, statements, embedder=embedder, tokenizer=tokenizer)
    return np.asarray(words + np.where(foreign, across, same_language), np.float32)


def sentences_covered(
    question: str, statements: Sequence[Statement], foreign: npt.NDArray[np.bool_], tokenizer: Tokenizer
) -> FloatArray:
    """float32[n]: the share of the question's words that each sentence in the other language says, else 0."""
    shares = np.zeros(len(statements), np.float32)
    places: list[int] = np.flatnonzero(foreign).tolist()
    shares[places] = covered_across(
        question, [f"{statements[at].text} {statements[at].heading}" for at in places], tokenizer
    )
    return shares


def defines_across(
    question: str, statements: Sequence[Statement], foreign: npt.NDArray[np.bool_], tokenizer: Tokenizer
) -> FloatArray:
    """float32[n]: 1 for each sentence in the other language that defines what the question asks about, else 0."""
    test = definition_test_across(question, tokenizer)
    texts = [statement.text for statement in statements]
    return np.array([test(text) * of_other for text, of_other in zip(texts, foreign, strict=True)], np.float32)


def gives_kind(question: str, statements: Sequence[Statement]) -> FloatArray:
    """float32[n]: 1 for each sentence with a figure or time, where the question asks for one."""
    kind = wanted(question)
    if kind == "time":
        return np.array([_TIME.search(statement.text) is not None for statement in statements], np.float32)
    return np.array(
        [kind == "number" and PATTERNS[kind].search(statement.text) is not None for statement in statements], np.float32
    )


def filled(cosines: FloatArray) -> FloatArray:
    """The same, with the middle one of those that are known in the place of nan; 0 where none is."""
    missing = np.isnan(cosines)
    middle = 0.0 if missing.all() else float(np.median(cosines[~missing]))
    return np.where(missing, np.float32(middle), cosines)
