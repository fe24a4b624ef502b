"""Which sentences of sources in the other language answer a question: those that mean nearly the same (A4).

Words of a question cannot match there. So the cosine of question and sentence stands in their place, for the sentences
of the first such sources. Its weight belongs to an embedding model (`python -m ragcore.training across`); with a model
without one, and for sources in the language of the question, nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.extractive.sentences import Statement
from ragcore.fitted_weights import fitted_weights
from ragcore.ports import Embedder, FloatArray
from ragcore.text.scripts import beginning_language, is_across, language_of

WEIGHTS_FILE = "across_weights.json"
SOURCES = 3  # in the other language, whose sentences are compared: each sentence takes milliseconds


def across_scores(question: str, found: Sequence[Statement], embedder: Embedder | None) -> FloatArray:
    """float32[n]: log-odds to add to those by words; 0 for sentences of the question's language."""
    scores = np.zeros(len(found), np.float32)
    record = fitted_weights(__package__, WEIGHTS_FILE, embedder.model) if embedder is not None else None
    places = places_across(question, found) if record is not None else []
    if embedder is None or record is None or not places:
        return scores
    cosines = cosines_across(question, [found[at] for at in places], embedder)
    scores[places] = record["constant"] + record["cosine"] * cosines
    return scores


def places_across(question: str, found: Sequence[Statement]) -> list[int]:
    """Where the sentences of the first sources in the other language stand."""
    language = language_of(question)
    texts = {one.source.number: one.source.text for one in found}
    foreign = [number for number, text in texts.items() if is_across(language, beginning_language(text))]
    first = set(sorted(foreign)[:SOURCES])
    return [at for at, one in enumerate(found) if one.source.number in first]


def cosines_across(question: str, found: Sequence[Statement], embedder: Embedder) -> FloatArray:
    """float32[n]. One by one: embedders keep the vectors of single sentences, and the next step asks for them, too."""
    asked = embedder.embed_queries([question])[0]
    return np.array([float(embedder.embed_documents([one.text])[0] @ asked) for one in found], np.float32)
