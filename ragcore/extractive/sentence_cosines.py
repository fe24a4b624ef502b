"""How near the sentences of sources are to a question by meaning, as far as their passages have vectors of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.extractive.sentences import Statement, read_statements
from ragcore.ports import FloatArray, Tokenizer
from ragcore.types import Passage, Source
from ragcore.types.sentence_vectors import HeadedSentence, SentenceVectors, sentence_key


def headed_sentences(passage: Passage, tokenizer: Tokenizer) -> list[HeadedSentence]:
    """The sentences of a passage that an answer may quote, each once, in their order, under title and heading."""
    source = Source(number=1, passage=passage, text=passage.text, score=1.0)
    found: dict[str, HeadedSentence] = {}
    for statement in read_statements([source], tokenizer):
        heading = statement.heading or next(reversed(passage.heading_path), "")
        head = " > ".join(dict.fromkeys(part for part in (passage.title, heading) if part))
        found.setdefault(statement.text, HeadedSentence(head, statement.text))
    return list(found.values())


def statement_cosines(found: Sequence[Statement], question: FloatArray) -> FloatArray:
    """float32[n] with the question's vector, float32[384]; nan where the passage has no vector of a sentence."""
    cosines = np.full(len(found), np.nan, np.float32)
    known: dict[int, dict[int, float]] = {}  # source -> key of a sentence -> cosine
    for at, statement in enumerate(found):
        vectors = statement.source.passage.sentences
        if vectors is None:
            continue
        number = statement.source.number
        if number not in known:
            known[number] = _by_key(vectors, question)
        cosines[at] = known[number].get(sentence_key(statement.text), np.nan)
    return cosines


def _by_key(vectors: SentenceVectors, question: FloatArray) -> dict[int, float]:
    return dict(zip(vectors.keys.tolist(), vectors.cosines(question).tolist(), strict=True))
