"""How far a model's cosines are trusted, by script: a model that was not trained on Chinese sees little in it.

The weight of the search by meaning has an upper bound in the fusion. For a model that somebody has registered, it
follows from what the model finds among general texts of either script (`ragcore.training.general_pairs`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

BLIND, SEEING = 0.2, 0.6  # recall@10 among about 100 texts, where chance is 0.1; a good model finds 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptTrust:
    """Trust in cosines of texts in Latin script and in Chinese characters, each in [0, 1]."""

    latin: float
    cjk: float

    def __call__(self, cjk_share: float) -> float:
        """The trust for a text with this share of Chinese characters."""
        return self.latin + (self.cjk - self.latin) * min(max(cjk_share, 0.0), 1.0)


def trust_of_recall(recall: float) -> float:
    """0 to 1: none at BLIND and below, all of it from SEEING on."""
    return min(max((recall - BLIND) / (SEEING - BLIND), 0.0), 1.0)


def trust_told(shorten: Callable[..., object], cjk_share: float) -> float:
    """What is on record beside the shortening of a model; 1 where nothing is."""
    trust = getattr(shorten, "trust", None)
    return 1.0 if trust is None else float(trust(cjk_share))
