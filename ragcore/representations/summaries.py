"""Summaries of chunks: which of a model's are accepted, and sentences of the text in place of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ragcore.extractive.sentences import plain_sentences
from ragcore.ports import FloatArray, TokenCounter, Tokenizer
from ragcore.representations.derived_texts import markdown_blocks
from ragcore.text.matching import keywords

SHORT_WORDS = 50  # a text with fewer is its own summary
TARGET_WORDS = 120  # of 100 to 150
MAX_WORDS = 150
MAX_SHARE = 0.8  # of the words of the text
MIN_COVERAGE = 0.4  # of the main keywords of the text
MAIN_KEYWORDS = 15
LONG_WORD = 30  # characters, with the space behind it
LEAD_BONUS = 0.3  # of the highest centrality: a first sentence usually says what a text is about
REDUNDANCY = 0.7  # how much likeness to a sentence that is already taken counts against one
MAX_SENTENCES = 120  # that are compared with each other; a chunk has fewer


def is_short(text: str, tokenizer: Tokenizer) -> bool:
    """Whether a text is returned as it is instead of being summarised."""
    beginning = text[: SHORT_WORDS * LONG_WORD]  # enough to tell; a whole chunk takes 3 ms
    return len(tokenizer.words(beginning)) < SHORT_WORDS


def is_acceptable(summary: str, text: str, tokenizer: Tokenizer) -> bool:
    """At most four fifths as many words as the text, and two fifths of its main keywords."""
    if not summary.strip() or len(tokenizer.words(summary)) > MAX_SHARE * len(tokenizer.words(text)):
        return False
    return coverage(summary, text, tokenizer) >= MIN_COVERAGE


def coverage(summary: str, text: str, tokenizer: Tokenizer) -> float:
    """Share of the most frequent keywords of a text that its summary has, 0 to 1; 1 for a text without any."""
    candidates = set(keywords(text, tokenizer))
    counted = Counter(word for word in tokenizer.words(text) if word in candidates)
    main = [word for word, _ in counted.most_common(MAIN_KEYWORDS)]
    have = set(tokenizer.words(summary))
    return sum(word in have for word in main) / len(main) if main else 1.0


def extractive_summary(text: str, *, tokenizer: Tokenizer, counter: TokenCounter) -> str:
    """The most central sentences in their order, about 120 words and at most four fifths of the text.

    A sentence is central if many others share its weighted words (tf-idf cosine, as in LexRank without the walk). The
    first gets a bonus, repetition a penalty. Tables, code and headings are left out where there is prose.
    """
    sentences = _sentences(text)
    words = [keywords(sentence, tokenizer) for sentence in sentences]
    sizes = [len(tokenizer.words(sentence)) for sentence in sentences]
    limit = min(MAX_WORDS, MAX_SHARE * len(tokenizer.words(text)))
    chosen: list[int] = []
    for index in _ranked(words):
        used = sum(sizes[i] for i in chosen)
        if used + sizes[index] <= limit:
            chosen.append(index)
        if used + sizes[index] >= min(TARGET_WORDS, limit):
            break
    if chosen:
        return _joined([sentences[i] for i in sorted(chosen)])
    return counter.truncate(sentences[0], int(counter.count(sentences[0]) * limit / sizes[0])) if sentences else ""


def _sentences(text: str) -> list[str]:
    blocks = markdown_blocks(text)
    prose = [s for block in blocks if block.kind in ("paragraph", "list") for s in plain_sentences(block.text)]
    return (prose or list(plain_sentences(text)))[:MAX_SENTENCES]


def _ranked(words: Sequence[Sequence[str]]) -> list[int]:
    """Indexes of sentences by centrality; each choice counts against what resembles it (MMR)."""
    if not words:
        return []
    likeness = _likeness(words)
    scores = likeness.sum(axis=1)
    scores[0] += LEAD_BONUS * scores.max()
    scores /= scores.max() or 1.0
    order: list[int] = []
    remaining = set(range(len(words)))
    while remaining:
        repeated = likeness[:, order].max(axis=1) if order else np.zeros(len(words), np.float32)
        best = max(remaining, key=lambda i: (scores[i] - REDUNDANCY * repeated[i], -i))
        order.append(best)
        remaining.remove(best)
    return order


def _likeness(words: Sequence[Sequence[str]]) -> FloatArray:
    """float32[n, n]: tf-idf cosine of sentences, 0 on the diagonal."""
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(w for group in words for w in group))}
    matrix = np.zeros((len(words), max(len(vocabulary), 1)), np.float32)
    for row, group in enumerate(words):
        for word in group:
            matrix[row, vocabulary[word]] = 1.0
    matrix *= np.log(1 + len(words) / np.maximum(matrix.sum(axis=0), 1))
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(norms == 0, 1, norms)
    likeness = matrix @ matrix.T
    np.fill_diagonal(likeness, 0)
    return np.asarray(likeness, np.float32)


def _joined(sentences: Sequence[str]) -> str:
    """Sentences as a paragraph; Chinese ones stand without spaces between them."""
    text = sentences[0]
    for sentence in sentences[1:]:
        text += sentence if text[-1] in "。！？；」”）" else f" {sentence}"
    return text
