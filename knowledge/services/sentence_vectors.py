"""Vectors of the sentences of passages (decision 048).

They are an optional part: where they cannot be made, passages are found, read and published without them, and
`knowledge/jobs/embed_sentences.py` makes them later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np

from knowledge.indexes.sentence_vectors import EmbeddedSentences, space_of
from knowledge.model_registry import tokenizer
from ragcore.errors import RagError
from ragcore.extractive.sentence_cosines import headed_sentences
from ragcore.ports import Embedder, SentenceEmbedder
from ragcore.types import Passage
from ragcore.types.sentence_vectors import SENTENCE_DIMENSIONS, SentenceVectors

logger = logging.getLogger(__name__)

FAILURES = 3  # in a row, after which the model is at fault and not a passage


def _nothing(count: int) -> None:
    del count


def sentences_embed(
    passages: Sequence[Passage], embedder: Embedder, *, alive: Callable[[int], None] = _nothing
) -> list[EmbeddedSentences | None]:
    """The vectors of the sentences of each passage. Slow: call outside of transactions.

    None where the embedder gives none, and where that failed, which is logged. `alive` is told before each passage how
    many are done, and may end the work.
    """
    if not isinstance(embedder, SentenceEmbedder):
        return [None] * len(passages)
    results: list[EmbeddedSentences | None] = []
    failures = 0
    for passage in passages:
        alive(len(results))
        vectors = _vectors(passage, embedder) if failures < FAILURES else None
        failures = failures + 1 if vectors is None else 0
        results.append(None if vectors is None else EmbeddedSentences(space_of(embedder), vectors))
    return results


def _vectors(passage: Passage, embedder: SentenceEmbedder) -> SentenceVectors | None:
    """None where that failed, whatever the reason: a passage is published without them."""
    try:
        sentences = headed_sentences(passage, tokenizer())
        if not sentences:
            return SentenceVectors.of([], np.zeros((0, SENTENCE_DIMENSIONS), np.float32))
        vectors = embedder.embed_sentences(sentences)
        if not np.isfinite(vectors).all():
            raise ValueError("the embedder returned numbers that are not finite")
        return SentenceVectors.of([sentence.text for sentence in sentences], vectors)
    except Exception as error:
        is_known = isinstance(error, RagError)
        logger.warning("the sentences of a passage get no vectors: %s", error, exc_info=not is_known)
        return None
