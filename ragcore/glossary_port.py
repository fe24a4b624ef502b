"""What is needed of a dictionary of Chinese and English, as a protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Glossary(Protocol):
    """Words of Chinese and English that mean the same."""

    def translations(self, word: str) -> Mapping[str, float]:
        """Chinese words that mean an English one, lower case, each with its share of that meaning, 0 to 1."""
        ...

    def meanings(self, word: str) -> Sequence[frozenset[str]]:
        """The English meanings of a Chinese word, each as its stems."""
        ...
