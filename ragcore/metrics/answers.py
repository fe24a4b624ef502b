"""Measures of an answer against reference answers and sources, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ragcore.ports import Tokenizer
from ragcore.text.matching import overlap
from ragcore.text.normalise import squeeze


def contains_gold(answer: str, golds: Sequence[str]) -> bool:
    """Whether a reference answer stands in the answer, regardless of case, spaces, punctuation and width."""
    plain = squeeze(answer)
    return any(gold in plain for gold in map(squeeze, golds) if gold)


def word_f1(answer: str, gold: str, tokenizer: Tokenizer) -> float:
    """Harmonic mean of precision and recall of words with repeats (SQuAD's F1), 0 to 1."""
    given, wanted = Counter(tokenizer.words(answer)), Counter(tokenizer.words(gold))
    shared = (given & wanted).total()
    return 2 * shared / (given.total() + wanted.total()) if shared else 0.0


def grounded_share(answer: str, sources: Sequence[str], tokenizer: Tokenizer) -> float:
    """Share of the answer's keywords that occur in the sources, 0 to 1: a cheap sign of faithfulness."""
    return overlap(answer, "\n".join(sources), tokenizer)
