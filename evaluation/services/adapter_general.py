"""How a query adapter treats questions that have nothing to do with its set: it should not forget them (D7).

The texts come with the product and with Python, so the figure is the same kind of thing everywhere: sections of
Python's language reference, and Chinese messages of more than one sentence. Each is asked for with its first sentence;
to be found is what follows it, among what follows in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from accounts.scope import Scope
from evaluation.services.trainings import difference_shown
from knowledge import model_registry
from knowledge.selectors.training_vectors import question_vectors
from ragcore.embedding.query_adapter import QueryAdapter
from ragcore.metrics.comparison import paired_difference
from ragcore.ports import FloatArray

MOST_TEXTS = 100  # of each language; together some seconds with the packaged model
ENGLISH, CHINESE = ((20, 200), (100, 400)), ((8, 100), (12, 200))  # characters of a question, and of what follows it
K = 10
EMBEDDED_AT_ONCE = 32
_MARKUP = re.compile(r"[%{<]")  # placeholders and tags
_SENTENCE_ENDS = re.compile(r"[。！？]|[.!?](?=\s)")

Pairs = Sequence[tuple[str, str]]


def general_recall(adapter: QueryAdapter, *, scope: Scope, alive: Callable[[], None]) -> dict[str, float]:
    """Recall@10 of plain and of adapted questions, with the interval of the difference, and the number of cases.

    `alive` is called while texts are embedded, and may end it by raising. Raises what the embedder raises.
    """
    pairs = general_pairs()
    asked = _embedded(
        [question for question, _rest in pairs], lambda texts: question_vectors(texts, scope=scope), alive
    )
    told = _embedded([rest for _question, rest in pairs], model_registry.embedder().embed_documents, alive)
    before, after = recall_of(asked, told), recall_of(adapter.apply(asked), told)
    return {**difference_shown(paired_difference(before.tolist(), after.tolist())), "cases": len(pairs)}


def recall_of(asked: FloatArray, told: FloatArray) -> npt.NDArray[np.float64]:
    """float64[n]: 1 where row i of `told` is among the K nearest of row i of `asked`, else 0; float32[n, d] both."""
    cosines = asked @ told.T
    nearer = cosines > np.diagonal(cosines)[:, None]
    return (nearer.sum(axis=1) < K).astype(np.float64)


@cache
def general_pairs() -> Pairs:
    """(first sentence, what follows it) of at most MOST_TEXTS texts of each language, the same ones each time."""
    from ragcore.training.rotation_training import chinese_messages, python_topics  # reads files of a megabyte

    messages = (text for text in chinese_messages() if not _MARKUP.search(text))
    return (*_chosen(python_topics(), ENGLISH), *_chosen(messages, CHINESE))


def _chosen(texts: Iterable[str], lengths: tuple[tuple[int, int], tuple[int, int]]) -> Pairs:
    """Those with a first sentence and a rest that are long enough; the rest is cut."""
    (shortest, longest), (least, most) = lengths
    found: dict[str, str] = {}
    for text in texts:
        plain = " ".join(text.split())
        if end := _SENTENCE_ENDS.search(plain):
            question, rest = plain[: end.end()], plain[end.end() :].strip()
            if shortest <= len(question) <= longest and len(rest) >= least:
                found.setdefault(question, rest[:most])
    ordered = sorted(found.items(), key=lambda pair: sha256(pair[0].encode()).digest())
    return ordered[:MOST_TEXTS]


def _embedded(
    texts: Sequence[str], embed: Callable[[Sequence[str]], FloatArray], alive: Callable[[], None]
) -> FloatArray:
    parts = []
    for start in range(0, len(texts), EMBEDDED_AT_ONCE):
        parts.append(embed(texts[start : start + EMBEDDED_AT_ONCE]))
        alive()
    return np.vstack(parts)
