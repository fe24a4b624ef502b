"""Questions about nothing in particular, with what they should find: how well vectors see a language.

The texts come with the product and with Python, so they are the same kind of thing everywhere: sections of Python's
language reference, and Chinese messages of more than one sentence. Each is asked for with its first sentence; to be
found is what follows it, among what follows in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from ragcore.ports import FloatArray
from ragcore.training.rotation_training import chinese_messages, python_topics

MOST_TEXTS = 100  # of each language; together some seconds with the packaged model
ENGLISH, CHINESE = ((20, 200), (100, 400)), ((8, 100), (12, 200))  # characters of a question, and of what follows it
K = 10
_MARKUP = re.compile(r"[%{<]")  # placeholders and tags
_SENTENCE_ENDS = re.compile(r"[。！？]|[.!?](?=\s)")

Pairs = Sequence[tuple[str, str]]


def recall_of(queries: FloatArray, documents: FloatArray) -> npt.NDArray[np.float64]:
    """float64[n]: 1 where row i of `documents` is among the K nearest of row i of `queries`, else 0.

    Both: float32[n, d].
    """
    cosines = queries @ documents.T
    nearer = cosines > np.diagonal(cosines)[:, None]
    return np.asarray(nearer.sum(axis=1) < K, dtype=np.float64)


@cache
def general_pairs() -> Pairs:
    """(first sentence, what follows it) of at most MOST_TEXTS texts of each language, the same ones each time."""
    messages = (text for text in chinese_messages() if not _MARKUP.search(text))
    return (*_chosen(python_topics(), ENGLISH), *_chosen(messages, CHINESE))


def _chosen(texts: Iterable[str], lengths: tuple[tuple[int, int], tuple[int, int]]) -> Pairs:
    """Those with a first sentence and a rest that are long enough; the rest is cut."""
    (shortest, longest), (least, most) = lengths
    by_question: dict[str, str] = {}
    for text in texts:
        plain = " ".join(text.split())
        if end := _SENTENCE_ENDS.search(plain):
            question, rest = plain[: end.end()], plain[end.end() :].strip()
            if shortest <= len(question) <= longest and len(rest) >= least:
                by_question.setdefault(question, rest[:most])
    ordered = sorted(by_question.items(), key=lambda pair: sha256(pair[0].encode()).digest())
    return ordered[:MOST_TEXTS]
