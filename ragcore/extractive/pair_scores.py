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
    question: str, found: Sequence[Statement], scores: FloatArray, embedder: Embedder | None
) -> FloatArray | None:
    """float32[n]: log-odds that each of the likeliest sentences answers, nan for the others.

    `scores`: float32[n], how likely they are by words and vectors. None where the embedder reads no pairs. A sentence
    is read once an answer.
    """
    scorer = pair_scorer_of(embedder) if embedder is not None else None
    if scorer is None or not found:
        return None
    known: dict[tuple[str, str], float] = cached(("pair scores", scorer.pair_space, question), dict)
    places: list[int] = np.argsort(-scores, kind="stable")[:MOST_READ].tolist()
    headed = {at: headed_sentence(found[at]) for at in places}
    missing = list({(one.head, one.text): one for one in headed.values() if (one.head, one.text) not in known}.values())
    read = scorer.score_pairs(question, missing)
    known |= {(one.head, one.text): float(score) for one, score in zip(missing, read, strict=True)}
    made = np.full(len(found), np.nan, np.float32)
    made[places] = [known[headed[at].head, headed[at].text] for at in places]
    return made
