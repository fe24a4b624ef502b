"""How much a question with its context asks of a model (U10)."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from ragcore.ports import Tokenizer
from ragcore.text.normalise import normalise_query

# 5G-NR, TS 38.331, gNodeB, PRACH, max_retries: recognised by their form
_FORM = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]+[-_.]?\d[\w.-]*|\d+[A-Za-z][\w-]*|[A-Z]{2,}[a-z]?\b|[a-z]+[A-Z]\w*|\w+_\w+)"
)


def generation_complexity(question: str, context: str, tokenizer: Tokenizer) -> float:
    """0 to 1: 0.2 min(words/50, 1) + 0.3 min(technical terms/5, 1) + 0.3 min(reasoning cues/3, 1)
    + 0.2 min(context words/2000, 1).

    Terms and cues are those of the question, each counted once. Below 0.3 is simple, below 0.6 medium.
    """
    words, context_words = len(tokenizer.words(question)), len(tokenizer.words(context))
    terms, cues = technical_terms(question), reasoning_cues(question)
    return (
        0.2 * min(words / 50, 1.0)
        + 0.3 * min(len(terms) / 5, 1.0)
        + 0.3 * min(len(cues) / 3, 1.0)
        + 0.2 * min(context_words / 2000, 1.0)
    )


def technical_terms(question: str) -> frozenset[str]:
    """Identifiers, abbreviations and common words of engineering in a question, lower case."""
    text = normalise_query(question)
    return frozenset(match.lower() for match in _FORM.findall(text)) | _found("technical_terms.txt", text)


def reasoning_cues(question: str) -> frozenset[str]:
    """Words of a question that ask for reasoning, lower case."""
    return _found("reasoning_cues.txt", normalise_query(question))


def _found(file: str, text: str) -> frozenset[str]:
    pattern = _pattern(file)
    return frozenset(pattern.findall(text.lower()))


@cache
def _pattern(file: str) -> re.Pattern[str]:
    """All cues of a data file, longer ones first."""
    cues: list[str] = []
    for line in (files("ragcore.generation") / file).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            cues.extend(cue.strip() for cue in (line.split("|") if line.isascii() else line.split()))
    found = sorted((cue for cue in cues if cue), key=len, reverse=True)
    return re.compile("|".join(rf"\b{re.escape(cue)}\b" if cue.isascii() else re.escape(cue) for cue in found))
