"""How likely sources support a sentence: a logistic model over the evidence (B4, V8).

The weights ship in support_model.json with the record of their training; `python -m ragcore.training support` makes
them.
There are two sets of weights: one of words alone, and one that joins its log odds with the cosine of vectors. The
second has few weights on purpose: fitted to everything at once, the cosine of edited sentences outweighed the words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from ragcore.grounding.support_features import FEATURES, MEANING, SupportFeatures, Vector
from ragcore.text.scripts import cjk_share

MODEL_FILE = "support_model.json"
SURE_FROM = 0.7  # by words alone; vectors are asked only below


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportModel:
    """Probabilities, 0 to 1, higher is better supported; 0.5 is where both kinds of error are equally frequent."""

    words: tuple[float, ...]  # see `design`
    meaning: tuple[float, ...]

    @classmethod
    def shipped(cls) -> SupportModel:
        """The weights that come with the product. Raises ValueError if they are of other features."""
        return _shipped()

    def probability(self, evidence: SupportFeatures, sentence: str, cited: Sequence[int] = ()) -> float:
        """Of one sentence and the sources that it cites (all sources if none)."""
        share = np.array([cjk_share(sentence)])
        by_words = design(evidence.features(sentence, cited)[None], share) @ np.array(self.words)
        if evidence.embedder is None or logistic(by_words)[0] >= SURE_FROM:
            return float(logistic(by_words)[0])
        row = np.array([[by_words[0], evidence.cosine(sentence, cited)]])
        return float(logistic(design(row, share) @ np.array(self.meaning))[0])


def design(rows: npt.NDArray[np.float64], cjk_shares: Vector) -> npt.NDArray[np.float64]:
    """float64[n, 2f + 2]: a constant and the features, and both times the share of CJK in the sentence."""
    with_constant = np.hstack([np.ones((len(rows), 1)), rows])
    return np.hstack([with_constant, with_constant * cjk_shares[:, None]])


def logistic(scores: npt.NDArray[np.float64]) -> Vector:
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -60, 60))), np.float64)


@cache
def _shipped() -> SupportModel:
    record = json.loads((files("ragcore.grounding") / MODEL_FILE).read_text(encoding="utf-8"))
    if record["features"] != list(FEATURES) or record["meaning_features"] != list(MEANING):
        raise ValueError(f"{MODEL_FILE} was trained on other features; run python -m ragcore.training support")
    return SupportModel(words=tuple(record["words"]), meaning=tuple(record["meaning"]))
