"""Words by which a sentence claims more than its source: causes that it adds, reservations that it drops (B4)."""

from __future__ import annotations

import re
from functools import cache

from ragcore.text.word_lists import read_sections


def gives_cause(text: str) -> bool:
    """Whether a text says that something is so because of something else, by evidence_causes.txt."""
    return _cues("evidence_causes.txt").search(text) is not None


def hedges(text: str) -> bool:
    """Whether a text restricts what it says ("may", "some", 可能), by evidence_hedges.txt."""
    return _cues("evidence_hedges.txt").search(text) is not None


@cache
def _cues(name: str) -> re.Pattern[str]:
    sections = read_sections("ragcore.grounding", name)
    words = [re.escape(word).replace(r"\*", r"[a-z]*") for word in sections[""]]
    return re.compile("|".join([rf"\b(?:{'|'.join(words)})\b", *sections["chinese"]]), re.IGNORECASE)
