"""How much what is said in the other language loses beside sources in the question's own.

Whoever asks in a language that documents are written in mostly finds the answer there. How much that counts depends on
what stands there: as soon as a sentence in the other language is nearer, and says more of the question's words, it is
the likelier answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ragcore.extractive.sentence_cosines import sentence_cosines
from ragcore.extractive.sentences import Statement
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.across_words import NEUTRAL, covered_across
from ragcore.text.request_cache import cached
from ragcore.text.scripts import beginning_language, is_across, language_of
from ragcore.text.tokenise import stop_words
from ragcore.types import Source

BESIDE_OWN = 3.0  # log-odds, the most
WORDS_WEIGHT = 0.3  # of the share of the question's words that a sentence says, beside its cosine
LEAD = 0.05  # by which that sum must be higher in the other language for half of the handicap
STEP = 0.04  # of that sum, over which the handicap falls from three quarters to a quarter
LIKELIEST = 8  # nearest sentences of each side, whose words are looked at


def are_foreign(question: str, statements: Sequence[Statement]) -> npt.NDArray[np.bool_]:
    """bool[n]: which sentences stand in sources of the other language, Chinese or English."""
    sources = {statement.source.number: statement.source for statement in statements}
    foreign = {source.number for source in sources_across(question, list(sources.values()))}
    return np.array([statement.source.number in foreign for statement in statements], dtype=bool)


def sources_across(question: str, sources: Sequence[Source]) -> list[Source]:
    """Those in the other language, Chinese or English."""
    language = language_of(question)
    return [source for source in sources if is_across(language, beginning_language(source.text))]


def handicap_across(
    question: str, statements: Sequence[Statement], *, embedder: Embedder, tokenizer: Tokenizer
) -> float:
    """Log-odds that sentences in the other language lose, 0 to BESIDE_OWN; 0 without any in the question's own."""
    numbers = tuple(dict.fromkeys(id(statement.source) for statement in statements))
    key = ("handicap", question, numbers, len(statements), embedder.model)
    return float(cached(key, lambda: _handicap(question, statements, embedder=embedder, tokenizer=tokenizer)))


def _handicap(question: str, statements: Sequence[Statement], *, embedder: Embedder, tokenizer: Tokenizer) -> float:
    foreign = are_foreign(question, statements)
    if foreign.all():
        return 0.0
    cosines = sentence_cosines(question, statements, embedder)
    same_language = _likeliest(question, statements, np.where(foreign, np.nan, cosines), tokenizer, is_across=False)
    other = _likeliest(question, statements, np.where(foreign, cosines, np.nan), tokenizer, is_across=True)
    return BESIDE_OWN / (1 + math.exp((other - same_language - LEAD) / STEP))


def text_with_names(statement: Statement) -> str:
    """A sentence with what it stands under: words of its heading and of the document's title are words of it."""
    return f"{statement.text} {statement.heading} {statement.source.passage.title}"


def _likeliest(
    question: str, statements: Sequence[Statement], cosines: FloatArray, tokenizer: Tokenizer, *, is_across: bool
) -> float:
    """The best sum of cosine and words of the nearest sentences; 0 without any. `cosines`: nan for others."""
    order = [int(at) for at in np.argsort(-cosines, kind="stable")[:LIKELIEST] if not np.isnan(cosines[at])]
    if not order:
        return 0.0
    texts = [text_with_names(statements[at]) for at in order]
    shares = covered_across(question, texts, tokenizer) if is_across else _covered(question, texts, tokenizer)
    return float((cosines[order] + WORDS_WEIGHT * shares).max())


def _covered(question: str, texts: Sequence[str], tokenizer: Tokenizer) -> FloatArray:
    """float32[n]: the share of the question's words that each text in the same language says."""
    words = set(tokenizer.words(question)) - stop_words()
    if not words:
        return np.full(len(texts), NEUTRAL, np.float32)
    shares = []
    for text in texts:
        text_words = set(tokenizer.words(text))
        shares.append(sum(word in text_words or (not word.isascii() and word in text) for word in words) / len(words))
    return np.asarray(shares, np.float32)
