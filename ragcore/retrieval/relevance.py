"""Whether anything that was found is near the question at all (D23)."""

from __future__ import annotations

# An arm that was not searched counts as what it finds for a question of another subject: half of these have a share of
# 0.1 of the words and of 0.6 to 0.7 of the meaning with the packaged embedder; a little more for the sake of answers.
WORDS_UNSEARCHED = 0.1
MEANING_UNSEARCHED = 0.77


def is_near(match: float | None, cosine: float | None, *, min_match: float, min_cosine: float) -> bool:
    """False where words and meaning together say that the documents are about something else.

    `match`: best BM25 by the sum of the idf of the question, about 0 to 2.2; `cosine`: the best one; None where that
    arm was not searched. `min_match` suffices without any meaning and `min_cosine` without any words; between them the
    shares of both must add up to 1. A limit of 0 or less lets everything through.
    """
    if min_match <= 0 or min_cosine <= 0:
        return True
    if match is None and cosine is None:
        return False
    words = WORDS_UNSEARCHED if match is None else match / min_match
    meaning = MEANING_UNSEARCHED if cosine is None else cosine / min_cosine
    return words + meaning >= 1
