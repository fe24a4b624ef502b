"""How a query adapter treats questions that have nothing to do with its set: it should not forget them.

Texts that come with the product are asked for (`ragcore.training.general_pairs`), so the figure is the same kind of
thing everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from accounts.scope import Scope
from evaluation.services.trainings import difference_shown
from knowledge import model_registry
from knowledge.selectors.training_vectors import question_vectors
from ragcore.embedding.query_adapter import QueryAdapter
from ragcore.metrics.comparison import paired_difference
from ragcore.ports import FloatArray

EMBEDDED_AT_ONCE = 32


def general_recall(adapter: QueryAdapter, *, scope: Scope) -> dict[str, float]:
    """Recall@10 of plain and of adapted questions, with the interval of the difference, and the number of cases.

    Raises what the embedder raises.
    """
    from ragcore.training.general_pairs import general_pairs, recall_of  # reads files of a megabyte

    pairs = general_pairs()
    questions = _embedded([question for question, _rest in pairs], partial(question_vectors, scope=scope))
    rest = _embedded([rest for _question, rest in pairs], model_registry.embedder().embed_documents)
    before, after = recall_of(questions, rest), recall_of(adapter.apply(questions), rest)
    return {**difference_shown(paired_difference(before.tolist(), after.tolist())), "cases": len(pairs)}


def _embedded(texts: Sequence[str], embed: Callable[[Sequence[str]], FloatArray]) -> FloatArray:
    starts = range(0, len(texts), EMBEDDED_AT_ONCE)
    return np.vstack([embed(texts[start : start + EMBEDDED_AT_ONCE]) for start in starts])
