"""How near the sentences of sources are to a question by meaning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.embedding.vectors import sentence_embedder_of, with_cache
from ragcore.extractive.sentences import Statement, asks_something, read_statements
from ragcore.ports import Embedder, FloatArray, SentenceEmbedder, Tokenizer
from ragcore.text.request_cache import cached
from ragcore.types import Passage, Source
from ragcore.types.sentence_vectors import HeadedSentence, SentenceVectors, direction, sentence_key

MOST_HEADINGS = 24  # of a question's sources that are questions
BELOW_QUESTION = 0.02  # by which an answer is less near than its question
MOST_COMPUTED = 3  # sources without vectors, whose sentences take milliseconds each


def headed_sentences(passage: Passage, tokenizer: Tokenizer) -> list[HeadedSentence]:
    """The sentences of a passage that an answer may quote, each once, in their order, under title and heading."""
    source = Source(number=1, passage=passage, text=passage.text, score=1.0)
    by_text: dict[str, HeadedSentence] = {}
    for statement in read_statements([source], tokenizer):
        by_text.setdefault(statement.text, headed_sentence(statement))
    return list(by_text.values())


def sentence_cosines(question: str, statements: Sequence[Statement], embedder: Embedder) -> FloatArray:
    """float32[n]; nan where a sentence has no vector, and throughout where the embedder gives none.

    Of the first sources without vectors, such as attached files, they are made now.
    """
    model = sentence_embedder_of(embedder)
    if model is None or not statements:
        return np.full(len(statements), np.nan, np.float32)
    query_vector = direction(with_cache(embedder).embed_queries([question])[0])
    cosines = statement_cosines(statements, query_vector)
    numbers = np.array([statement.source.number for statement in statements])
    for number in sorted(set(numbers[np.isnan(cosines)].tolist()))[:MOST_COMPUTED]:
        places = np.flatnonzero((numbers == number) & np.isnan(cosines))
        cosines[places] = _computed([statements[at] for at in places.tolist()], model) @ query_vector
    return _answers_of_questions(statements, cosines, query_vector, embedder)


def _answers_of_questions(
    statements: Sequence[Statement], cosines: FloatArray, query_vector: FloatArray, embedder: Embedder
) -> FloatArray:
    """float32[n]: at least the cosine of the heading of each sentence, where that is a question.

    Who asks what a list of questions and answers asks is answered by what stands below it, whatever its words are.
    """
    headings = list(dict.fromkeys(statement.heading for statement in statements if asks_something(statement.heading)))[
        :MOST_HEADINGS
    ]
    near = {
        heading: float(direction(embedder.embed_documents([heading])[0]) @ query_vector) - BELOW_QUESTION
        for heading in headings
    }
    return np.array([max(c, near.get(s.heading, c)) for c, s in zip(cosines, statements, strict=True)], np.float32)


def statement_cosines(statements: Sequence[Statement], question: FloatArray) -> FloatArray:
    """float32[n] with the question's vector, float32[384]; nan where the passage has no vector of a sentence."""
    cosines = np.full(len(statements), np.nan, np.float32)
    by_source: dict[int, dict[int, float]] = {}  # source -> key of a sentence -> cosine
    for at, statement in enumerate(statements):
        vectors = statement.source.passage.sentences
        if vectors is None:
            continue
        number = statement.source.number
        if number not in by_source:
            by_source[number] = _by_key(vectors, question)
        cosines[at] = by_source[number].get(sentence_key(statement.text), np.nan)
    return cosines


def _computed(statements: Sequence[Statement], model: SentenceEmbedder) -> FloatArray:
    sentences = [headed_sentence(statement) for statement in statements]
    key = ("sentences", id(model), tuple((sentence.head, sentence.text) for sentence in sentences))
    return np.array(cached(key, lambda: model.embed_sentences(sentences)))


def headed_sentence(statement: Statement) -> HeadedSentence:
    passage = statement.source.passage
    heading = statement.heading or next(reversed(passage.heading_path), "")
    return HeadedSentence(" > ".join(dict.fromkeys(part for part in (passage.title, heading) if part)), statement.text)


def _by_key(vectors: SentenceVectors, question: FloatArray) -> dict[int, float]:
    return dict(zip(vectors.keys.tolist(), vectors.cosines(question).tolist(), strict=True))
