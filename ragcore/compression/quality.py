"""Whether a language model has shortened a passage well enough to be used (U9)."""

from __future__ import annotations

import re

from ragcore.ports import Tokenizer
from ragcore.text.keywords import keywords

GOOD_ENOUGH = 0.7
USUAL_RATIO = (0.3, 0.8)  # of the tokens after and before; beyond it much was lost, or little was gained
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def quality(*, retention: float, before: float, after: float, ratio: float) -> float:
    """0.4 retention + 0.4 min(after / max(before, 0.1), 1) + 0.2 (1 within 0.3 to 0.8 of the tokens, else 0.5).

    `retention`: share of keywords that are still there; `before`, `after`: similarity of the passage and of what is
    left of it to the question, 0 to 1.
    """
    low, high = USUAL_RATIO
    return 0.4 * retention + 0.4 * min(after / max(before, 0.1), 1.0) + 0.2 * (1.0 if low <= ratio <= high else 0.5)


def keyword_retention(query: str, before: str, after: str, tokenizer: Tokenizer) -> float:
    """Share of the question's keywords in a passage that are left; of the passage's own where it has none of them."""
    had, has = set(tokenizer.words(before)), set(tokenizer.words(after))
    wanted = [word for word in keywords(query, tokenizer) if word in had] or keywords(before, tokenizer)
    return sum(word in has for word in wanted) / len(wanted) if wanted else 1.0


def invents_figures(before: str, after: str) -> bool:
    """Whether a figure stands in the shorter text only."""
    return not _figures(after) <= _figures(before)


def _figures(text: str) -> set[str]:
    return {number.replace(",", "").rstrip(".") for number in _NUMBER.findall(text)}
