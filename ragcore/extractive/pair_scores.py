"""Sentences read together with the question, the likeliest ones only.

A model that reads both at once tells what neither words nor two vectors tell: which of two near sentences answers, and
that none does. It takes milliseconds for each sentence, so words and vectors choose which ones it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.embedding.vectors import pair_scorer_of
from ragcore.extractive.sentence_cosines import headed_sentence
from ragcore.extractive.sentences import Statement
from ragcore.ports import Embedder, FloatArray
from ragcore.text.request_cache import cached

MOST_READ = 6  # sentences of a question


def pair_scores(
    question: str, statements: Sequence[Statement], scores: FloatArray, embedder: Embedder | None
) -> FloatArray | None:
    """float32[n]: log-odds that each of the likeliest sentences answers, nan for the others.

    `scores`: float32[n], how likely they are by words and vectors. None where the embedder reads no pairs. A sentence
    is read once an answer.
    """
    scorer = pair_scorer_of(embedder) if embedder is not None else None
    if scorer is None or not statements:
        return None
    score_of: dict[tuple[str, str], float] = cached(("pair scores", scorer.pair_space, question), dict)
    places: list[int] = np.argsort(-scores, kind="stable")[:MOST_READ].tolist()
    headed = {at: headed_sentence(statements[at]) for at in places}
    missing = list(
        {
            (sentence.head, sentence.text): sentence
            for sentence in headed.values()
            if (sentence.head, sentence.text) not in score_of
        }.values()
    )
    read = scorer.score_pairs(question, missing)
    score_of |= {(sentence.head, sentence.text): float(score) for sentence, score in zip(missing, read, strict=True)}
    from_pairs = np.full(len(statements), np.nan, np.float32)
    from_pairs[places] = [score_of[headed[at].head, headed[at].text] for at in places]
    return from_pairs
