"""Which sentences answer a question by what they mean, beside the words that they share with it (A4).

The cosine of question and sentence is added to the log-odds of the words: little of it in the language of the question,
where words tell most, and much in the other one, where they cannot match and count less. The weights belong to an
embedding model (`python -m ragcore.training sentence-meaning`); with a model without any nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ragcore.extractive.sentence_cosines import sentence_cosines
from ragcore.extractive.sentences import Statement
from ragcore.fitted_weights import fitted_weights
from ragcore.ports import Embedder, FloatArray
from ragcore.text.scripts import beginning_language, is_across, language_of
from ragcore.types import Source

WEIGHTS_FILE = "sentence_meaning.json"
BESIDE_OWN = 2.0  # log-odds that what is said in the other language loses beside sources in the question's own


def meaning_scores(
    question: str, found: Sequence[Statement], words: FloatArray, embedder: Embedder | None
) -> FloatArray:
    """float32[n]: log-odds by words, float32[n], and by meaning; those by words where no weights are known."""
    record = fitted_weights(__package__, WEIGHTS_FILE, embedder.model) if embedder is not None else None
    if embedder is None or record is None or not found:
        return words
    foreign = are_foreign(question, found)
    cosines = filled(sentence_cosines(question, found, embedder))
    own = record["own_zh" if language_of(question) == "zh" else "own"] * cosines
    across = record["across_constant"] + record["across"] * cosines + record["across_words"] * words
    across -= 0.0 if foreign.all() else BESIDE_OWN
    return np.asarray(words + np.where(foreign, across, own), np.float32)


def are_foreign(question: str, found: Sequence[Statement]) -> npt.NDArray[np.bool_]:
    """bool[n]: which sentences stand in sources of the other language, Chinese or English."""
    sources = {one.source.number: one.source for one in found}
    foreign = {source.number for source in sources_across(question, list(sources.values()))}
    return np.array([one.source.number in foreign for one in found], dtype=bool)


def sources_across(question: str, sources: Sequence[Source]) -> list[Source]:
    """Those in the other language, Chinese or English."""
    language = language_of(question)
    return [source for source in sources if is_across(language, beginning_language(source.text))]


def filled(cosines: FloatArray) -> FloatArray:
    """The same, with the middle one of those that are known in the place of nan; 0 where none is."""
    missing = np.isnan(cosines)
    middle = 0.0 if missing.all() else float(np.median(cosines[~missing]))
    return np.where(missing, np.float32(middle), cosines)
