"""The words of a text that carry its topic, and how far two texts share them."""

from __future__ import annotations

import re

from ragcore.ports import Tokenizer
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words

_SINGLE_CJK = re.compile(f"[{CJK}]")


def keywords(text: str, tokenizer: Tokenizer) -> list[str]:
    """Words without stop words, each once, in order; single CJK characters only if there is nothing else."""
    stop = stop_words()
    words = [word for word in dict.fromkeys(tokenizer.words(text)) if word not in stop]
    return [word for word in words if not _SINGLE_CJK.fullmatch(word)] or words


def overlap(text: str, other: str, tokenizer: Tokenizer) -> float:
    """Share of the keywords of `text` that `other` has too, 0 to 1; 0 if `text` has none."""
    wanted = keywords(text, tokenizer)
    have = set(tokenizer.words(other))
    return sum(word in have for word in wanted) / len(wanted) if wanted else 0.0
